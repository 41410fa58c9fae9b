package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// A set that Kueue manages gets no pods, and says why, until it is taken out of Kueue.
func TestKueue(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "queued", harness.Replicas(2), harness.Size(2), func(s *harness.Set) {
		s.Labels = map[string]string{lwsv1.LabelKueueQueue: "gpus"}
	}))
	if c := env.WaitCondition(t, set, lwsv1.ConditionDegraded, "True"); c.Reason != lwsv1.ReasonKueueUnsupported {
		t.Errorf("Degraded for %s: %s", c.Reason, c.Message)
	}
	env.WaitEvent(t, set, corev1.EventTypeWarning, lwsv1.ReasonKueueUnsupported, lwsv1.LabelKueueQueue, "--allow-kueue-unmanaged")
	time.Sleep(2 * time.Second)
	if pods := env.Pods(t, set); len(pods) > 0 {
		t.Fatalf("%d pods were created", len(pods))
	}
	env.Update(t, set, func(s *harness.Set) { delete(s.Labels, lwsv1.LabelKueueQueue) })
	env.WaitAvailable(t, set)
	env.WaitCondition(t, set, lwsv1.ConditionDegraded, "False")
	env.AtRest(t, ns)
}

package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// A pod that a finalizer holds is waited for, and never deleted by force, also where its
// node is gone; the status names the finalizer.
func TestFinalizer(t *testing.T) {
	t.Parallel()
	p := takeNodes(t, 2)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(2), harness.Size(2), in(p),
		harness.Annotation(lwsv1.AnnotationForceDeleteAfter, "30s"))))
	const finalizer = "example.com/held"
	held := func(finalizers ...string) {
		env.PatchPod(t, set.Namespace, "web-1-1", map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	}
	held(finalizer)
	before := env.Pod(t, set.Namespace, "web-1-1")
	env.DeletePod(t, set.Namespace, "web-1-1")
	c := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	if want := "Group 1 waits for pod web-1-1, which should be gone: finalizer " + finalizer; c.Reason != lwsv1.ReasonPodsStuck || !strings.HasPrefix(c.Message, want) {
		t.Errorf("condition %s: %s; want %q", c.Reason, c.Message, want)
	}
	deleteNode(t, before.Spec.NodeName)
	since := env.Pod(t, set.Namespace, "web-1-1").DeletionTimestamp.Time
	time.Sleep(time.Until(since.Add(45 * time.Second))) // beyond force-delete-after, and whatever slack there is
	if pod := env.Pod(t, set.Namespace, "web-1-1"); pod.UID != before.UID || pod.DeletionTimestamp == nil {
		t.Errorf("the pod that a finalizer holds is %+v", pod.ObjectMeta)
	}
	if all := notes(t, set, lwsv1.ReasonPodsStuck); len(all) != 1 {
		t.Errorf("events: %q", all)
	}
	held()
	harness.WaitFor(t, "a new pod", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		for _, pod := range env.Pods(t, set) {
			if pod.UID == before.UID {
				return false, env.Describe(t, s)
			}
		}
		return s.Status.ReadyReplicas == 2, env.Describe(t, s)
	})
}

// An update goes on around a group that is stuck, as far as the budget goes.
func TestUpdateGoesOnAroundStuckPods(t *testing.T) {
	t.Parallel()
	p := takeNodes(t, 1)
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(4), harness.Size(2), in(p), func(s *harness.Set) {
		s.Spec.RolloutStrategy.Type = lwsv1.RollingUpdateStrategyType
		s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{MaxUnavailable: intstr.FromInt32(2)}
	}))
	env.WaitAvailable(t, set)
	hang := ""
	env.Annotate(t, set.Namespace, "web-3-1", cluster.AnnotationHang, &hang)
	env.Update(t, set, func(s *harness.Set) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
	})
	harness.WaitFor(t, "the other groups to be updated", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.UpdatedReplicas == 3 && s.Status.ReadyReplicas == 3, env.Describe(t, s)
	})
	c := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	if want := fmt.Sprintf("Group 3 waits for pod web-3-1, which should be gone: node %s, which is Ready", p.names[0]); !strings.HasPrefix(c.Message, want) {
		t.Errorf("condition %s: %s; want %q", c.Reason, c.Message, want)
	}
	env.Annotate(t, set.Namespace, "web-3-1", cluster.AnnotationHang, nil)
	harness.WaitFor(t, "the last group to be updated", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.UpdatedReplicas == 4 && s.Status.ReadyReplicas == 4, env.Describe(t, s)
	})
}

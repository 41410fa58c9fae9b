package failure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestAfterStart: while one pod has not started restarts mean nothing; the leader says
// how many there were, and one more is a failure.
func TestAfterStart(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]harness.Option{
		"policy":     harness.RestartPolicy(lwsv1.RecreateGroupAfterStart),
		"annotation": func(s *harness.Set) { s.Annotations = map[string]string{lwsv1.AnnotationRecreateAfterStart: "true"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(1), harness.Size(2), option,
				harness.Leader(harness.Annotated(cluster.AnnotationReadyAfter, "0s")), harness.Worker(harness.Annotated(cluster.AnnotationHold, "yes"))))
			harness.WaitFor(t, "the leader to run", harness.DefaultTimeout, func() (bool, string) {
				pods := env.Pods(t, set)
				return len(pods) == 2 && pods[0].Status.Phase == "Running", env.Describe(t, env.Get(t, set))
			})
			failures["restarted"].do(t, set.Namespace, "web-0")
			stays(t, set, "1")
			env.Annotate(t, set.Namespace, "web-0-1", cluster.AnnotationHold, nil)
			env.WaitAvailable(t, set)
			if seen := env.Pod(t, set.Namespace, "web-0").Annotations[lwsv1.AnnotationRestartsSeen]; seen != "1" {
				t.Errorf("restarts seen: %q, want 1", seen)
			}
			stays(t, set, "1")
			failures["restarted"].do(t, set.Namespace, "web-0-1")
			harness.WaitFor(t, "the recreation", harness.DefaultTimeout, func() (bool, string) {
				return recreations(t, set) == 1, env.Describe(t, env.Get(t, set))
			})
			counted(t, set, 1)
		})
	}
}

// TestBudget: after the second recreation the group is left as it is, others are not
// touched, an update goes on, and a reset starts anew.
func TestBudget(t *testing.T) {
	t.Parallel()
	set := available(t, env.Namespace(t), harness.Replicas(2), harness.Size(2), maxGroupRestarts(2))
	begun := time.Now()
	failures["restarted"].do(t, set.Namespace, "web-1-1")
	waitIncarnations(t, set, "1", "2")
	failures["failed"].do(t, set.Namespace, "web-1-1")
	waitIncarnations(t, set, "1", "3")
	if waited := time.Since(begun); waited < 8*time.Second { // times on record are whole seconds
		t.Errorf("the second recreation came after %s, its backoff is 10 s from the first", waited)
	}
	failures["restarted"].do(t, set.Namespace, "web-1")
	c := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	if c.Reason != lwsv1.ReasonBudgetExceeded || !strings.Contains(c.Message, "Group 1 ") || !strings.Contains(c.Message, "(2)") || !strings.Contains(c.Message, "pod web-1 restarted") {
		t.Errorf("Degraded: %s: %s", c.Reason, c.Message)
	}
	stays(t, set, "1", "3")
	env.WaitEvent(t, set, "Warning", lwsv1.ReasonBudgetExceeded, "Group 1 ")
	if s := env.Get(t, set); s.Status.Groups.Failed != 1 || s.Status.ReadyReplicas != 1 {
		t.Errorf("groups %+v, ready %d", s.Status.Groups, s.Status.ReadyReplicas)
	}
	for _, page := range env.Controller.Groups(t) {
		if page.Namespace == set.Namespace && (page.Groups[1].Phase != "Failed" || !strings.Contains(page.Groups[1].WaitingFor, "maxGroupRestarts")) {
			t.Errorf("/debug/groups: %+v", page.Groups[1])
		}
	}
	env.Update(t, set, func(s *harness.Set) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, lwsv1.AnnotationRecover, "true") })
	waitIncarnations(t, set, "1", "4")
	counted(t, set, 1)
	env.WaitEvent(t, set, "Normal", "RestartsReset", lwsv1.AnnotationRecover)
	if s := env.Get(t, set); s.Annotations[lwsv1.AnnotationRecover] != "" {
		t.Error("the annotation is still there")
	}
	_, err := env.Sets.LeaderWorkerSets(set.Namespace).Patch(t.Context(), set.Name, "application/merge-patch+json",
		[]byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:"yes"}}}`, lwsv1.AnnotationRecover)), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), `must be "true"`) {
		t.Errorf("another value: %v", err)
	}
}

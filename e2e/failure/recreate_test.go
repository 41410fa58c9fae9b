package failure

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestOnce: each failure of a Ready group means one recreation, with one event that says
// what failed first.
func TestOnce(t *testing.T) {
	t.Parallel()
	for how, f := range failures {
		for _, pod := range []string{"web-1", "web-1-1"} {
			t.Run(how+"/"+pod, func(t *testing.T) {
				t.Parallel()
				set := available(t, env.Namespace(t), harness.Replicas(2), harness.Size(2))
				f.do(t, set.Namespace, pod)
				waitIncarnations(t, set, "1", "2")
				stays(t, set, "1", "2")
				count := int32(0)
				if f.counts {
					count = 1
				}
				counted(t, set, count)
				if n := recreations(t, set); n != 1 {
					t.Errorf("%d recreations were announced", n)
				}
				if f.says != "" {
					env.WaitEvent(t, set, "Normal", "RecreateGroup", "Recreating group 1: ", fmt.Sprintf(f.says, pod))
				}
				env.AtRest(t, set.Namespace)
			})
		}
	}
}

// TestStartingUp: a failure during start-up means one recreation, too.
func TestStartingUp(t *testing.T) {
	t.Parallel()
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(1), harness.Size(2),
		harness.Worker(harness.Annotated(cluster.AnnotationReadyAfter, "2s"))))
	harness.WaitFor(t, "the pods", harness.DefaultTimeout, func() (bool, string) { return len(env.Pods(t, set)) == 2, "" })
	failures["failed"].do(t, set.Namespace, "web-0-1")
	waitIncarnations(t, set, "2")
	stays(t, set, "2")
	counted(t, set, 1)
}

// TestMidwayThroughAnUpdate: a group that fails while another one is updated is
// recreated once, and the update ends.
func TestMidwayThroughAnUpdate(t *testing.T) {
	t.Parallel()
	set := available(t, env.Namespace(t), harness.Replicas(3), harness.Size(2),
		harness.Worker(harness.Annotated(cluster.AnnotationReadyAfter, "1s")))
	set = env.Update(t, set, func(s *harness.Set) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
	})
	env.WaitCondition(t, set, lwsv1.ConditionUpdateInProgress, metav1.ConditionTrue)
	failures["deleted"].do(t, set.Namespace, "web-0-1")
	env.WaitAvailable(t, set)
	harness.WaitFor(t, "the update", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.UpdatedReplicas == 3 && s.Status.CurrentRevision == s.Status.UpdateRevision, env.Describe(t, s)
	})
	counted(t, set, 0)
}

// TestNoFailures: ephemeral containers and changes in place are no failures.
func TestNoFailures(t *testing.T) {
	t.Parallel()
	set := available(t, env.Namespace(t), harness.Replicas(1), harness.Size(2))
	status(t, set.Namespace, "web-0-1", func(s *corev1.PodStatus) {
		s.EphemeralContainerStatuses = []corev1.ContainerStatus{restarted("debugger")}
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		s.Resize = corev1.PodResizeStatusInProgress
	})
	stays(t, set, "1")
	if n := recreations(t, set); n != 0 {
		t.Errorf("%d recreations", n)
	}
}

// TestNone: only the pod that failed is replaced.
func TestNone(t *testing.T) {
	t.Parallel()
	set := available(t, env.Namespace(t), harness.Replicas(1), harness.Size(2), harness.RestartPolicy(lwsv1.NoneRestartPolicy))
	leader, worker := env.Pod(t, set.Namespace, "web-0"), env.Pod(t, set.Namespace, "web-0-1")
	failures["restarted"].do(t, set.Namespace, "web-0")
	failures["failed"].do(t, set.Namespace, "web-0-1")
	harness.WaitFor(t, "another worker", harness.DefaultTimeout, func() (bool, string) {
		p, err := env.Kube.CoreV1().Pods(set.Namespace).Get(t.Context(), "web-0-1", metav1.GetOptions{})
		return err == nil && p.UID != worker.UID, fmt.Sprint(err)
	})
	env.WaitAvailable(t, set)
	stays(t, set, "1")
	if env.Pod(t, set.Namespace, "web-0").UID != leader.UID {
		t.Error("the leader was replaced, too")
	}
}

package failure

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// available creates a set, waits until it is Available, and returns it.
func available(t *testing.T, ns string, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", options...)))
}

// maxGroupRestarts sets the restart budget.
func maxGroupRestarts(n int32) harness.Option {
	return func(set *harness.Set) { set.Spec.LeaderWorkerTemplate.MaxGroupRestarts = &n }
}

// status changes the status of a pod, as its kubelet does.
func status(t *testing.T, ns, pod string, change func(*corev1.PodStatus)) {
	t.Helper()
	for {
		p := env.Pod(t, ns, pod)
		change(&p.Status)
		_, err := env.Kube.CoreV1().Pods(ns).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
		switch {
		case apierrors.IsConflict(err):
			continue
		case err != nil:
			t.Fatalf("status of pod %s: %v", pod, err)
		}
		return
	}
}

// ended is how a container has just ended.
func ended(code int32, reason string) corev1.ContainerState {
	now := metav1.NewTime(time.Now())
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}}
}

func restarted(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Image: "example.com/x", RestartCount: 1, Ready: true, LastTerminationState: ended(137, "OOMKilled"),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}
}

// failures are the ways for a pod to fail: whether they count, and what is said of them.
var failures = map[string]struct {
	do     func(t *testing.T, ns, pod string)
	counts bool
	says   string
}{
	"restarted": {func(t *testing.T, ns, pod string) {
		status(t, ns, pod, func(s *corev1.PodStatus) { s.ContainerStatuses = []corev1.ContainerStatus{restarted("worker")} })
	}, true, "container worker of pod %s restarted (exit code 137, OOMKilled)"},
	"init": {func(t *testing.T, ns, pod string) {
		status(t, ns, pod, func(s *corev1.PodStatus) { s.InitContainerStatuses = []corev1.ContainerStatus{restarted("fetch")} })
	}, true, "container fetch of pod %s restarted (exit code 137, OOMKilled)"},
	"failed": {func(t *testing.T, ns, pod string) {
		status(t, ns, pod, func(s *corev1.PodStatus) {
			s.Phase, s.Reason, s.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory"
		})
	}, true, "pod %s ended with phase Failed: Evicted: The node was low on resource: memory"},
	"preempted": {func(t *testing.T, ns, pod string) {
		status(t, ns, pod, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodFailed
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", LastTransitionTime: metav1.Now()})
		})
	}, false, "pod %s ended with phase Failed"},
	"deleted": {func(t *testing.T, ns, pod string) { env.DeletePod(t, ns, pod) }, false, "pod %s was deleted"},
	"evicted": {func(t *testing.T, ns, pod string) {
		err := env.Kube.CoreV1().Pods(ns).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod}})
		if err != nil {
			t.Fatalf("evicting pod %s: %v", pod, err)
		}
	}, false, "pod %s was deleted"},
	"forced": {func(t *testing.T, ns, pod string) {
		if err := env.Kube.CoreV1().Pods(ns).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			t.Fatalf("deleting pod %s by force: %v", pod, err)
		}
	}, false, ""},
}

// incarnations are those of the groups of a set, "mixed" or "short" where they are not
// whole.
func incarnations(t *testing.T, set *harness.Set) []string {
	t.Helper()
	out := make([]string, *set.Spec.Replicas)
	for i := range out {
		for w := range *set.Spec.LeaderWorkerTemplate.Size {
			name := fmt.Sprintf("%s-%d", set.Name, i)
			if w > 0 {
				name = fmt.Sprintf("%s-%d", name, w)
			}
			p, err := env.Kube.CoreV1().Pods(set.Namespace).Get(t.Context(), name, metav1.GetOptions{})
			switch {
			case err != nil || p.DeletionTimestamp != nil:
				out[i] = "short"
			case out[i] == "" || out[i] == p.Annotations[lwsv1.AnnotationIncarnation]:
				out[i] = p.Annotations[lwsv1.AnnotationIncarnation]
			default:
				out[i] = "mixed"
			}
		}
	}
	return out
}

// waitIncarnations waits until the groups are of these incarnations and all Ready.
func waitIncarnations(t *testing.T, set *harness.Set, want ...string) {
	t.Helper()
	harness.WaitFor(t, fmt.Sprintf("incarnations %v", want), harness.DefaultTimeout, func() (bool, string) {
		got := incarnations(t, set)
		return fmt.Sprint(got) == fmt.Sprint(want), fmt.Sprintf("%v\n%s", got, env.Describe(t, env.Get(t, set)))
	})
	env.WaitAvailable(t, set)
}

// settled is how long to look for what must not happen.
const settled = 1500 * time.Millisecond

// stays fails the test unless the groups still are of these incarnations after a while.
func stays(t *testing.T, set *harness.Set, want ...string) {
	t.Helper()
	time.Sleep(settled)
	if got := incarnations(t, set); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("incarnations %v, want %v", got, want)
	}
}

// counted fails the test unless group 1 was recreated so often because of failures that
// count.
func counted(t *testing.T, set *harness.Set, want int32) {
	t.Helper()
	got := int32(0)
	for _, r := range env.Get(t, set).Status.GroupRestarts {
		got += r.Count
	}
	if got != want {
		t.Errorf("groupRestarts %+v, want a count of %d", env.Get(t, set).Status.GroupRestarts, want)
	}
}

// recreations are the events of that reason.
func recreations(t *testing.T, set *harness.Set) (n int) {
	t.Helper()
	for _, ev := range env.Events(t, set) {
		if ev.Reason == "RecreateGroup" {
			n++
		}
	}
	return n
}

package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// ran is a container that runs and was restarted so often, the last time after it had
// ended so many seconds after noon.
func ran(name string, restarts int32, after int, code int32, reason string) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: name, RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	if restarts > 0 && reason != "" {
		c.LastTerminationState = ended(after, code, reason)
	}
	return c
}

func ended(after int, code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
		FinishedAt: metav1.NewTime(noon.Add(time.Duration(after) * time.Second))}}
}

// podOf is worker n of a group of three, as the API server shows it.
func podOf(n int, change ...func(*corev1.Pod)) *corev1.Pod {
	controller := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-0-%d", n), UID: "uid", ResourceVersion: "1",
		Labels:          map[string]string{v1.LabelRevision: "r"},
		Annotations:     map[string]string{v1.AnnotationIncarnation: "1", v1.AnnotationSize: "3"},
		OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: &controller}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{ran("main", 0, 0, 0, "")}}}
	for _, c := range change {
		c(p)
	}
	return p
}

func containers(of ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = of }
}

func inits(of ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.InitContainerStatuses = of }
}

func failedBecause(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason }
}

func deletedAt(after int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: noon.Add(time.Duration(after) * time.Second)}
	}
}

func condemned(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func everReady(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1.ConditionGroupReady, Status: corev1.ConditionTrue})
}

func viewOf(pods ...*corev1.Pod) View {
	s := NewState(0)
	for _, p := range pods {
		var n int32
		_, _ = fmt.Sscanf(p.Name, "s-0-%d", &n)
		s.Fold(Observed(ObservePod(p, n)), noon)
	}
	return s.View("set", nil)
}

func waitingFor(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

// What failed first is named by pod, container, exit code and reason; a * is before
// what counts.
func TestFailuresAreNamed(t *testing.T) {
	ephemeral := func(p *corev1.Pod) {
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{ran("debug", 3, 1, 1, "Error")}
	}
	resized := func(p *corev1.Pod) {
		p.Generation++
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "PodResizeInProgress", Status: corev1.ConditionTrue})
	}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"all is well": {[]*corev1.Pod{podOf(0), podOf(1), podOf(2, ephemeral, resized)}, ""},
		"restarted": {[]*corev1.Pod{podOf(0), podOf(1, containers(ran("main", 1, 5, 137, "OOMKilled"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 137, OOMKilled)"},
		"restarted, and nobody knows how": {[]*corev1.Pod{podOf(0), podOf(1, containers(ran("main", 1, 0, 0, ""))), podOf(2)},
			"*container main of pod s-0-1 restarted"},
		"a sidecar": {[]*corev1.Pod{podOf(0, inits(ran("proxy", 2, 5, 2, "Error"))), podOf(1), podOf(2)},
			"*container proxy of pod s-0-0 restarted (exit code 2, Error)"},
		"the first of one pod": {[]*corev1.Pod{podOf(0, inits(ran("proxy", 1, 9, 2, "Error")), containers(ran("main", 1, 5, 1, "Error"))), podOf(1), podOf(2)},
			"*container main of pod s-0-0 restarted (exit code 1, Error)"},
		"the first of all pods": {[]*corev1.Pod{podOf(0, containers(ran("main", 1, 9, 1, "Error"))), podOf(1, containers(ran("main", 1, 5, 3, "Error"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 3, Error)"},
		"failed": {[]*corev1.Pod{podOf(0, failedBecause("Evicted")), podOf(1), podOf(2)}, "*pod s-0-0 ended with phase Failed: Evicted"},
		"failed with a container": {[]*corev1.Pod{podOf(0, failedBecause(""), containers(corev1.ContainerStatus{Name: "main", State: ended(1, 1, "Error")})), podOf(1), podOf(2)},
			"*pod s-0-0 ended with phase Failed: container main ended (exit code 1, Error)"},
		"a restart before a failure": {[]*corev1.Pod{podOf(0, failedBecause(""), containers(corev1.ContainerStatus{Name: "main", State: ended(9, 1, "Error")})),
			podOf(1, containers(ran("main", 1, 5, 1, "Error"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 1, Error), *pod s-0-0 ended with phase Failed: container main ended (exit code 1, Error)"},
		"by kind where no time is known": {[]*corev1.Pod{podOf(0), podOf(1, containers(ran("main", 1, 0, 0, ""))), podOf(2, failedBecause(""))},
			"*pod s-0-2 ended with phase Failed, *container main of pod s-0-1 restarted"},
		"deleted before": {[]*corev1.Pod{podOf(0, deletedAt(1)), podOf(1, containers(ran("main", 1, 2, 1, "Error"))), podOf(2)},
			"pod s-0-0 was deleted, *container main of pod s-0-1 restarted (exit code 1, Error)"},
		"deleted after": {[]*corev1.Pod{podOf(0, deletedAt(3)), podOf(1, containers(ran("main", 1, 2, 1, "Error"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 1, Error), pod s-0-0 was deleted"},
		"deleted in the same second": {[]*corev1.Pod{podOf(0, deletedAt(2)), podOf(1, containers(ran("main", 1, 2, 1, "Error"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 1, Error), pod s-0-0 was deleted"},
		"one of each that counts and does not": {[]*corev1.Pod{podOf(0), podOf(1, failedBecause("Preempted"), condemned), podOf(2, failedBecause("Evicted"))},
			"pod s-0-1 ended with phase Failed: Preempted, *pod s-0-2 ended with phase Failed: Evicted"},
		"the leader gone": {[]*corev1.Pod{podOf(1, containers(ran("main", 1, 5, 1, "Error"))), podOf(2)},
			"*container main of pod s-0-1 restarted (exit code 1, Error), the leader pod is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(tc.pods...)
			var got []string
			for _, f := range append([]*Failure{v.Failure}, v.OtherFailures...) {
				if f == nil {
					continue
				}
				sign := ""
				if f.Counts {
					sign = "*"
				}
				got = append(got, sign+f.Message)
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), tc.want)
			}
		})
	}
}

// Until every regular container has run, RecreateGroupAfterStart is as None, and only
// restarts since then are failures.
func TestAfterStart(t *testing.T) {
	seen := func(n string) func(*corev1.Pod) { return annotated(v1.AnnotationRestartsSeen, n) }
	restarted := func(n int32) func(*corev1.Pod) { return containers(ran("main", n, 1, 1, "Error")) }
	pulling := containers(waitingFor("main", "PodInitializing"))
	for name, tc := range map[string]struct {
		pods    []*corev1.Pod
		started bool
		fails   string
	}{
		"one has not started":                 {[]*corev1.Pod{podOf(0, restarted(1)), podOf(1, failedBecause("Evicted")), podOf(2, pulling)}, false, ""},
		"nor has one with a second container": {[]*corev1.Pod{podOf(0), podOf(1), podOf(2, containers(ran("main", 0, 0, 0, ""), waitingFor("other", "ImagePullBackOff")))}, false, ""},
		"all have, and nobody has said so":    {[]*corev1.Pod{podOf(0), podOf(1, restarted(2)), podOf(2, deletedAt(1))}, false, ""},
		"said so":                             {[]*corev1.Pod{podOf(0, seen("2")), podOf(1, restarted(2)), podOf(2)}, true, ""},
		"one more":                            {[]*corev1.Pod{podOf(0, seen("2")), podOf(1, restarted(2)), podOf(2, restarted(1))}, true, FailureContainerRestarted},
		"started and deleted":                 {[]*corev1.Pod{podOf(0, seen("0")), podOf(1), podOf(2, deletedAt(1))}, true, FailurePodDeleted},
		"started and failed":                  {[]*corev1.Pod{podOf(0, seen("0")), podOf(1, failedBecause("Evicted")), podOf(2)}, true, FailurePodFailed},
		"was Ready, and has not said so":      {[]*corev1.Pod{podOf(0, everReady), podOf(1, restarted(1)), podOf(2)}, true, ""},
		"was Ready, and a worker is gone":     {[]*corev1.Pod{podOf(0, everReady), podOf(1)}, true, FailurePodGone},
		"the leader gone, all have run":       {[]*corev1.Pod{podOf(1), podOf(2)}, true, FailurePodGone},
		"the leader gone, one has not run":    {[]*corev1.Pod{podOf(1, restarted(1)), podOf(2, pulling)}, false, ""},
		"a crash loop is a start": {[]*corev1.Pod{podOf(1), podOf(2, containers(corev1.ContainerStatus{Name: "main", RestartCount: 1,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}))}, true, FailurePodGone},
		"nobody's number": {[]*corev1.Pod{podOf(0, seen("-1")), podOf(1, restarted(1)), podOf(2)}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(tc.pods...)
			if v.HasStarted() != tc.started {
				t.Errorf("started %v, want %v", v.HasStarted(), tc.started)
			}
			got := ""
			if f := v.FailureUnder(v1.RecreateGroupAfterStart); f != nil {
				got = f.Reason
			}
			if got != tc.fails {
				t.Errorf("fails by %q, want %q", got, tc.fails)
			}
			if none := v.FailureUnder(v1.NoneRestartPolicy); none != nil {
				t.Errorf("under None: %v", none)
			}
			if v.ReplacesSingly(v1.RecreateGroupAfterStart) == tc.started || !v.ReplacesSingly(v1.NoneRestartPolicy) || v.ReplacesSingly(v1.RecreateGroupOnPodRestart) {
				t.Error("what is replaced alone does not fit")
			}
		})
	}
}

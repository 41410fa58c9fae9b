package group

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// TestIncarnationOfAPod: what no controller has written counts as absent, which
// is 0, the incarnation of adopted pods.
func TestIncarnationOfAPod(t *testing.T) {
	for value, want := range map[string]int64{
		"7": 7, "0": 0, "": 0, "x": 0, "-1": 0, "1.5": 0, "99999999999999999999": 0, "9223372036854775807": 0,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.AnnotationIncarnation: value}}}
		if got := ObservePod(pod, 0).Incarnation; got != want {
			t.Errorf("annotation %q is incarnation %d, want %d", value, got, want)
		}
	}
	if got := ObservePod(&corev1.Pod{}, 0).Incarnation; got != 0 {
		t.Errorf("a pod without the annotation is of incarnation %d", got)
	}
}

// TestWaitingFor: of the pods of a group the one is named that needs help, with what
// is known of why.
func TestWaitingFor(t *testing.T) {
	status := func(s corev1.ContainerStatus) func(*corev1.Pod) {
		s.Name = "c"
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{s} }
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	not := false
	for _, tc := range []struct {
		name           string
		leader, worker func(*corev1.Pod)
		want           string
	}{
		{"nothing known: the first", func(*corev1.Pod) {}, func(*corev1.Pod) {}, "pod s-0 to become Ready"},
		{"starting", status(corev1.ContainerStatus{State: waiting("ContainerCreating", "")}), func(*corev1.Pod) {}, "pod s-0 to become Ready"},
		{"the worker's image", status(corev1.ContainerStatus{State: running}), status(corev1.ContainerStatus{State: waiting("ImagePullBackOff", "no such image")}),
			"pod s-0-1: container c: ImagePullBackOff: no such image"},
		{"crash loop", func(*corev1.Pod) {}, status(corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off 10s"), LastTerminationState: crashed}),
			"pod s-0-1: container c: CrashLoopBackOff: back-off 10s (last exit code 137, OOMKilled)"},
		{"crash loop, running for the moment", status(corev1.ContainerStatus{State: running, LastTerminationState: crashed}), func(*corev1.Pod) {},
			"pod s-0: container c: runs, but its readiness probe fails (last exit code 137, OOMKilled)"},
		{"startup probe", status(corev1.ContainerStatus{State: running, Started: &not}), func(*corev1.Pod) {},
			"pod s-0: container c: runs, but its startup probe has not succeeded"},
		{"no node", status(corev1.ContainerStatus{State: running}), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}
		}, "pod s-0-1: 0/3 nodes are available"},
		{"ended", func(*corev1.Pod) {}, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			status(corev1.ContainerStatus{State: crashed})(p)
		}, "pod s-0-1, which has ended with phase Failed: container c: ended with exit code 137, OOMKilled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewState(0)
			for worker, change := range []func(*corev1.Pod){tc.leader, tc.worker} {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: []string{"s-0", "s-0-1"}[worker], UID: types.UID(rune('a' + worker)), ResourceVersion: "1",
					Annotations: map[string]string{v1.AnnotationSize: "2"}, OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}}}}
				change(p)
				s.Fold(Observed(ObservePod(p, int32(worker))), metav1.Now().Time)
			}
			if view := s.View("set", nil); view.WaitingFor != tc.want {
				t.Errorf("got %q, want %q", view.WaitingFor, tc.want)
			}
		})
	}
}

// The PodGroup of a pod is the one that the controller has named; one of Volcano's that
// the template names is somebody else's.
func TestGangOfAPod(t *testing.T) {
	native := "web-1-4"
	labels := map[string]string{v1.LabelName: "web", v1.LabelGroupIndex: "1", v1.LabelRevision: "key"}
	for name, tc := range map[string]struct {
		volcano string
		group   *corev1.PodSchedulingGroup
		want    string
	}{
		"none":      {"", nil, ""},
		"native":    {"", &corev1.PodSchedulingGroup{PodGroupName: &native}, "web-1-4"},
		"nameless":  {"", &corev1.PodSchedulingGroup{}, ""},
		"Volcano's": {"web-1-key", nil, "volcano/web-1-key"},
		"by hand":   {"mine", nil, ""},
		"of before": {"web-1-old", nil, ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"scheduling.k8s.io/group-name": tc.volcano}},
			Spec: corev1.PodSpec{SchedulingGroup: tc.group}}
		if got := ObservePod(pod, 0).Gang; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := ObservePod(&corev1.Pod{}, 0).Gang; got != "" {
		t.Errorf("without labels: %q", got)
	}
}

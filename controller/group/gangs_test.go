package group

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// The PodGroup of a group is that of its present incarnation; those of other pods are
// known too, since they must not go.

func TestGangs(t *testing.T) {
	s := NewState(0)
	for i, p := range []Pod{
		{Worker: 0, Incarnation: 2, Gang: "a-0-2"}, {Worker: 1, Incarnation: 1, Gang: "a-0-1"},
		{Worker: 2, Incarnation: 2, Gang: "a-0-2"}, {Worker: 3, Incarnation: 1, Gang: "a-0-1"}, {Worker: 4, Incarnation: 2},
	} {
		p.Controller, p.UID, p.Version = "set", "u", string(rune('1'+i))
		s.Fold(Observed(p), noon)
	}
	v := s.View("set", nil)
	if v.Gang != "a-0-2" || !slices.Equal(v.OtherGangs, []string{"a-0-1"}) {
		t.Errorf("gang %s, others %v", v.Gang, v.OtherGangs)
	}
}

// Since when the scheduler has found no node for a worker: the longest wait counts, and
// neither gates nor leaders do.
func TestUnplaced(t *testing.T) {
	pod := func(name, reason, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1.AnnotationAvoids: "rack=a,rack=b"}}, Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason,
				LastTransitionTime: metav1.NewTime(noon), Message: "no node"}}}}
	}
	for name, tc := range map[string]struct {
		worker int32
		pod    *corev1.Pod
		want   bool
	}{
		"a worker":         {1, pod("a-0-1", corev1.PodReasonUnschedulable, ""), true},
		"a leader":         {0, pod("a-0", corev1.PodReasonUnschedulable, ""), false},
		"a gated worker":   {1, pod("a-0-1", corev1.PodReasonSchedulingGated, ""), false},
		"one that has one": {1, pod("a-0-1", corev1.PodReasonUnschedulable, "n"), false},
	} {
		p := ObservePod(tc.pod, tc.worker)
		if avoids := tc.worker == 0; avoids != slices.Equal(p.Avoids, []string{"rack=a", "rack=b"}) {
			t.Errorf("%s avoids %v", name, p.Avoids)
		}
		p.Controller, p.UID, p.Version, p.Size = "set", "u", "1", 2
		s := NewState(0)
		s.Fold(Observed(p), noon)
		if v := s.View("set", nil); v.UnplacedSince.Equal(noon) != tc.want {
			t.Errorf("%s: since %s, want %t", name, v.UnplacedSince, tc.want)
		}
	}
}

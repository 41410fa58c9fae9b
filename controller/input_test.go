package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

// TestProgressingSince: the deadline runs anew after what gives the rollout another
// chance, and not while it is paused.
func TestProgressingSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 12, 1, 10, minute, 0, 0, time.UTC) }
	condition := func(kind string, status metav1.ConditionStatus, minute int) func(*v1.LeaderWorkerSetStatus) {
		return func(s *v1.LeaderWorkerSetStatus) {
			meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R", LastTransitionTime: metav1.NewTime(at(minute))})
		}
	}
	progressing := condition(v1.ConditionProgressing, "True", 10)
	for _, tc := range []struct {
		name string
		with []func(*v1.LeaderWorkerSetStatus)
		want time.Time
	}{
		{"at rest", []func(*v1.LeaderWorkerSetStatus){condition(v1.ConditionProgressing, "False", 10)}, time.Time{}},
		{"never set out", nil, time.Time{}},
		{"set out", []func(*v1.LeaderWorkerSetStatus){progressing}, at(10)},
		{"stalled", []func(*v1.LeaderWorkerSetStatus){progressing, condition(v1.ConditionStalled, "True", 20)}, at(10)},
		{"no longer stalled", []func(*v1.LeaderWorkerSetStatus){progressing, condition(v1.ConditionStalled, "False", 20)}, at(20)},
		{"stalled in an earlier rollout", []func(*v1.LeaderWorkerSetStatus){progressing, condition(v1.ConditionStalled, "False", 5)}, at(10)},
		{"resumed", []func(*v1.LeaderWorkerSetStatus){progressing, condition(v1.ConditionRolloutPaused, "False", 25)}, at(25)},
		{"resumed just now", []func(*v1.LeaderWorkerSetStatus){progressing, condition(v1.ConditionRolloutPaused, "True", 25)}, at(30)},
		{"another spec just now", []func(*v1.LeaderWorkerSetStatus){progressing, func(s *v1.LeaderWorkerSetStatus) { s.UpdateRevision = "a" }}, at(30)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := memoryOf(2)
			m.set.Status.UpdateRevision = m.update
			for _, change := range tc.with {
				change(&m.set.Status)
			}
			if got := progressingSince(&m.set.Status, m.update, at(30)); !got.Equal(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestRolling: annotations hold instead of the spec, each for itself; percentages of
// the partition are rounded up.
func TestRolling(t *testing.T) {
	three := int32(3)
	spec := &v1.RollingUpdateConfiguration{Partition: &three, MaxUnavailable: intstr.FromInt32(2), MaxSurge: intstr.FromString("10%")}
	for _, tc := range []struct {
		name                 string
		spec                 *v1.RollingUpdateConfiguration
		annotations          map[string]string
		partition            int32
		unavailable, surge   string
		inGroups, surgeGroup int32
	}{
		{"the spec", spec, nil, 3, "2", "10%", 2, 1},
		{"no spec", nil, nil, 0, "1", "0", 1, 0},
		{"partition", spec, map[string]string{v1.AnnotationPartition: "0"}, 0, "2", "10%", 2, 1},
		{"partition in percent, rounded up", nil, map[string]string{v1.AnnotationPartition: "25%"}, 2, "1", "0", 1, 0},
		{"all of them", spec, map[string]string{v1.AnnotationPartition: "100%", v1.AnnotationMaxUnavailable: "50%", v1.AnnotationMaxSurge: "0"}, 5, "50%", "0", 2, 0},
		{"both 0", spec, map[string]string{v1.AnnotationMaxUnavailable: "0", v1.AnnotationMaxSurge: "0%"}, 3, "0", "0%", 1, 0},
		{"cannot be read", spec, map[string]string{v1.AnnotationPartition: "some", v1.AnnotationMaxSurge: "200%"}, 3, "2", "10%", 2, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := memoryOf(5)
			m.set.Spec.RolloutStrategy.RollingUpdateConfiguration = tc.spec
			set := m.set.DeepCopy()
			set.Annotations, set.ResourceVersion = tc.annotations, "2"
			m.set = nil
			m.observeSet(set)
			got := m.steering.Rolling(&m.set.Spec, m.replicas())
			if *got.Partition != tc.partition || got.MaxUnavailable.String() != tc.unavailable || got.MaxSurge.String() != tc.surge {
				t.Errorf("partition %d, unavailable %s, surge %s; want %d, %s, %s", *got.Partition, got.MaxUnavailable.String(), got.MaxSurge.String(),
					tc.partition, tc.unavailable, tc.surge)
			}
			if b := m.budget(); b.Unavailable != tc.inGroups || b.Surge != tc.surgeGroup {
				t.Errorf("budget %+v, want %d and %d", b, tc.inGroups, tc.surgeGroup)
			}
			if *spec.Partition != 3 {
				t.Error("the spec was changed")
			}
		})
	}
}

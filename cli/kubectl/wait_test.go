package kubectl

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

func TestLacks(t *testing.T) {
	annotate := func(key, value string) func(*world) {
		return func(w *world) { w.set.Annotations = map[string]string{key: value} }
	}
	both := func(changes ...func(*world)) func(*world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	// groups adds group 0, 1, ... of these revisions.
	groups := func(numbers ...int) func(*world) {
		return func(w *world) {
			for index, number := range numbers {
				w.group(int32(index), number)
			}
		}
	}
	for name, test := range map[string]struct {
		given          func(*world)
		rollout, ready string
	}{
		"over":     {groups(2, 2), "", ""},
		"outdated": {groups(1, 2), "1 of 2 groups updated and available", ""},
		"paused": {both(groups(1, 2), annotate(v1.AnnotationPaused, "true")),
			"1 of 2 groups updated and available (paused)", ""},
		"below the partition": {both(groups(1, 2), annotate(v1.AnnotationPartition, "50%")), "", ""},
		"partition of the spec": {both(groups(1, 2), func(w *world) {
			one := int32(1)
			w.set.Spec.RolloutStrategy.RollingUpdateConfiguration = &v1.RollingUpdateConfiguration{Partition: &one, MaxUnavailable: intstr.FromInt32(1)}
		}), "", ""},
		"missing":           {groups(2), "1 of 2 groups updated and available", "1 of 2 groups Ready"},
		"not Ready":         {func(w *world) { w.group(0, 2); w.group(1, 2, pulling) }, "1 of 2 groups updated and available", "1 of 2 groups Ready"},
		"Ready too shortly": {both(groups(2, 2), annotate(v1.AnnotationMinReady, "10m")), "0 of 2 groups updated and available", ""},
		"Ready for long":    {both(groups(2, 2), annotate(v1.AnnotationMinReady, "9m")), "", ""},
		"surge":             {groups(2, 2, 2), "1 group above the number wanted to go", ""},
		"recycle":           {both(groups(2, 2), annotate(v1.AnnotationRecycle, "0@2026-12-01T11:59:00Z")), "group 0 to be recreated", ""},
		"recycled": {func(w *world) {
			annotate(v1.AnnotationRecycle, "0-1@2026-12-01T11:59:00Z")(w)
			w.group(0, 2, func(p *corev1.Pod) { p.CreationTimestamp = ago(0) })
			w.group(1, 2, func(p *corev1.Pod) { p.Annotations[v1.AnnotationRecycledAt] = "2026-12-01T11:59:00Z" })
		}, "", ""},
		"recycle tomorrow": {both(groups(2, 2), annotate(v1.AnnotationRecycle, "0@2026-12-02T11:59:00Z")), "", ""},
	} {
		w := newWorld(t, 2, 2)
		test.given(w)
		s := newStatus(&w.seen)
		if got := s.lacks(forRollout, noon); got != test.rollout {
			t.Errorf("%s: the rollout lacks %q, want %q", name, got, test.rollout)
		}
		if got := s.lacks(forReady, noon); got != test.ready {
			t.Errorf("%s: ready lacks %q, want %q", name, got, test.ready)
		}
	}
}

func TestFailed(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.group(0, 2, pulling)
	w.condition(v1.ConditionStalled, v1.ReasonProgressDeadline, "Nothing has moved")
	if got, want := newStatus(&w.seen).failed(2), "Stalled (ProgressDeadlineExceeded): Nothing has moved"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// What was said of an earlier spec says nothing of this one.
	w.set.Status.Conditions[0].ObservedGeneration = 1
	if got := newStatus(&w.seen).failed(2); got != "" {
		t.Errorf("got %q", got)
	}
}

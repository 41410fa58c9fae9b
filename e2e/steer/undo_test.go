package steer

import (
	"testing"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// TestUndo goes back by number and to the previous revision, twice in a row, also to
// another size.
func TestUndo(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(2), harness.Size(3))
	set = change(t, set, image("2"), harness.Size(2))
	set = waitTags(t, set, "0:2 1:2")
	for _, step := range []struct {
		undo, tags, event string
		size              int32
	}{
		{"1", "0:1 1:1", "The spec is that of revision 1", 3},
		{"previous", "0:2 1:2", "The spec is that of revision 2", 2},
		{"previous", "0:1 1:1", "The spec is that of revision 3", 3},
	} {
		env.Update(t, set, annotate(lwsv1.AnnotationUndo, step.undo))
		set = waitTags(t, set, step.tags)
		if _, is := set.Annotations[lwsv1.AnnotationUndo]; is || *set.Spec.LeaderWorkerTemplate.Size != step.size || len(env.Pods(t, set)) != 2*int(step.size) {
			t.Errorf("undo %s: annotation left %t, size %d with %d pods, want %d", step.undo, is, *set.Spec.LeaderWorkerTemplate.Size, len(env.Pods(t, set)), step.size)
		}
		env.WaitEvent(t, set, "Normal", "Undone", step.event, "in Git")
	}
	quiet(t, ns)
}

// TestUndoRefused: what cannot be undone takes the annotation off and changes
// nothing.
func TestUndoRefused(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns)
	before := leaders(t, set)
	for undo, why := range map[string]string{"7": "there is no such revision", "previous": "there is no earlier revision", "1": "revision 1 is the present spec"} {
		generation := env.Update(t, set, annotate(lwsv1.AnnotationUndo, undo)).Generation
		harness.WaitFor(t, "the annotation to go", harness.DefaultTimeout, func() (bool, string) {
			_, is := env.Get(t, set).Annotations[lwsv1.AnnotationUndo]
			return !is, ""
		})
		env.WaitEvent(t, set, "Warning", "UndoRefused", undo, why)
		if now := env.Get(t, set).Generation; now != generation {
			t.Errorf("undo %s: the spec was changed", undo)
		}
	}
	quiet(t, ns)
	sameLeaders(t, set, before)
}

package controller

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// stored is a revision with this leaderWorkerTemplate.
func stored(number int64, key, template string) *appsv1.ControllerRevision {
	raw := `{"spec":{"leaderWorkerTemplate":{"$patch":"replace",` + template + `},"networkConfig":{"$patch":"replace","subdomainPolicy":"Shared"}}}`
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "s-" + key, Namespace: "ns", Labels: map[string]string{v1.LabelName: "s", v1.LabelRevision: key}},
		Data:       runtime.RawExtension{Raw: []byte(raw)}, Revision: number,
	}
}

// undoing is a set at revision b, of a history with others.
func undoing(t *testing.T, undo string, others ...*appsv1.ControllerRevision) *memory {
	t.Helper()
	m := memoryOf(1)
	size := int32(2)
	m.set.ResourceVersion = "77"
	m.set.Spec.LeaderWorkerTemplate = v1.LeaderWorkerTemplate{Size: &size, WorkerTemplate: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "b"}}}}}
	history, problems := revision.NewHistory(append(others, stored(2, "b", `"size":2,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"b"}]}}`)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m.history, m.steering.Undo = history, undo
	return m
}

func TestUndoTarget(t *testing.T) {
	const a = `"size":3,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"a"}]}}`
	for _, tc := range []struct {
		name, undo, target, refused string
		others                      []*appsv1.ControllerRevision
	}{
		{"previous", "previous", "a", "", []*appsv1.ControllerRevision{stored(1, "a", a)}},
		{"previous is the one applied last, not the one below", "previous", "c", "",
			[]*appsv1.ControllerRevision{stored(1, "a", a), stored(5, "c", strings.Replace(a, `"a"`, `"c"`, 1))}},
		{"by number", "1", "a", "", []*appsv1.ControllerRevision{stored(1, "a", a), stored(3, "c", strings.Replace(a, `"a"`, `"c"`, 1))}},
		{"no other", "previous", "", "there is no earlier revision that differs in more than a restart", nil},
		{"no such number", "9", "", "there is no such revision", []*appsv1.ControllerRevision{stored(1, "a", a)}},
		{"the present one", "2", "", "revision 2 is the present spec", []*appsv1.ControllerRevision{stored(1, "a", a)}},
		{"the same spec before a restart, and nothing else", "previous", "", "there is no earlier revision that differs in more than a restart",
			[]*appsv1.ControllerRevision{stored(1, "x", `"size":2,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"b"}]}}`)}},
		{"the same spec by number", "1", "", "revision 1 is the present spec",
			[]*appsv1.ControllerRevision{stored(1, "x", `"size":2,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"b"}]}}`)}},
		{"past a restart of the same spec", "previous", "a", "",
			[]*appsv1.ControllerRevision{stored(0, "a", a), stored(1, "x", `"size":2,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"b"}]}}`)}},
		{"subgroups added", "previous", "", "another spec.leaderWorkerTemplate.subGroupPolicy",
			[]*appsv1.ControllerRevision{stored(1, "a", a+`,"subGroupPolicy":{"subGroupSize":1}`)}},
		{"volume claims", "previous", "", "other spec.leaderWorkerTemplate.volumeClaimTemplates",
			[]*appsv1.ControllerRevision{stored(1, "a", a+`,"volumeClaimTemplates":[{"metadata":{"name":"data"}}]`)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := undoing(t, tc.undo, tc.others...)
			target, why := m.history.Undo(m.set, tc.undo, m.update, m.steering.RestartedAt)
			if (target == nil) != (tc.target == "") || target != nil && target.Key != tc.target {
				t.Errorf("target %+v, want %q", target, tc.target)
			}
			if (why == "") != (tc.refused == "") || !strings.Contains(why, tc.refused) {
				t.Errorf("refused: %q, want %q", why, tc.refused)
			}
		})
	}
}

// Also fields that only a newer version knows come back, and the patch holds for
// nothing but the set that was seen.
func TestUndoPatch(t *testing.T) {
	m := undoing(t, "previous", stored(1, "a", `"size":3,"fromTheFuture":{"deep":[1.50,"x"]},"workerTemplate":{"spec":{"containers":[{"name":"c","image":"a","alsoNew":true}]}}`))
	target, _ := m.history.Undo(m.set, "previous", m.update, m.steering.RestartedAt)
	for name, tc := range map[string]struct {
		target *revision.Revision
		want   string
	}{
		"back": {target, `[{"op":"test","path":"/metadata/uid","value":"set"},{"op":"replace","path":"/metadata/resourceVersion","value":"77"},` +
			`{"op":"remove","path":"/metadata/annotations/rollout.leaderworkerset.x-k8s.io~1undo"},` +
			`{"op":"add","path":"/spec/leaderWorkerTemplate","value":{"fromTheFuture":{"deep":[1.50,"x"]},"size":3,"workerTemplate":{"spec":{"containers":[{"name":"c","image":"a","alsoNew":true}]}}}},` +
			`{"op":"add","path":"/spec/networkConfig","value":{"subdomainPolicy":"Shared"}}]`},
		"only the annotation": {nil, `[{"op":"test","path":"/metadata/uid","value":"set"},{"op":"replace","path":"/metadata/resourceVersion","value":"77"},` +
			`{"op":"remove","path":"/metadata/annotations/rollout.leaderworkerset.x-k8s.io~1undo"}]`},
	} {
		got, err := annotationPatch(m.set, v1.AnnotationUndo, tc.target)
		if err != nil || string(got) != tc.want || !json.Valid(got) {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, tc.want)
		}
	}
}

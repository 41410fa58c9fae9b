package revision

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "lws-controller/api/v1"
)

func TestStore(t *testing.T) {
	ctx := context.Background()
	s := set(t, simple)
	orphan := stored(t, "orphan", "keyo", 3, spec("a:2"))
	orphan.UID, orphan.ResourceVersion = "uid-o", "17"
	orphan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "uid-c"}}
	former := stored(t, "former", "keyf", 1, spec("a:3"))
	former.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: "vllm", UID: "uid-0"}}, v1.GroupVersionKind)}
	other := stored(t, "other", "keyx", 1, spec("a:4"))
	other.Labels[v1.LabelName] = "llama"
	client := fake.NewClientset(orphan, former, other)
	store := Store{Client: client.AppsV1()}

	objects, err := store.List(ctx, s)
	if err != nil || len(objects) != 1 || objects[0].Name != "orphan" {
		t.Fatalf("listed %v, %v", objects, err)
	}
	h := history(t, objects...)

	built, err := h.New(s, FromSet(s), time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	created, err := store.Create(ctx, built)
	if err != nil || created.Key != built.Key || created.Number != 4 {
		t.Fatalf("created %+v, %v", created, err)
	}
	if _, err := store.Create(ctx, built); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created twice: %v", err)
	}
	for name, want := range map[string]bool{"orphan": true, "former": true, "other": false, "none": false} {
		if got, err := store.Labelled(ctx, s, name); err != nil || got != want {
			t.Errorf("%s carries the set's label: %v, %v", name, got, err)
		}
	}

	adopted, err := store.Adopt(ctx, s, h.ByKey("keyo"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(adopted.Object); owner == nil || owner.UID != s.UID || len(adopted.Object.OwnerReferences) != 2 {
		t.Errorf("owners %v", adopted.Object.OwnerReferences)
	}
	numbered, err := store.SetNumber(ctx, adopted, 5)
	if err != nil || numbered.Number != 5 || numbered.Key != "keyo" || string(numbered.Object.Data.Raw) != string(orphan.Data.Raw) {
		t.Errorf("numbered %+v, %v", numbered, err)
	}

	// Each patch speaks of the object that was seen, and says no more than it has
	// to.
	var patches []map[string]any
	for _, action := range client.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			var body map[string]any
			if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
				t.Fatal(err)
			}
			metadata := body["metadata"].(map[string]any)
			if metadata["uid"] != "uid-o" || metadata["resourceVersion"] == "" {
				t.Errorf("patch %s", patch.GetPatch())
			}
			patches = append(patches, body)
		}
	}
	if len(patches) != 2 || len(patches[0]) != 1 || len(patches[1]) != 2 {
		t.Errorf("patches %v", patches)
	}
}

func TestBelongs(t *testing.T) {
	s := set(t, simple)
	own := stored(t, "own", "key", 1, simple)
	own.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1.GroupVersionKind)}
	for name, test := range map[string]struct {
		change func(*appsv1.ControllerRevision)
		want   bool
	}{
		"own":               {func(*appsv1.ControllerRevision) {}, true},
		"orphan":            {func(o *appsv1.ControllerRevision) { o.OwnerReferences = nil }, true},
		"a namesake's":      {func(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = "uid-0" }, false},
		"another set's":     {func(o *appsv1.ControllerRevision) { o.Labels[v1.LabelName] = "x" }, false},
		"another namespace": {func(o *appsv1.ControllerRevision) { o.Namespace = "x" }, false},
	} {
		object := own.DeepCopy()
		test.change(object)
		if got := Belongs(object, s); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

package harness

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
)

// Create creates the set and returns what was stored.
func (e *Env) Create(t testing.TB, set *Set) *Set {
	t.Helper()
	stored, err := e.Sets.LeaderWorkerSets(set.Namespace).Create(t.Context(), set, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating set %s: %v", set.Name, err)
	}
	return stored
}

// Get reads the set.
func (e *Env) Get(t testing.TB, set *Set) *Set {
	t.Helper()
	stored, err := e.Sets.LeaderWorkerSets(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading set %s: %v", set.Name, err)
	}
	return stored
}

// Update changes the newest version of the set, again and again until no other
// writer was in between, and returns what was stored.
func (e *Env) Update(t testing.TB, set *Set, change func(*Set)) *Set {
	t.Helper()
	for {
		newest := e.Get(t, set)
		change(newest)
		stored, err := e.Sets.LeaderWorkerSets(set.Namespace).Update(t.Context(), newest, metav1.UpdateOptions{})
		if err == nil {
			return stored
		}
		if !apierrors.IsConflict(err) {
			t.Fatalf("updating set %s: %v", set.Name, err)
		}
	}
}

// Scale sets spec.replicas.
func (e *Env) Scale(t testing.TB, set *Set, replicas int32) *Set {
	t.Helper()
	return e.Update(t, set, func(s *Set) { s.Spec.Replicas = &replicas })
}

// Pods lists the pods with the set's label, by name; those that are terminating
// too.
func (e *Env) Pods(t testing.TB, set *Set) []corev1.Pod {
	t.Helper()
	list, err := e.Kube.CoreV1().Pods(set.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: lwsv1.LabelName + "=" + set.Name})
	if err != nil {
		t.Fatalf("listing the pods of %s: %v", set.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// Pod reads a pod.
func (e *Env) Pod(t testing.TB, namespace, name string) *corev1.Pod {
	t.Helper()
	pod, err := e.Kube.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading pod %s: %v", name, err)
	}
	return pod
}

// Events are those about the set, in the order in which they were created.
func (e *Env) Events(t testing.TB, set *Set) []eventsv1.Event {
	t.Helper()
	list, err := e.Kube.EventsV1().Events(set.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing events: %v", err)
	}
	events := slices.DeleteFunc(list.Items, func(ev eventsv1.Event) bool {
		return ev.Regarding.Kind != lwsv1.Kind || ev.Regarding.Name != set.Name
	})
	slices.SortFunc(events, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return events
}

// Annotate sets an annotation of a pod, or removes it if the value is nil. A pod
// that is gone meanwhile is no error.
func (e *Env) Annotate(t testing.TB, namespace, pod, key string, value *string) {
	t.Helper()
	e.PatchPod(t, namespace, pod, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// PatchPod applies a merge patch to a pod. A pod that is gone is no error.
func (e *Env) PatchPod(t testing.TB, namespace, pod string, patch any) {
	t.Helper()
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Kube.CoreV1().Pods(namespace).Patch(t.Context(), pod, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("patching pod %s: %v", pod, err)
	}
}

// PatchNode applies a merge patch to a node.
func (e *Env) PatchNode(t testing.TB, name string, patch any, subresources ...string) {
	t.Helper()
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Kube.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatalf("patching node %s: %v", name, err)
	}
}

// Room gives a node room for so many pods that take one of a resource.
func (e *Env) Room(t testing.TB, name string, resource corev1.ResourceName, n int) {
	t.Helper()
	there := map[corev1.ResourceName]string{resource: strconv.Itoa(n)}
	e.PatchNode(t, name, map[string]any{"status": map[string]any{"capacity": there, "allocatable": there}}, "status")
}

// LabelNode sets a label of a node, or takes it off if the value is nil.
func (e *Env) LabelNode(t testing.TB, name, key string, value any) {
	t.Helper()
	e.PatchNode(t, name, map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}})
}

// DeletePod deletes a pod, as kubectl does.
func (e *Env) DeletePod(t testing.TB, namespace, pod string) {
	t.Helper()
	if err := e.Kube.CoreV1().Pods(namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("deleting pod %s: %v", pod, err)
	}
}

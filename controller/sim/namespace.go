package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/invariant"
)

// namespaceEnding is how the API server refuses what is new in a namespace that is
// being deleted.
func namespaceEnding(gr schema.GroupResource, key types.NamespacedName) error {
	err := apierrors.NewForbidden(gr, key.Name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", key.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", key.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}

// DeleteNamespace deletes the namespace of the sets, as a user does. It is there
// again when it is gone and something is created in it.
func (w *World) DeleteNamespace() {
	if w.server.ending {
		return
	}
	w.note("user deletes the namespace")
	w.covered["namespace deleted"]++
	w.server.ending = true
}

// namespaceActs has the namespace controller delete one thing in a namespace that
// is being deleted, if there is one, in no order of kinds; and end it when nothing
// is left.
func (w *World) namespaceActs() bool {
	if !w.server.ending {
		return false
	}
	kinds := []func() bool{
		func() bool { return empty(w, w.server.sets) },
		func() bool { return empty(w, w.server.pods) },
		func() bool { return empty(w, w.server.services) },
		func() bool { return empty(w, w.server.revisions) },
	}
	if len(w.server.budgets.items) > 0 {
		kinds = append(kinds, func() bool { return empty(w, w.server.budgets) })
	}
	if len(w.server.podGroups.items)+len(w.server.workloads.items) > 0 {
		kinds = append(kinds, func() bool { return empty(w, w.server.podGroups) }, func() bool { return empty(w, w.server.workloads) })
	}
	if len(w.server.volcano.items) > 0 {
		kinds = append(kinds, func() bool { return empty(w, w.server.volcano) })
	}
	w.shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, deleteOne := range kinds {
		if deleteOne() {
			return true
		}
	}
	if len(w.server.sets.items)+len(w.server.pods.items)+len(w.server.services.items)+len(w.server.revisions.items)+len(w.server.budgets.items)+
		len(w.server.podGroups.items)+len(w.server.workloads.items)+len(w.server.volcano.items) > 0 {
		return false
	}
	w.note("the namespace is gone")
	w.covered["namespace gone"]++
	w.server.ending = false
	return true
}

// empty deletes one object that is not yet being deleted, if there is one.
func empty[T object](w *World, t *table[T]) bool {
	for _, o := range t.list() {
		if o.GetDeletionTimestamp() == nil {
			_ = remove(w.server, t, keyOf(o), request{by: invariant.NamespaceController, uid: o.GetUID()})
			return true
		}
	}
	return false
}

package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// collectorActs has the garbage collector do one thing, if there is one to do: it
// deletes what belongs to a set that is gone, and what a set owns that is deleted
// in the foreground, and lets go of what a set orphans.
func (w *World) collectorActs() bool {
	for _, s := range w.server.sets.list() {
		if s.DeletionTimestamp != nil && w.goOnDeleting(s) {
			return true
		}
	}
	doomed := func(o metav1.Object) bool {
		owner := controllerOf(o)
		if owner == "" || o.GetDeletionTimestamp() != nil {
			return false
		}
		for _, s := range w.server.sets.items {
			if s.UID == owner {
				return s.DeletionTimestamp != nil && slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents)
			}
		}
		return true
	}
	// A claim may belong to a pod.
	doomedClaim := func(o metav1.Object) bool {
		if controllerOf(o) == foreignOwner {
			return false
		}
		for _, p := range w.server.pods.items {
			if p.UID == controllerOf(o) {
				return false
			}
		}
		return doomed(o)
	}
	return collect(w, w.server.pods, doomed) || collect(w, w.server.services, doomed) || collect(w, w.server.revisions, doomed) || collect(w, w.server.budgets, doomed) ||
		collect(w, w.server.claims, doomedClaim) || collect(w, w.server.workloads, doomed) || collect(w, w.server.podGroups, doomed) || collect(w, w.server.volcano, doomed) || w.releasePodGroups()
}

// podGroupProtection is the finalizer of PodGroups, which lasts until no pod that has
// not ended refers to them.
const podGroupProtection = schedulingv1beta1.GroupName + "/podgroup-protection"

// releasePodGroups lifts the finalizer off one PodGroup, if there is one whose time has
// come.
func (w *World) releasePodGroups() bool {
	for _, g := range w.server.podGroups.list() {
		if g.DeletionTimestamp == nil || slices.ContainsFunc(w.server.pods.list(), func(p *corev1.Pod) bool {
			return p.Spec.SchedulingGroup != nil && *p.Spec.SchedulingGroup.PodGroupName == g.Name && !finished(p)
		}) {
			continue
		}
		_, _ = update(w.server, w.server.podGroups, keyOf(g), request{by: invariant.Collector, uid: g.UID}, func(g *schedulingv1beta1.PodGroup) error {
			g.Finalizers = nil
			return nil
		})
		return true
	}
	return false
}

// collect deletes one object that is doomed.
func collect[T object](w *World, t *table[T], doomed func(metav1.Object) bool) bool {
	for _, o := range t.list() {
		if doomed(o) {
			_ = remove(w.server, t, keyOf(o), request{by: invariant.Collector, uid: o.GetUID()})
			return true
		}
	}
	return false
}

// goOnDeleting takes the deletion of a set that a finalizer holds one step on.
func (w *World) goOnDeleting(s *v1.LeaderWorkerSet) bool {
	switch {
	case slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents):
		if _, begun := w.orphans[s.UID]; !begun {
			// It lets go of what it knows of now; what comes later dangles.
			w.orphans[s.UID] = w.dependents(s.UID)
		}
		if rest := w.orphans[s.UID]; len(rest) > 0 {
			w.orphans[s.UID] = rest[1:]
			rest[0]()
			return true
		}
		w.dropFinalizer(s, metav1.FinalizerOrphanDependents)
		return true
	case slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents):
		if w.blocked(s.UID) {
			return false
		}
		w.dropFinalizer(s, metav1.FinalizerDeleteDependents)
		return true
	}
	return false
}

// dependents are the objects that a set controls, each as the act of letting go
// of it.
func (w *World) dependents(owner types.UID) []func() {
	return slices.Concat(letGo(w.server, w.server.pods, owner), letGo(w.server, w.server.services, owner), letGo(w.server, w.server.revisions, owner),
		letGo(w.server, w.server.budgets, owner), letGo(w.server, w.server.claims, owner),
		letGo(w.server, w.server.workloads, owner), letGo(w.server, w.server.podGroups, owner), letGo(w.server, w.server.volcano, owner))
}

// blocked says that an object exists which a set that is deleted in the foreground
// has to wait for. Others that it owns outlive it for a moment.
func (w *World) blocked(owner types.UID) bool {
	return blocks(w.server.pods, owner) || blocks(w.server.services, owner) || blocks(w.server.revisions, owner) || blocks(w.server.budgets, owner) || blocks(w.server.claims, owner) ||
		blocks(w.server.workloads, owner) || blocks(w.server.podGroups, owner) || blocks(w.server.volcano, owner)
}

func blocks[T object](t *table[T], owner types.UID) bool {
	for _, o := range t.items {
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			return true
		}
	}
	return false
}

func letGo[T object](s *Server, t *table[T], owner types.UID) []func() {
	var out []func()
	for _, o := range t.list() {
		if controllerOf(o) != owner {
			continue
		}
		key, uid := keyOf(o), o.GetUID()
		out = append(out, func() {
			_, _ = update(s, t, key, request{by: invariant.Collector, uid: uid}, func(o T) error {
				o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }))
				return nil
			})
		})
	}
	return out
}

func (w *World) dropFinalizer(s *v1.LeaderWorkerSet, finalizer string) {
	_, _ = update(w.server, w.server.sets, keyOf(s), request{by: invariant.Collector, uid: s.UID}, func(s *v1.LeaderWorkerSet) error {
		s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == finalizer })
		return nil
	})
}

// controllerOf is the UID of the controlling owner, empty without one.
func controllerOf(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}

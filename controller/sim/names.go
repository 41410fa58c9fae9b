package sim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/topology"
)

// namesMeet says that a set is there that may wait for a name of another one.
func (w *World) namesMeet() bool {
	meets := func(o metav1.Object) bool {
		for _, s := range w.server.sets.items {
			_, _, ours := topology.ParsePodName(s.Name, o.GetName())
			if (ours || o.GetName() == s.Name) && controllerOf(o) != s.UID {
				return true
			}
		}
		return false
	}
	for _, p := range w.server.pods.items {
		if meets(p) {
			return true
		}
	}
	for _, s := range w.server.services.items {
		if meets(s) {
			return true
		}
	}
	for _, c := range w.server.claims.items {
		if controllerOf(c) == foreignOwner {
			return true
		}
	}
	return false
}

// part deletes one of two sets: the other must then become all that it is to be.
func (w *World) part() {
	if len(w.keys) < 2 || len(w.broken) > 0 {
		return
	}
	w.at = w.keys[w.rng.IntN(2)]
	w.DeleteSet(metav1.DeletePropagationBackground)
	if w.settle() {
		w.atRest()
	}
}

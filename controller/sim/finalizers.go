package sim

import (
	"slices"

	"lws-controller/controller/invariant"
)

// theirs is a finalizer of another party, which does something of its own before
// an object may go.
const theirs = "example.com/theirs"

// finalizersAct has the other party put its finalizer on a pod or a set, or lift
// one.
func (w *World) finalizersAct() {
	if w.rng.IntN(8) == 0 {
		finalize(w, w.server.sets, w.rng.IntN(2) == 0)
		return
	}
	finalize(w, w.server.pods, w.rng.IntN(2) == 0)
}

// finalize puts the finalizer on an object of a kind, or takes it off one.
func finalize[T object](w *World, t *table[T], put bool) {
	has := func(o T) bool { return slices.Contains(o.GetFinalizers(), theirs) }
	among := slices.DeleteFunc(t.list(), func(o T) bool { return has(o) == put || put && o.GetDeletionTimestamp() != nil })
	if len(among) == 0 {
		return
	}
	o := among[w.rng.IntN(len(among))]
	if put {
		w.note("another party puts its finalizer on %s %s", t.kind, o.GetName())
		w.covered["finalizer put"]++
		_, _ = update(w.server, t, keyOf(o), request{by: invariant.User, uid: o.GetUID()}, func(o T) error {
			o.SetFinalizers(append(o.GetFinalizers(), theirs))
			return nil
		})
		return
	}
	w.note("another party lifts its finalizer from %s %s", t.kind, o.GetName())
	w.covered["finalizer lifted"]++
	_, _ = update(w.server, t, keyOf(o), request{by: invariant.User, uid: o.GetUID()}, func(o T) error {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == theirs }))
		return nil
	})
}

// liftFinalizers takes the finalizer off everything.
func (w *World) liftFinalizers() {
	for _, o := range w.server.pods.list() {
		if slices.Contains(o.Finalizers, theirs) {
			finalize(w, w.server.pods, false)
		}
	}
	for _, o := range w.server.sets.list() {
		if slices.Contains(o.Finalizers, theirs) {
			finalize(w, w.server.sets, false)
		}
	}
}

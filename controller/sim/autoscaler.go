package sim

import (
	"math"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// autoscale has an autoscaler do its round for a set: it reads the scale
// subresource, spreads a load over the groups that are Ready, and writes the
// replicas that the load asks for if they differ. It leaves a set at 0 alone.
func (w *World) autoscale() {
	s, exists := w.server.sets.items[w.at]
	if !exists || s.DeletionTimestamp != nil || *s.Spec.Replicas == 0 || s.Status.Replicas == 0 {
		return
	}
	// Groups that are not Ready count as idle.
	load := w.rng.Float64() * 2 * float64(s.Status.ReadyReplicas) / float64(s.Status.Replicas)
	n := min(max(int32(math.Ceil(load*float64(s.Status.Replicas))), 1), 5)
	if n == *s.Spec.Replicas {
		return
	}
	w.note("autoscaler: %d of %d groups of %s are ready, load %.2f: scale to %d", s.Status.ReadyReplicas, s.Status.Replicas, s.Name, load, n)
	w.covered["autoscaled"]++
	_, _ = update(w.server, w.server.sets, keyOf(s), request{by: invariant.Autoscaler, uid: s.UID, version: s.ResourceVersion, subresource: "scale"}, func(s *v1.LeaderWorkerSet) error {
		s.Spec.Replicas = &n
		s.Generation++
		return nil
	})
}

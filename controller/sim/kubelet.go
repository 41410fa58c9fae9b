package sim

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lws-controller/controller/invariant"
)

// terminate is what a kubelet does next to a pod that is being deleted. Where
// kubelets are slow some pods stop being Ready at once, use up their grace
// period, and end as Failed before they go.
func (w *World) terminate(p *corev1.Pod) func() {
	switch {
	case !w.lingers(p):
		return func() {
			_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.Kubelet, uid: p.UID, force: true})
		}
	case ready(p):
		return func() { w.setReady(p, false) }
	case w.clock.Now().Before(p.DeletionTimestamp.Time):
		return nil
	default:
		return func() {
			w.covered["used up its grace period"]++
			w.podStatus(p, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
		}
	}
}

// lingers says that a terminating pod has yet to use up its grace period: the
// UID decides, so that a pod does not change its mind.
func (w *World) lingers(p *corev1.Pod) bool {
	return w.options.slow && !finished(p) && !strings.HasSuffix(string(p.UID), "0")
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func restartsOf(statuses []corev1.ContainerStatus) int32 {
	if len(statuses) == 0 {
		return 0
	}
	return statuses[0].RestartCount
}

// alarm is when time alone has nodes do something next, zero if never.
func (w *World) alarm() time.Time {
	next := time.Time{}
	for _, n := range w.nodes {
		if at := n.lost.Add(lossNoticed); n.isLost() && w.reportsReady(n) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, p := range w.server.pods.items {
		at := time.Time{}
		n := w.nodes[p.Spec.NodeName]
		if _, ill := w.ail(p); ill {
			continue
		}
		switch {
		case p.DeletionTimestamp != nil && graceOver(p) || p.Spec.NodeName == "":
		case n == nil:
			at = w.nodesGone[p.Spec.NodeName].Add(quarantine)
		case n.isLost():
			at = n.next(p)
		case p.DeletionTimestamp != nil && w.lingers(p):
			at = p.DeletionTimestamp.Time
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

package group

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Node is what the core knows of a node.
type Node struct {
	// Gone: there is no node of that name.
	Gone bool `json:"gone,omitempty"`
	// Ready says so itself. A node of which nothing is heard is not.
	Ready bool `json:"ready,omitempty"`
	// OutOfService: it has the taint by which people say that the machine is off.
	OutOfService bool `json:"outOfService,omitempty"`
}

// ObserveNode reads off a node what the core needs; nil is one that does not exist.
// As for the pod garbage collector, only the key of the taint counts, whatever its
// value and effect.
func ObserveNode(n *corev1.Node) Node {
	if n == nil {
		return Node{Gone: true}
	}
	out := Node{}
	for i := range n.Spec.Taints {
		out.OutOfService = out.OutOfService || n.Spec.Taints[i].Key == corev1.TaintNodeOutOfService
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	return out
}

// Going is a pod that is being deleted.
type Going struct {
	PodRef
	// Node it was bound to, empty if it never was.
	Node string
	// Deadline is when it should have ended: the time in its deletionTimestamp, which
	// is that of the request plus the grace period.
	Deadline time.Time
	// Finalizers hold it whatever its node does.
	Finalizers []string `json:",omitempty"`
}

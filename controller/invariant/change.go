package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// Actor is who made a write.
type Actor string

// The actors. Only what the controller does is judged; the others make the facts.
const (
	Controller          Actor = "controller"
	Scheduler           Actor = "scheduler"
	Kubelet             Actor = "kubelet"
	NodeController      Actor = "node controller"
	PodCollector        Actor = "pod collector"
	Collector           Actor = "collector"
	NamespaceController Actor = "namespace controller"
	Autoscaler          Actor = "autoscaler"
	User                Actor = "user"
	Evictor             Actor = "evictor"
	// DisruptionController computes the status of disruption budgets.
	DisruptionController Actor = "disruption controller"
)

// Verb is what a write does.
type Verb string

// The verbs. A deletion may leave the object in place, terminating.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Object is any API object.
type Object interface {
	metav1.Object
}

// Change is one write that the API server accepted.
type Change struct {
	At   time.Time
	By   Actor
	Verb Verb
	// Subresource is "status" or empty.
	Subresource string
	// Before and After are the object around the write, nil where it does not
	// exist. They are the same where the write changed nothing.
	Before, After Object
	// UID and Version say which preconditions the request carried, Force that it
	// asked for a grace period of 0.
	UID, Version, Force bool
	// Seen is what the author could know; nil: nothing is known about that.
	Seen *Seen
}

// Seen is what the caches of a controller showed when the sync began that made
// the write. What goes wrong because a cache lags is only then the controller's
// fault when a lagging cache must not lead to it.
type Seen struct {
	// Set is the set as cached.
	Set *v1.LeaderWorkerSet
	// Later are the newer versions of the set that may have been cached instead,
	// where that is not known for certain.
	Later []*v1.LeaderWorkerSet
	// Pods is the resource version up to which the cache had seen pods.
	Pods int64
	// Nodes are the nodes that were read live for the write, nil for one that was not
	// there.
	Nodes map[string]*corev1.Node
	// Lost is how the author has lost its lease, zero while it has it.
	Lost Loss
}

// Loss is the loss of a lease.
type Loss struct {
	Process string
	At      time.Time
}

// object is the object that a change is about.
func (c *Change) object() Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Violation is an invariant that does not hold.
type Violation struct {
	// Invariant is its number, such as S3.
	Invariant string
	Message   string
}

func (v Violation) String() string { return v.Invariant + ": " + v.Message }

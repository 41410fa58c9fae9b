package group

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is what an event says.
type Kind string

const (
	// PodObserved: an informer, or an answer to a read, shows the pod like this.
	PodObserved Kind = "PodObserved"
	// PodGone: the pod with this UID does not exist any more.
	PodGone Kind = "PodGone"
	// WriteAccepted: the API server answered a create or patch of ours with this
	// pod. It is folded at once, so that no intent is acted on twice.
	WriteAccepted Kind = "WriteAccepted"
	// DeleteAccepted: the API server accepted our deletion of this UID. The pod
	// counts as terminating from now on, whatever older news arrive.
	DeleteAccepted Kind = "DeleteAccepted"
	// WriteRejected: a request of ours failed. It changes nothing but the
	// journal: what is not observed has not happened.
	WriteRejected Kind = "WriteRejected"
)

// Event is one piece of news about one pod of a group.
type Event struct {
	Kind   Kind  `json:"kind"`
	Worker int32 `json:"worker"`
	// Pod is set for PodObserved and WriteAccepted.
	Pod *Pod `json:"pod,omitempty"`
	// UID and Version say what is gone or was deleted; Version is empty when
	// it is not known.
	UID     types.UID `json:"uid,omitempty"`
	Version string    `json:"version,omitempty"`
	// Cause is the error of a rejected write, or why a write was made.
	Cause string `json:"cause,omitempty"`
}

// Observed is the event for a pod that an informer or a read shows.
func Observed(p Pod) Event { return Event{Kind: PodObserved, Worker: p.Worker, Pod: &p} }

// Accepted is the event for the pod in the answer to a create or patch.
func Accepted(p Pod, why string) Event {
	return Event{Kind: WriteAccepted, Worker: p.Worker, Pod: &p, Cause: why}
}

// Describe says in a line what the event says.
func (e *Event) Describe() string {
	if e.Pod == nil {
		return strings.TrimSpace(fmt.Sprintf("%s worker %d %s %s", e.Kind, e.Worker, e.UID, e.Cause))
	}
	p := e.Pod
	what := fmt.Sprintf("%s %s %s", e.Kind, p.Name, cmp.Or(string(p.Phase), "new"))
	for _, flag := range []struct {
		is   bool
		name string
	}{{p.Ready, "Ready"}, {p.Terminating, "terminating"}, {p.Restarts > 0, fmt.Sprintf("%d restarts", p.Restarts)},
		{p.Stuck != "", p.Stuck}, {p.Disrupted, "disrupted"}} {
		if flag.is {
			what += ", " + flag.name
		}
	}
	return strings.TrimSpace(what + " " + e.Cause)
}

package group

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// State is what has been observed of one group.
type State struct {
	Index   int32
	Journal Journal

	phase       Phase
	since       time.Time
	incarnation int64
	// slots holds the pods by worker index, in order. A slot outlives its pod to
	// remember what is gone.
	slots []slot
}

// slot is one name of a group and the pod that has it, whoever owns the pod.
type slot struct {
	worker int32
	pod    *Pod
	// confirmed: the pod was seen by an informer, not only in an answer to us.
	confirmed bool
	// deleted is the UID whose deletion by us was accepted.
	deleted types.UID
	// goneUID and goneVersion are what was last seen gone. News about that UID,
	// or older than that version, come too late.
	goneUID     types.UID
	goneVersion string
	// awaited: only an answer to us said so, and the informers may still show it.
	awaited bool
}

// NewState returns the state of a group of which nothing has been observed.
func NewState(index int32) *State { return &State{Index: index} }

// Fold takes in one event and reports whether it changed what is known.
func (s *State) Fold(e Event, at time.Time) bool {
	changed := false
	switch e.Kind {
	case PodObserved, WriteAccepted:
		changed = s.slot(e.Worker).observe(e.Pod, e.Kind == PodObserved)
	case PodGone:
		changed = s.slot(e.Worker).gone(e.UID, e.Version)
	case DeleteAccepted:
		changed = s.slot(e.Worker).deleteAccepted(e.UID)
	case WriteRejected:
	}
	if changed || e.Kind == WriteRejected {
		s.Journal.add(Record{At: at, Event: &e})
	}
	return changed
}

func (s *State) slot(worker int32) *slot {
	i, found := slices.BinarySearchFunc(s.slots, worker, func(sl slot, w int32) int { return int(sl.worker) - int(w) })
	if !found {
		s.slots = slices.Insert(s.slots, i, slot{worker: worker})
	}
	return &s.slots[i]
}

// observe replaces what is known of the name iff the news is newer. Resource
// versions of one resource are ordered across objects, so an old pod can never
// replace the next one of its name.
func (sl *slot) observe(p *Pod, confirmed bool) bool {
	if p.UID == sl.goneUID || !newer(p.Version, sl.goneVersion) {
		return false
	}
	if sl.pod != nil && !newer(p.Version, sl.pod.Version) {
		if p.UID == sl.pod.UID && p.Version == sl.pod.Version && confirmed {
			sl.confirmed = true
		}
		return false
	}
	sl.confirmed = confirmed || sl.confirmed && sl.pod != nil && sl.pod.UID == p.UID
	if p.UID == sl.deleted && !p.Terminating {
		known := *p
		known.Terminating = true
		p = &known
	}
	sl.pod = p
	return true
}

func (sl *slot) gone(uid types.UID, version string) bool {
	sl.goneUID, sl.awaited = uid, version == ""
	if newer(version, sl.goneVersion) {
		sl.goneVersion = version
	}
	if sl.pod == nil || sl.pod.UID != uid {
		return false
	}
	sl.pod, sl.confirmed = nil, false
	return true
}

func (sl *slot) deleteAccepted(uid types.UID) bool {
	sl.deleted = uid
	if sl.pod == nil || sl.pod.UID != uid || sl.pod.Terminating {
		return false
	}
	known := *sl.pod
	known.Terminating = true
	sl.pod = &known
	return true
}

// newer says that version a is newer than b. The empty version is the oldest.
// Versions that are no numbers cannot be ordered: the later news wins.
func newer(a, b string) bool {
	if b == "" {
		return true
	}
	if a == "" {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || c > 0
}

// Unconfirmed lists the pods that are known only from answers to our writes. If
// an informer has passed their version and does not know them, they are gone.
func (s *State) Unconfirmed() []*Pod {
	var out []*Pod
	for i := range s.slots {
		if sl := &s.slots[i]; sl.pod != nil && !sl.confirmed {
			out = append(out, sl.pod)
		}
	}
	return out
}

// Pods lists the pods that are known, whoever owns them.
func (s *State) Pods() []*Pod {
	var out []*Pod
	for i := range s.slots {
		if p := s.slots[i].pod; p != nil {
			out = append(out, p)
		}
	}
	return out
}

// Empty says that the group has no pods of anyone, and that nothing need be
// remembered of those it had: no late news can bring one back.
func (s *State) Empty() bool {
	return !slices.ContainsFunc(s.slots, func(sl slot) bool { return sl.pod != nil || sl.awaited })
}

// Reached says that a source which has seen everything up to version `at` has
// seen the given version.
func Reached(at, version string) bool { return at == version || newer(at, version) }

// Snapshot is what is known of the pods, as if they had just been observed. What
// is remembered of pods that are gone, and of deletions by us that no informer
// has shown yet, comes with it.
func (s *State) Snapshot() []Event {
	var out []Event
	for i := range s.slots {
		sl := &s.slots[i]
		if sl.goneUID != "" {
			out = append(out, Event{Kind: PodGone, Worker: sl.worker, UID: sl.goneUID, Version: sl.goneVersion})
		}
		switch {
		case sl.pod == nil:
			continue
		case sl.confirmed:
			out = append(out, Observed(*sl.pod))
		default:
			out = append(out, Accepted(*sl.pod, causeObserved))
		}
		if sl.deleted == sl.pod.UID {
			out = append(out, Event{Kind: DeleteAccepted, Worker: sl.worker, UID: sl.deleted})
		}
	}
	return out
}

package group

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// PodRef names one pod object.
type PodRef struct {
	Worker int32
	Name   string
	UID    types.UID
}

// Foreign is a pod in the way. One that is Leaving will be gone by itself.
type Foreign struct {
	PodRef
	Leaving bool
}

// View is what the pods of one group amount to, for the planner. It depends on
// nothing but the pods, the UID of the set and the size of the group.
type View struct {
	Index int32
	// HasPods: pods of the set exist, of any incarnation, terminating included.
	HasPods bool
	// Incarnation is the highest of these pods; Revision and Size are those of
	// that incarnation.
	Incarnation int64
	Revision    string
	Size        int32

	// Gang is the PodGroup that the pods of this incarnation are scheduled by, OtherGangs
	// those of other pods of the set.
	Gang       string   `json:",omitempty"`
	OtherGangs []string `json:",omitempty"`

	// Leader is the leader pod of this incarnation, nil if it does not exist.
	Leader *Pod
	// Missing are the first workers of this incarnation for which no pod object
	// exists, not more than one plan could ask for.
	Missing []int32
	// Live are the pods of the set that are not terminating, of any incarnation.
	Live []PodRef
	// Stray are live pods that the group should not have: of an earlier
	// incarnation, or with an index beyond its size.
	Stray []PodRef
	// Finished are the live pods of this incarnation that have ended.
	Finished []PodRef
	// Terminating counts the pods of the set that are being deleted, Going are those
	// of them that an informer has shown so.
	Terminating int
	Going       []Going `json:",omitempty"`
	// Whole: every pod of the incarnation exists at one revision, none is
	// terminating.
	Whole bool
	// AllReady: Whole, and every pod Ready.
	AllReady bool
	// AllStarted: every regular container of all pods of this incarnation that exist
	// has run. Restarts is the sum of theirs.
	AllStarted bool
	Restarts   int64
	// NotReadySince is when the first of the pods that are not Ready turned so;
	// zero when it cannot be told.
	NotReadySince time.Time
	// UnplacedSince is from when on the scheduler has found no node for a worker of this
	// incarnation; zero if it has for each.
	UnplacedSince time.Time `json:",omitzero"`
	// Stuck is why a pod of this incarnation cannot run: it has failed, or a
	// container waits for something that does not come by itself.
	Stuck string
	// WaitingFor says what a pod that is not Ready waits for: the first of those
	// that most need somebody's help.
	WaitingFor string
	// LastMove is when a pod of the set was last created, asked to go, or became
	// Ready.
	LastMove time.Time
	// Failure is the first failure, whatever the restart policy, OtherFailures those
	// of other kinds.
	Failure       *Failure
	OtherFailures []*Failure `json:",omitempty"`

	// Orphans have no controller: they may be adopted.
	Orphans []*Pod
	// Foreign are pods that hold names of the group and cannot become its own.
	Foreign []Foreign
}

// EverReady says that the group has been Ready in this incarnation.
func (v *View) EverReady() bool { return v.Leader != nil && v.Leader.GroupReady != nil }

// LeaderReady says that the leader is Ready and stays.
func (v *View) LeaderReady() bool {
	return v.Leader != nil && v.Leader.Ready && !v.Leader.Terminating
}

// View computes what the observed pods amount to. sizes gives the pods per
// group of each revision; where a revision is not in it, the size that the pods
// themselves carry holds.
func (s *State) View(set types.UID, sizes map[string]int32) View {
	v := View{Index: s.Index}
	pods := s.owned(set, &v)
	if len(pods) == 0 {
		return v
	}
	v.HasPods = true
	for _, p := range pods {
		v.Incarnation = max(v.Incarnation, p.Incarnation)
	}
	for _, p := range pods {
		if p.Incarnation == v.Incarnation {
			v.Revision, v.Size = p.Revision, p.Size
			break
		}
	}
	if size, known := sizes[v.Revision]; known {
		v.Size = size
	}
	v.Size = max(v.Size, 1)
	v.gangs(pods)
	v.count(pods)
	if failures := findFailures(pods, &v); len(failures) > 0 {
		v.Failure, v.OtherFailures = failures[0], failures[1:]
	}
	return v
}

// gangs notes the PodGroups that pods of the set refer to.
func (v *View) gangs(pods []*Pod) {
	for _, p := range pods {
		switch {
		case p.Gang == "" || p.Gang == v.Gang || slices.Contains(v.OtherGangs, p.Gang):
		case p.Incarnation == v.Incarnation && v.Gang == "":
			v.Gang = p.Gang
		default:
			v.OtherGangs = append(v.OtherGangs, p.Gang)
		}
	}
}

// owned returns the pods that the set controls and files the others.
func (s *State) owned(set types.UID, v *View) []*Pod {
	pods := make([]*Pod, 0, len(s.slots))
	for i := range s.slots {
		switch p := s.slots[i].pod; {
		case p == nil:
		case p.Controller == set:
			pods = append(pods, p)
		case p.Controller == "" && !p.Terminating:
			v.Orphans = append(v.Orphans, p)
		default:
			v.Foreign = append(v.Foreign, Foreign{p.ref(), p.Terminating || p.OfNamesake})
		}
	}
	return pods
}

// maxMissing bounds Missing: sizes are bounded only by what an int32 holds.
const maxMissing = 1000

// count goes through the pods of the set, which are in the order of their
// indices, and through the indices that should exist.
func (v *View) count(pods []*Pod) {
	v.Whole, v.AllReady, v.AllStarted = true, true, true
	next, timed, worst := int32(0), true, 0
	notReady := func(since time.Time) {
		v.AllReady = false
		timed = timed && !since.IsZero()
		if v.NotReadySince.IsZero() || since.Before(v.NotReadySince) {
			v.NotReadySince = since
		}
	}
	missing := func(upTo int32) {
		for ; next < upTo && len(v.Missing) < maxMissing; next++ {
			v.Whole = false
			notReady(time.Time{})
			if next > 0 {
				v.Missing = append(v.Missing, next)
			}
		}
		next = max(next, upTo)
	}
	for _, p := range pods {
		missing(min(p.Worker, v.Size))
		next = max(next, p.Worker+1)
		if p.Terminating {
			v.Terminating++
			v.going(p)
		} else {
			v.Live = append(v.Live, p.ref())
		}
		current := p.Incarnation == v.Incarnation && p.Worker < v.Size
		switch {
		case !current && p.Terminating:
		case !current:
			v.Stray = append(v.Stray, p.ref())
		case p.Worker == 0:
			v.Leader = p
		}
		if current {
			v.AllStarted = v.AllStarted && p.Started
			v.Restarts += p.Restarts
		}
		if since := p.UnscheduledSince; current && p.Worker > 0 && !p.Terminating && !since.IsZero() && (v.UnplacedSince.IsZero() || since.Before(v.UnplacedSince)) {
			v.UnplacedSince = since
		}
		if current && p.finished() && !p.Terminating {
			v.Finished = append(v.Finished, p.ref())
		}
		if current && p.Phase == corev1.PodFailed {
			v.Stuck = string(corev1.PodFailed)
		} else if current && p.Stuck != "" {
			v.Stuck = p.Stuck
		}
		if p.Terminating || !current || p.Revision != v.Revision {
			v.Whole = false
		}
		v.LastMove = latest(v.LastMove, p.lastMove())
		if current && !p.Ready {
			notReady(p.ReadyChanged)
			if why, need := p.waitingFor(); need > worst {
				v.WaitingFor, worst = why, need
			}
		}
	}
	missing(v.Size)
	v.AllReady = v.AllReady && v.Whole
	if !timed {
		v.NotReadySince = time.Time{}
	}
}

// going notes a pod that is being deleted. While only the answer to our request says
// so, its deadline is not known.
func (v *View) going(p *Pod) {
	if !p.Deadline.IsZero() {
		v.Going = append(v.Going, Going{PodRef: p.ref(), Node: p.Node, Deadline: p.Deadline, Finalizers: p.Finalizers})
	}
}

// waitingFor says in words why the pod is not Ready, and how much it needs somebody's
// help: one that cannot run is often why its mates are not Ready either.
func (p *Pod) waitingFor() (why string, need int) {
	switch {
	case p.Terminating:
		return fmt.Sprintf("pod %s to be gone", p.Name), 2
	case p.finished() && p.Trouble != "":
		return fmt.Sprintf("pod %s, which has ended with phase %s: %s", p.Name, p.Phase, p.Trouble), 3
	case p.finished():
		return fmt.Sprintf("pod %s, which has ended with phase %s", p.Name, p.Phase), 3
	case p.Node == "" && p.Unscheduled != "":
		return fmt.Sprintf("pod %s: %s", p.Name, p.Unscheduled), 3
	case p.Stuck != "":
		return fmt.Sprintf("pod %s: %s", p.Name, p.Trouble), 3
	case p.Trouble != "":
		return fmt.Sprintf("pod %s: %s", p.Name, p.Trouble), 2
	default:
		return fmt.Sprintf("pod %s to become Ready", p.Name), 1
	}
}

// lastMove is when the pod was last created, asked to go, or became Ready.
func (p *Pod) lastMove() time.Time {
	at := latest(p.Created, p.Deleted)
	if p.Ready {
		at = latest(at, p.ReadyChanged)
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *Pod) ref() PodRef { return PodRef{Worker: p.Worker, Name: p.Name, UID: p.UID} }

// PhaseOf computes the phase from what is observed. wanted says that the index
// is to exist; entry is the teardown under way, if any; spent says that the
// restart budget of the group is used up.
func PhaseOf(v *View, wanted bool, entry *v1.RecyclingGroup, spent bool) Phase {
	switch {
	case !v.HasPods && !wanted:
		return Gone
	case entry != nil && (v.HasPods || !wanted) && v.Incarnation <= entry.Incarnation:
		return Recycling
	case spent:
		return Failed
	case !v.LeaderReady():
		return Pending
	case len(v.Missing) > 0:
		return LeaderReady
	case !v.AllReady:
		return WorkersStarting
	default:
		return Ready
	}
}

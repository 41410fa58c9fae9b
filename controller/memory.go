package controller

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/metrics"
	"lws-controller/revision"
)

// memory is what is kept of one set. All of it can be lost at any time: what must
// survive stands in API objects.
type memory struct {
	key types.NamespacedName

	// inbox takes what the informers deliver until the next sync.
	inboxMu sync.Mutex
	inbox   []delivery

	// mu guards what follows against readers; only the sync of the key writes.
	mu sync.Mutex
	// set is the newest known: from the cache or from an answer to us.
	set *v1.LeaderWorkerSet
	// steering is what its annotations ask for, unread what of them could not be
	// understood.
	steering rollout.Steering
	unread   []rollout.SteeringProblem
	// groups are those of which a pod is or was known, by ascending index.
	groups []*tracked
	// history is parsed from the revisions with these versions.
	history         *revision.History
	historyVersions string
	// confirmedLost are the revisions that are in use and were not there on a live
	// look, with the versions of the history then.
	confirmedLost string
	// update and current are the revisions of the last sync.
	update, current string
	// revisionTries is how often the name of the present revision was taken.
	revisionTries int
	// withheld is why no pods are created, nil if they are.
	withheld *Withheld
	// unstored: the API server refuses to store the revision of the present spec.
	unstored hold
	// held are the groups for which nothing is created for a while.
	held map[int32]hold
	// made are Services from answers to us, until the cache has passed them.
	made map[string]*corev1.Service
	// heldServices are names that something foreign holds.
	heldServices map[string]hold
	// heldGangs are PodGroups of pods that run, which cannot be created for a while;
	// unpatched are Volcano's PodGroups that do not become what they should be, with the
	// patch that failed.
	heldGangs, unpatched map[string]hold
	// disruption is what is known of the PodDisruptionBudget besides the cache.
	disruption disruptionMemory
	// pruned is the status as it was last meant, while the stored CRD drops what it
	// does not know; nil: all is well. probeAt is when that is tried again.
	pruned  *v1.LeaderWorkerSetStatus
	probeAt time.Time
	// reset: the restart counts are reset for the annotation recover that is on the
	// set, as many as wereReset.
	reset     bool
	wereReset int
	// spent are groups that have come to be left as they are, with what is to be
	// announced about them.
	spent map[int32]string
	// refusedDeletions are the pods whose deletion was refused the last time.
	refusedDeletions map[types.UID]bool
	// blocked are the groups that wait for a name, as of the last plan.
	blocked []rollout.Blocked
	// stuck are the groups with pods that should have ended, as of the last status.
	stuck []rollout.Stuck
	// warned are the notes of Warning events that need no repetition.
	warned map[string]string
	// journalEpoch is the journal file that the set has begun in.
	journalEpoch int
	// look is the last live look at the pods; nil: another is due before anything
	// is done.
	look *look
	// statusWritten is when counts were last written.
	statusWritten time.Time
	// tally is the recount of the last status, rollout when the last rollout was.
	tally   *rollout.Tally
	rollout rolloutTimes
	// told is what the gauges tell of the set, nil as long as it has no status.
	told atomic.Pointer[metrics.Set]
}

type delivery struct {
	index int32
	event group.Event
	freed bool
}

// tracked is one group and what it amounted to when last looked at.
type tracked struct {
	state *group.State
	view  group.View
	// stale: the view must be made anew.
	stale bool
	// unconfirmed: pods are known only from answers to us.
	unconfirmed bool
	// found: what is known was so before this process looked; untimed: since when the
	// group is in its phase is not known.
	found, untimed bool
	// torn is the last teardown, until the group is Ready again.
	torn *teardown
}

// hold keeps a group from getting pods, or a Service from being created.
type hold struct {
	reason  string
	message string
	until   time.Time
	tries   int
}

const (
	firstHold = time.Second
	maxHold   = time.Minute
)

// next is the hold after one more refusal: 1 s, 2 s, 4 s, ... 1 min.
func (h hold) next(reason, message string, now time.Time) hold {
	delay := min(firstHold<<min(h.tries, 10), maxHold)
	return hold{reason: reason, message: message, until: now.Add(delay), tries: h.tries + 1}
}

func newMemory(key types.NamespacedName) *memory {
	return &memory{key: key, held: map[int32]hold{}, made: map[string]*corev1.Service{}, heldServices: map[string]hold{}, warned: map[string]string{}, spent: map[int32]string{}, heldGangs: map[string]hold{}, unpatched: map[string]hold{}}
}

func (m *memory) deliver(d delivery) {
	m.inboxMu.Lock()
	defer m.inboxMu.Unlock()
	m.inbox = append(m.inbox, d)
}

func (m *memory) takeInbox() []delivery {
	m.inboxMu.Lock()
	defer m.inboxMu.Unlock()
	taken := m.inbox
	m.inbox = nil
	return taken
}

// observeSet takes in the set if it is newer than what is known, and reports
// whether that happened. A set of another UID has other pods, and a new
// generation deserves a new try at what was refused.
func (m *memory) observeSet(set *v1.LeaderWorkerSet) bool {
	if m.set != nil && (m.set.ResourceVersion == set.ResourceVersion ||
		!group.Reached(set.ResourceVersion, m.set.ResourceVersion)) {
		return false
	}
	if m.set == nil || m.set.UID != set.UID {
		for _, t := range m.groups {
			t.stale = true
		}
		clear(m.warned)
		clear(m.made)
		m.disruption = disruptionMemory{}
		m.rollout = rolloutTimes{}
	}
	if m.set == nil || m.set.UID != set.UID || m.set.Generation != set.Generation {
		clear(m.held)
		clear(m.heldServices)
		clear(m.heldGangs)
		clear(m.unpatched)
		m.unstored = hold{}
	}
	m.notice(set)
	m.set = m.whole(set)
	m.steering, m.unread = rollout.ReadSteering(set.Annotations)
	if !m.steering.Recover {
		m.reset, m.wereReset = false, 0
	}
	return true
}

// group returns the group of this index, making it if need be.
func (m *memory) group(index int32) *tracked {
	i, found := slices.BinarySearchFunc(m.groups, index, func(t *tracked, i int32) int { return cmp.Compare(t.state.Index, i) })
	if !found {
		m.groups = slices.Insert(m.groups, i, &tracked{state: group.NewState(index), stale: true})
	}
	return m.groups[i]
}

// finds has all that was just taken in be no news.
func (m *memory) finds() {
	for _, t := range m.groups {
		t.found = t.found || t.stale
	}
}

// fold takes one event into its group.
func (c *Controller) fold(m *memory, index int32, e group.Event, at time.Time) {
	c.journalEvent(m, index, e, at)
	t := m.group(index)
	if t.state.Fold(e, at) {
		t.stale = true
	}
	if e.Kind == group.WriteAccepted {
		t.unconfirmed = true
	}
}

// memories are the memories of all sets.
type memories struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*memory
}

// get returns the memory of a set, nil if there is none.
func (s *memories) get(key types.NamespacedName) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[key]
}

// ensure returns the memory of a set and whether it is new. From then on events
// are delivered to it.
func (s *memories) ensure(key types.NamespacedName) (m *memory, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byKey[key]; m != nil {
		return m, false
	}
	m = newMemory(key)
	if s.byKey == nil {
		s.byKey = map[types.NamespacedName]*memory{}
	}
	s.byKey[key] = m
	return m, true
}

func (s *memories) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
}

// all returns the memories of all sets, ordered by key.
func (s *memories) all() []*memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*memory, 0, len(s.byKey))
	for _, m := range s.byKey {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *memory) int { return cmp.Compare(a.key.String(), b.key.String()) })
	return out
}

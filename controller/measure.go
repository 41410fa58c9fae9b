package controller

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/metrics"
)

// State is what the gauges are made from. It waits for no sync: each leaves its set as
// it is told of, and nothing else changes what is known. A replica that does not lead
// tells of no set, so that sums over replicas are right.
func (c *Controller) State() metrics.State {
	s := metrics.State{Now: c.Clock.Now(), Leading: c.running.Load()}
	if !s.Leading {
		return s
	}
	s.Fenced = c.Fenced() != ""
	s.Unsynced = c.backlog.ages(s.Now)
	for _, m := range c.memories.all() {
		if set := m.told.Load(); set != nil {
			s.Sets = append(s.Sets, set)
		}
	}
	return s
}

// add has the set synced, and takes down since when.
func (c *Controller) add(set types.NamespacedName) {
	if c.Metrics != nil && c.running.Load() {
		c.backlog.news(set, c.Clock.Now())
	}
	c.queue.Add(set)
}

// backlog is since when sets have been waiting for a sync that comes to its end.
type backlog struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]*waits
}

// waits of one set.
type waits struct {
	// since are the first news that no complete sync has followed.
	since time.Time
	// next are the first news since the last sync began, zero if there are none.
	next time.Time
}

func (b *backlog) of(set types.NamespacedName, now time.Time) *waits {
	w := b.bySet[set]
	if w == nil {
		w = &waits{since: now}
		if b.bySet == nil {
			b.bySet = map[types.NamespacedName]*waits{}
		}
		b.bySet[set] = w
	}
	return w
}

func (b *backlog) news(set types.NamespacedName, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.of(set, now); w.next.IsZero() {
		w.next = now
	}
}

// begin says that a sync begins, and returns when the first of the news came that it
// takes in, zero if there are none: it may be due to a wake-up.
func (b *backlog) begin(set types.NamespacedName, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(set, now)
	news := w.next
	w.next = time.Time{}
	return news
}

// end says that a sync has ended. What came meanwhile waits for the next.
func (b *backlog) end(set types.NamespacedName, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.bySet[set]
	switch {
	case w == nil || !complete: // gone, or still waiting
	case w.next.IsZero():
		delete(b.bySet, set)
	default:
		w.since = w.next
	}
}

func (b *backlog) forget(set types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bySet, set)
}

func (b *backlog) ages(now time.Time) map[types.NamespacedName]time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[types.NamespacedName]time.Duration, len(b.bySet))
	for set, w := range b.bySet {
		out[set] = now.Sub(w.since)
	}
	return out
}

// answer is the time of news that no write has followed yet.
type answer struct {
	once  sync.Once
	since time.Time
}

type answerKey struct{}

// measured has a sync be told to the metrics.
func (c *Controller) measured(ctx context.Context, key types.NamespacedName, run func(context.Context) (Wait, error)) (Wait, error) {
	if c.Metrics == nil {
		return run(ctx)
	}
	begun := c.Clock.Now()
	if news := c.backlog.begin(key, begun); !news.IsZero() {
		ctx = context.WithValue(ctx, answerKey{}, &answer{since: news})
	}
	wait, err := run(ctx)
	c.backlog.end(key, wait.complete && err == nil)
	c.Metrics.Synced(c.Clock.Since(begun), err)
	return wait, err
}

// wrote is told of every write, and of the first one that answers news.
func (c *Controller) wrote(ctx context.Context, kind, verb string, err error) {
	c.Metrics.Wrote(kind, verb, err)
	if a, ok := ctx.Value(answerKey{}).(*answer); ok && err == nil {
		a.once.Do(func() { c.Metrics.Answered(c.Clock.Since(a.since)) })
	}
}

// tell leaves the set as it is now for the gauges.
func (c *Controller) tell(m *memory) {
	if c.Metrics == nil || m.tally == nil {
		return
	}
	if took := m.rollout.look(&m.set.Status); took > 0 {
		c.Metrics.RolledOut(took)
	}
	s := &m.set.Status
	set := &metrics.Set{NamespacedName: m.key, Phases: m.tally.Phases, Oldest: map[group.Phase]time.Time{},
		Desired: m.replicas(), Exist: m.tally.Exist, Ready: m.tally.Ready, Updated: m.tally.Updated, Progress: m.progress(),
		RolloutStart: m.rollout.start, RolloutEnd: m.rollout.end,
		Current: s.CurrentRevision, Update: s.UpdateRevision,
		Paused:  isTrue(s, v1.ConditionRolloutPaused) != nil,
		Stalled: isTrue(s, v1.ConditionStalled) != nil,
	}
	if d := isTrue(s, v1.ConditionDegraded); d != nil {
		set.Degraded = d.Reason
	}
	for i := range s.GroupRestarts {
		set.Restarts = max(set.Restarts, s.GroupRestarts[i].Count-s.GroupRestarts[i].Settled)
	}
	for _, t := range m.groups {
		phase, since := t.state.Phase()
		if oldest, some := set.Oldest[phase]; !some || since.Before(oldest) {
			set.Oldest[phase] = since
		}
		if c.MetricsPerGroup {
			set.Groups = append(set.Groups, metrics.Group{Index: strconv.Itoa(int(t.state.Index)), Phase: phase, Since: since})
		}
	}
	m.told.Store(set)
}

// progress is the share of the groups that are to have the update revision that have it
// and are Ready.
func (m *memory) progress() float64 {
	partition := min(max(*m.steering.Rolling(&m.set.Spec, m.replicas()).Partition, 0), m.replicas())
	if partition == m.replicas() {
		return 1
	}
	done := 0
	for _, t := range m.groups {
		phase, _ := t.state.Phase()
		if t.state.Index >= partition && t.state.Index < m.replicas() && phase == group.Ready && t.view.Revision == m.update {
			done++
		}
	}
	return float64(done) / float64(m.replicas()-partition)
}

// rolloutTimes are those of the rollout under way or of the last one, as far as they
// are known.
type rolloutTimes struct {
	looked     bool
	start, end time.Time
}

// look takes in a status and returns how long the rollout took that it shows the end
// of, 0 if it does not: all groups are where they are to be, and Ready. A pause ends
// none, nor does another spec on the way.
func (r *rolloutTimes) look(s *v1.LeaderWorkerSetStatus) (took time.Duration) {
	first := !r.looked
	r.looked = true
	c := meta.FindStatusCondition(s.Conditions, v1.ConditionUpdateInProgress)
	done := isTrue(s, v1.ConditionProgressing) == nil && isTrue(s, v1.ConditionRolloutPaused) == nil
	switch {
	case c == nil:
	case isTrue(s, v1.ConditionUpdateInProgress) != nil:
		if r.start.IsZero() || !r.end.IsZero() {
			r.start, r.end = c.LastTransitionTime.Time, time.Time{}
		}
	case done && first:
		r.end = c.LastTransitionTime.Time // when it began is not to be seen any more
	case done && !r.start.IsZero() && r.end.IsZero():
		r.end = c.LastTransitionTime.Time
		if p := meta.FindStatusCondition(s.Conditions, v1.ConditionProgressing); p != nil && p.LastTransitionTime.After(r.end) {
			r.end = p.LastTransitionTime.Time
		}
		// The times of conditions are in seconds.
		return max(r.end.Sub(r.start), time.Millisecond)
	}
	return 0
}

// teardown is one that is on record, until the next incarnation is Ready.
type teardown struct {
	cause       string
	incarnation int64
	at          time.Time
}

// countTeardowns counts those that have come on record.
func (c *Controller) countTeardowns(m *memory, started []rollout.Recycle) {
	now := c.Clock.Now()
	for _, r := range started {
		reason := ""
		if r.Failure != nil {
			reason = r.Failure.Reason
		}
		c.Metrics.Recreating(m.key, string(r.Entry.Cause), reason)
		if c.Metrics != nil {
			m.group(r.Entry.Index).torn = &teardown{string(r.Entry.Cause), r.Entry.Incarnation, now}
		}
	}
}

// countMoves counts what has happened to a group. What is found when this process first
// looks has happened before, and been counted, if at all, by whoever led then.
func (c *Controller) countMoves(t *tracked, entry *v1.RecyclingGroup, moves []group.Transition, now time.Time) {
	if c.Metrics == nil {
		return
	}
	if t.found {
		t.found, t.untimed = false, true
		if entry != nil {
			t.torn = &teardown{string(entry.Cause), entry.Incarnation, entry.StartedAt.Time}
		}
		return
	}
	for i, move := range moves {
		// Phases that were passed since the last look have no time.
		c.Metrics.Moved(move.From, move.To, move.After.Duration, i == 0 && !t.untimed)
		t.untimed = false
		if move.To != group.Ready {
			continue
		}
		if t.view.Leader != nil && !t.view.EverReady() {
			c.Metrics.Started(now.Sub(t.view.Leader.Created))
		}
		if t.torn != nil && t.view.Incarnation > t.torn.incarnation {
			c.Metrics.Recreated(t.torn.cause, now.Sub(t.torn.at))
		}
		t.torn = nil
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/metrics"
)

const (
	// syncWrites is how many pods one sync creates or deletes at most, syncTime
	// how long it may start new requests. What is left is done in the next one.
	syncWrites = 500
	syncTime   = 2 * time.Second
	// maxEntries is how many teardowns fit into the status.
	maxEntries = 2000
	// staleDelay is how long a sync waits for a cache that lags behind our writes.
	staleDelay = 10 * time.Millisecond
	// conflictDelay is how long a sync waits for the news that made its write of
	// the status fail.
	conflictDelay = 100 * time.Millisecond
	// fencedDelay is how long a sync waits while another controller is at work.
	fencedDelay = 5 * time.Second
	// confirmDelay is how long a pod known only from an answer goes unexamined.
	confirmDelay = time.Second
)

// Sync brings one set a step closer to its spec. It is called for one key at a
// time.
func (c *Controller) Sync(ctx context.Context, key types.NamespacedName) (Wait, error) {
	return c.measured(ctx, key, func(ctx context.Context) (Wait, error) { return c.sync(ctx, key) })
}

func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (Wait, error) {
	if c.isFenced(ctx) {
		return Wait{After: fencedDelay}, nil
	}
	set, exists := c.Cache.Set(key)
	if !exists || set.DeletionTimestamp != nil {
		// The garbage collector takes it from here.
		c.forget(key)
		return Wait{complete: true}, nil
	}
	m, isNew := c.memories.ensure(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := c.Clock.Now()
	m.observeSet(set)
	if m.set.DeletionTimestamp != nil {
		c.forget(key)
		return Wait{complete: true}, nil
	}
	defer c.tell(m)
	c.journalBegin(m, now)
	if isNew {
		c.Cache.Events(key, func(index int32, e group.Event) { c.fold(m, index, e, now) })
		m.finds()
		c.Metrics.Known(key)
	}
	return c.syncSet(ctx, m, now)
}

// isFenced says that another controller is at work. A change is logged once.
func (c *Controller) isFenced(ctx context.Context) bool {
	if c.Fence == nil {
		return false
	}
	why := c.Fence(c.Clock.Now())
	if before := c.fenced.Swap(&why); before == nil && why != "" || before != nil && *before != why {
		if why != "" {
			klog.FromContext(ctx).Info("Another controller of LeaderWorkerSets is at work: nothing is written", "reason", why)
		} else {
			klog.FromContext(ctx).Info("No other controller of LeaderWorkerSets is at work any more")
		}
	}
	return why != ""
}

// Fenced says why nothing is written, as of the last sync.
func (c *Controller) Fenced() string {
	if why := c.fenced.Load(); why != nil {
		return *why
	}
	return ""
}

// behind says that a cache has not yet seen what we wrote for the set, of what is listed
// without knowing names.
func (c *Controller) behind(key types.NamespacedName) bool {
	for _, cache := range []struct {
		kind informers.Kind
		name string
	}{{informers.Revisions, metrics.CacheRevisions}, {informers.PodGroups, metrics.CachePodGroups}, {informers.VolcanoGroups, metrics.CachePodGroups},
		{informers.Workloads, metrics.CacheWorkloads}} {
		if c.gate.Behind(key, cache.kind) {
			c.Metrics.Stale(cache.name)
			return true
		}
	}
	return false
}

func (c *Controller) forget(key types.NamespacedName) {
	c.memories.forget(key)
	c.gate.Forget(key)
	c.awaited.set(key, nil)
	c.backlog.forget(key)
	c.Metrics.Forget(key)
}

func (c *Controller) syncSet(ctx context.Context, m *memory, now time.Time) (Wait, error) {
	var wait Wait
	if c.behind(m.key) {
		wait.sooner(staleDelay)
		return wait, nil
	}
	err := c.settleRevisions(ctx, m, now, &wait)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The name is that of a revision of a set that is gone, or a cache lags: the
		// news about it will bring us back.
		klog.FromContext(ctx).V(4).Info("Waiting for revisions", "reason", err.Error())
		c.Metrics.Stale(metrics.CacheRevisions)
		wait.sooner(confirmDelay)
		return wait, nil
	}
	if err != nil {
		return wait, fmt.Errorf("settling the revisions: %w", err)
	}
	for _, problem := range m.unread {
		// Events about one version of a set that differ in nothing but the note are
		// taken for one that repeats.
		c.warn(m, problem.Annotation, "InvalidAnnotation", "Read/"+problem.Annotation, "%s", problem.Error())
	}
	over, errs := c.onRequest(ctx, m, &wait)
	if over {
		return wait, errors.Join(errs...)
	}
	c.receive(m, now, &wait)
	if err := c.adopt(ctx, m, now); apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// A pod that could not be adopted yet is not missing: nothing is planned
		// before its latest state is known.
		c.Metrics.Stale(metrics.CachePods)
		wait.sooner(confirmDelay)
		return wait, nil
	} else if err != nil {
		return wait, fmt.Errorf("adopting pods: %w", err)
	}
	c.lookAgain(ctx, m, now)
	if err := c.confirmLost(ctx, m, now); err != nil {
		return wait, err
	}

	planned := now
	plan := c.plan(m, now)
	surplus := m.surplus()
	if stands, err := c.firstLook(ctx, m, acts(&plan) || len(surplus) > 0, now, &wait); !stands {
		return wait, err
	}
	settled, err := c.settleBudget(ctx, m, &plan, now, &wait)
	if err != nil {
		errs = append(errs, err)
	}
	if !settled {
		return wait, errors.Join(errs...)
	}
	// Nothing is deleted before the reason for it is on record.
	err = c.ahead(ctx, m, &plan, now)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		c.Metrics.Stale(metrics.CacheSets)
		wait.sooner(conflictDelay)
		return wait, nil
	} else if err != nil {
		return wait, fmt.Errorf("recording teardowns: %w", err)
	}
	errs = append(errs, c.execute(ctx, m, &plan, &wait)...)
	m.blocked = plan.Blocked
	for _, b := range plan.Blocked {
		if _, reported := m.heldServices[b.Name]; !reported {
			c.warnBlocked(m, b)
		}
	}

	// The status is computed also when acting failed.
	now = c.Clock.Now()
	c.lookAgain(ctx, m, now)
	m.pruneHolds(&plan, planned, now, &wait)
	if err := c.writeStatus(ctx, m, now, &wait); err != nil {
		errs = append(errs, fmt.Errorf("writing the status: %w", err))
	} else {
		c.announceSpent(m)
	}
	c.warnStuck(m)
	if err := c.truncate(ctx, m, surplus); err != nil {
		errs = append(errs, err)
	}
	if plan.Partial {
		wait.Again = true
	}
	if !plan.WakeAt.IsZero() {
		wait.sooner(plan.WakeAt.Sub(now))
	}
	if m.pruned != nil {
		wait.sooner(m.probeAt.Sub(now))
	}
	wait.complete = true
	return wait, errors.Join(errs...)
}

// plan asks the planner what to do now.
func (c *Controller) plan(m *memory, now time.Time) rollout.Plan {
	in := c.input(m, now)
	plan := rollout.Make(in)
	c.journalPlan(m, in, plan)
	if c.Planned != nil {
		c.Planned(m.key, in, plan)
	}
	return plan
}

// pruneHolds drops the holds that nothing waits for any more, and asks for the
// next try of the others. What ran out since the plan was made has its try ahead.
func (m *memory) pruneHolds(plan *rollout.Plan, planned, now time.Time, wait *Wait) {
	for _, t := range m.groups {
		if t.view.Whole {
			delete(m.held, t.state.Index)
		}
	}
	for index, h := range m.held {
		switch {
		case index >= m.replicas()+m.budget().Surge:
			delete(m.held, index)
		case planned.Before(h.until):
			wait.sooner(h.until.Sub(now))
		case !slices.ContainsFunc(plan.Create, func(c rollout.Creation) bool { return c.Index == index }):
			delete(m.held, index) // a surge group that is not needed any more
		}
	}
	for name, h := range m.heldServices {
		if planned.Before(h.until) {
			wait.sooner(h.until.Sub(now))
		} else if !slices.ContainsFunc(plan.CreateServices, func(s rollout.ServiceWanted) bool { return s.Name == name }) {
			delete(m.heldServices, name)
		}
	}
}

// receive folds what the informers have delivered, and settles pods that are
// known only from answers to us: if the cache has passed them and does not hold
// them, they are gone.
func (c *Controller) receive(m *memory, now time.Time, wait *Wait) {
	for _, d := range m.takeInbox() {
		if d.freed {
			delete(m.held, d.index)
			continue
		}
		if !m.look.outdated(&d.event) {
			c.fold(m, d.index, d.event, now)
		}
	}
	for _, t := range m.groups {
		if !t.unconfirmed {
			continue
		}
		t.unconfirmed = false
		for _, p := range t.state.Unconfirmed() {
			t.unconfirmed = true
			key := types.NamespacedName{Namespace: m.key.Namespace, Name: p.Name}
			if !c.Cache.Passed(informers.Pods, p.Version) {
				continue
			}
			if cached, exists := c.Cache.Pod(key); !exists || cached.UID != p.UID {
				c.fold(m, t.state.Index, group.Event{Kind: group.PodGone, Worker: p.Worker, UID: p.UID, Version: p.Version}, now)
			}
		}
		if t.unconfirmed {
			wait.sooner(confirmDelay)
		}
	}
}

// lookAgain makes the views of the groups that have changed, records their moves
// between phases, and drops groups of which nothing is left.
func (c *Controller) lookAgain(ctx context.Context, m *memory, now time.Time) {
	sizes, entries, judged := m.sizes(), m.entries(), m.judged()
	kept := m.groups[:0]
	for _, t := range m.groups {
		if t.stale {
			t.view = t.state.View(m.set.UID, sizes)
			t.stale = false
		}
		c.move(ctx, m, t, entries[t.state.Index], judged.SpentBy(&t.view), now)
		if t.state.Index >= m.replicas() && t.state.Empty() {
			continue
		}
		kept = append(kept, t)
	}
	clear(m.groups[len(kept):])
	m.groups = kept
}

// move records the phase that a group has come to, one log line for each step.
func (c *Controller) move(ctx context.Context, m *memory, t *tracked, entry *v1.RecyclingGroup, spent *rollout.Spent, now time.Time) {
	index := t.state.Index
	phase, cause := group.PhaseOf(&t.view, index < m.replicas(), entry, spent != nil), ""
	if phase == group.Recycling {
		cause = string(entry.Cause)
	}
	incarnation := t.view.Incarnation
	if !t.view.HasPods && entry != nil && phase == group.Pending {
		incarnation = entry.Incarnation + 1
	}
	// What is found at the start is no news.
	verbosity := 0
	before, _ := t.state.Phase()
	if before == "" {
		verbosity = 2
	}
	if phase == group.Failed && before != phase {
		m.noteSpent(spent, before == "")
	}
	moves, err := t.state.Move(phase, incarnation, cause, now)
	c.journalMoves(m, index, moves)
	c.countMoves(t, entry, moves, now)
	logger := klog.FromContext(ctx)
	for _, move := range moves {
		logger.V(verbosity).Info("Group changed phase", "group", index, "incarnation", incarnation,
			"from", move.From, "to", move.To, "cause", move.Cause, "after", move.After.Duration)
	}
	if err != nil {
		logger.Error(err, "Group made an undeclared move", "group", index)
		c.Metrics.Undeclared()
	}
}

package controller

import (
	"context"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

// probeEvery is how often a CRD that drops what is written is tried again.
const probeEvery = 30 * time.Second

// ahead puts the teardowns that a plan begins on record, before anything of it is done.
// Where the CRD drops the record, the plan is made anew: memory has to do for what
// cannot wait, which are failures and groups that are not wanted, and nothing else is
// begun.
func (c *Controller) ahead(ctx context.Context, m *memory, plan *rollout.Plan, now time.Time) error {
	if !plan.Ahead {
		return nil
	}
	recorded, err := c.recordAhead(ctx, m, plan, now)
	if err == nil && !recorded {
		if *plan = c.plan(m, now); plan.Ahead {
			_, err = c.recordAhead(ctx, m, plan, now)
		}
	}
	if err != nil || !plan.Ahead {
		return err
	}
	c.announceTeardowns(ctx, m, plan.Started)
	c.lookAgain(ctx, m, now)
	return nil
}

// recordAhead stores the teardowns and restart counts of a plan, and reports whether
// there is a record of them now: memory is one only for plans that were made for it.
func (c *Controller) recordAhead(ctx context.Context, m *memory, plan *rollout.Plan, now time.Time) (bool, error) {
	in := c.input(m, now)
	s := m.status(in, now)
	s.Recycling, s.GroupRestarts = plan.Recycling, plan.Restarts
	if in.Unrecorded {
		m.keep(s)
		return true, nil
	}
	before := m.set.Status.DeepCopy()
	if err := c.patchStatus(ctx, m, s); err != nil {
		return false, err
	}
	if m.pruned == nil {
		return true, nil
	}
	s.Recycling, s.GroupRestarts = before.Recycling, before.GroupRestarts
	m.keep(s)
	return false, nil
}

// keep has memory stand in for the fields of the status that the CRD drops.
func (m *memory) keep(s *v1.LeaderWorkerSetStatus) {
	m.pruned = inSeconds(s)
	m.set = m.whole(m.set)
}

// inSeconds has the times of a status as the API server would give them back: a plan
// must not depend on where they were kept.
func inSeconds(s *v1.LeaderWorkerSetStatus) *v1.LeaderWorkerSetStatus {
	s = s.DeepCopy()
	for i := range s.Recycling {
		s.Recycling[i].StartedAt = s.Recycling[i].StartedAt.Rfc3339Copy()
	}
	for i := range s.GroupRestarts {
		s.GroupRestarts[i].LastAt = s.GroupRestarts[i].LastAt.Rfc3339Copy()
	}
	return s
}

// noteAnswer compares what was written with the answer: an older CRD drops in silence
// what it does not know.
func (m *memory) noteAnswer(sent, got *v1.LeaderWorkerSetStatus, now time.Time) {
	m.pruned = nil
	if lacks(got, sent) {
		m.pruned, m.probeAt = inSeconds(sent), now.Add(probeEvery)
	}
}

// lacks says that fields of ours were dropped.
func lacks(got, want *v1.LeaderWorkerSetStatus) bool {
	return got.UpdateRevision != want.UpdateRevision || got.CurrentRevision != want.CurrentRevision ||
		got.EstablishedReplicas != want.EstablishedReplicas || (got.Groups == nil) != (want.Groups == nil) ||
		len(got.Recycling) != len(want.Recycling) || len(got.GroupRestarts) != len(want.GroupRestarts)
}

// notice finds out that somebody else's write has cost the set what its CRD drops: the
// counts by phase are there from the first status on.
func (m *memory) notice(set *v1.LeaderWorkerSet) {
	switch {
	case m.set == nil || m.set.UID != set.UID:
		m.pruned = nil
	case m.pruned == nil && m.set.Status.Groups != nil && set.Status.Groups == nil:
		m.pruned = m.set.Status.DeepCopy()
	}
}

// whole is the set with what its CRD drops from the status as it was last meant.
func (m *memory) whole(set *v1.LeaderWorkerSet) *v1.LeaderWorkerSet {
	if m.pruned == nil {
		return set
	}
	out := set.DeepCopy()
	ownFields(&out.Status, m.pruned)
	return out
}

// asStored is the set without what memory stands in for.
func (m *memory) asStored() *v1.LeaderWorkerSet {
	if m.pruned == nil {
		return m.set
	}
	out := m.set.DeepCopy()
	ownFields(&out.Status, &v1.LeaderWorkerSetStatus{})
	return out
}

// ownFields sets the fields that no other version of the API has.
func ownFields(s, from *v1.LeaderWorkerSetStatus) {
	s.CurrentRevision, s.UpdateRevision, s.EstablishedReplicas = from.CurrentRevision, from.UpdateRevision, from.EstablishedReplicas
	s.Groups, s.Recycling, s.GroupRestarts = from.Groups, from.Recycling, from.GroupRestarts
}

// probeDue says that it is time to write what the CRD dropped once more.
func (m *memory) probeDue(now time.Time) bool { return m.pruned != nil && !now.Before(m.probeAt) }

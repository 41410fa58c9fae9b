package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// tally is a recount of the groups.
type tally struct {
	phases map[group.Phase]int32
	// exist, ready and updated count groups of any index.
	exist, ready, updated int32
	// desired is how many groups are wanted, desiredReady how many of them are
	// Ready, onTheWay how many are neither Ready nor given up.
	desired, desiredReady, onTheWay int32
	// available is how many wanted groups have been Ready for long enough.
	available int32
	// outdated are existing groups that should have the update revision and do
	// not; settled says that every wanted group has it and is Ready.
	outdated int32
	settled  bool
}

// count recounts the groups. It is the only source of the numbers in a status.
func (m *memory) count(now time.Time) tally {
	t := tally{phases: map[group.Phase]int32{}, desired: m.replicas(), settled: true}
	entries := m.entries()
	known, partition := int32(0), m.partition()
	for _, g := range m.groups {
		v := &g.view
		wanted := v.Index < t.desired
		entry := entries[v.Index]
		phase := group.PhaseOf(v, wanted, entry, false)
		if phase == group.Gone {
			continue
		}
		t.phases[phase]++
		if v.Leader != nil {
			t.exist++
		}
		if phase == group.Ready {
			t.ready++
		}
		atUpdate := v.Revision == m.update
		if v.Whole && atUpdate && phase != group.Recycling {
			t.updated++
		}
		if !wanted {
			continue
		}
		known++
		switch phase {
		case group.Ready:
			t.desiredReady++
			if from, known := rollout.AvailableFrom(v, m.steering.MinReady); known && !now.Before(from) {
				t.available++
			}
		case group.Failed:
		default:
			t.onTheWay++
		}
		if v.HasPods && v.Index >= partition && !atUpdate {
			t.outdated++
		}
		t.settled = t.settled && phase == group.Ready && atUpdate
	}
	// Of the others nothing exists yet.
	t.phases[group.Pending] += t.desired - known
	t.onTheWay += t.desired - known
	t.settled = t.settled && known == t.desired
	return t
}

// status computes the status from what is known. Nothing but now comes from
// elsewhere.
func (m *memory) status(in rollout.Input, now time.Time) *v1.LeaderWorkerSetStatus {
	t := m.count(now)
	s := m.set.Status.DeepCopy()
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas = t.exist, t.ready, t.updated
	s.HPAPodSelector = fmt.Sprintf("%s=%s,%s=0", v1.LabelName, m.key.Name, v1.LabelWorkerIndex)
	s.ObservedGeneration = m.set.Generation
	s.UpdateRevision, s.CurrentRevision = m.update, m.current
	if t.settled {
		s.CurrentRevision = m.update
	}
	s.Groups = &v1.GroupCounts{
		Pending:         t.phases[group.Pending],
		LeaderReady:     t.phases[group.LeaderReady],
		WorkersStarting: t.phases[group.WorkersStarting],
		Ready:           t.phases[group.Ready],
		Recycling:       t.phases[group.Recycling],
		Failed:          t.phases[group.Failed],
	}
	s.EstablishedReplicas = min(t.desired, max(s.EstablishedReplicas, t.available))
	settled := rollout.Settle(in)
	s.Recycling, s.GroupRestarts = settled.Recycling, settled.Restarts
	m.conditions(s, &t, settled.Stalled, now)
	return s
}

// conditions sets the conditions. One that has never been True is absent; one
// that is no longer True stays, with its reason and a message that says what is.
func (m *memory) conditions(s *v1.LeaderWorkerSetStatus, t *tally, stalled bool, now time.Time) {
	set := func(kind, reason string, is bool, whenTrue, whenFalse string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: whenTrue,
			LastTransitionTime: metav1.NewTime(now), ObservedGeneration: m.set.Generation}
		if !is {
			if meta.FindStatusCondition(s.Conditions, kind) == nil {
				return
			}
			c.Status, c.Message = metav1.ConditionFalse, whenFalse
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	updating := t.outdated > 0 && !m.steering.Paused
	progressing := updating || t.onTheWay > 0
	ready := fmt.Sprintf("%d of %d groups are ready", t.desiredReady, t.desired)
	set(v1.ConditionAvailable, v1.ReasonAllGroupsReady, !progressing && t.desiredReady == t.desired,
		"All replicas are ready", ready)
	set(v1.ConditionProgressing, v1.ReasonGroupsProgressing, progressing, "Replicas are progressing", ready)
	set(v1.ConditionUpdateInProgress, v1.ReasonGroupsUpdating, updating,
		"Rolling Upgrade is in progress", "No update is in progress")
	set(v1.ConditionReconciling, v1.ReasonGroupsProgressing, progressing, "Replicas are progressing", ready)
	set(v1.ConditionRolloutPaused, v1.ReasonPaused, m.steering.Paused,
		"No further group is updated while annotation "+v1.AnnotationPaused+" is there", "The rollout is not paused")
	set(v1.ConditionStalled, v1.ReasonProgressDeadline, stalled && progressing,
		fmt.Sprintf("Nothing has moved for %s: %s", m.steering.ProgressDeadline, m.holdUp(s)), "The rollout is not stalled")
	reason, message := m.trouble(s)
	set(v1.ConditionDegraded, reason, message != "", message, "Nothing is wrong")
	// kstatus goes by the first of these two that is True.
	slices.SortStableFunc(s.Conditions, func(a, b metav1.Condition) int {
		if a.Type == v1.ConditionStalled && b.Type == v1.ConditionReconciling {
			return -1
		}
		return 0
	})
}

// holdUp says which group holds the set up, and why: one that cannot be made, else the
// first one of the update revision that is not Ready, else the first that is not. It
// says no time, so that the same trouble keeps the same words.
func (m *memory) holdUp(s *v1.LeaderWorkerSetStatus) string {
	if _, message := m.trouble(s); message != "" {
		return message
	}
	var first *group.View
	for _, t := range m.groups {
		v := &t.view
		if v.AllReady || first != nil && (first.Revision == m.update || v.Revision != m.update) {
			continue
		}
		first = v
	}
	switch {
	case first == nil:
		return "no group may be taken down within the budget"
	case first.Failure != nil:
		return fmt.Sprintf("group %d: %s", first.Index, first.Failure.Message)
	}
	return fmt.Sprintf("group %d waits for %s", first.Index, m.waitingFor(first))
}

// reasonCRDOutdated: the CRD drops what must be recorded before a teardown.
const reasonCRDOutdated = "CRDOutdated"

// trouble is what needs a person, with the reason to show. What is over keeps
// its reason.
func (m *memory) trouble(s *v1.LeaderWorkerSetStatus) (reason, message string) {
	if !m.outdatedCRDUntil.IsZero() {
		return reasonCRDOutdated, "The stored status lacks what was written: the LeaderWorkerSet CRD is older than this controller. " +
			"No group is torn down until the CRD is applied again"
	}
	for _, index := range slices.Sorted(maps.Keys(m.held)) {
		h := m.held[index]
		if message == "" {
			reason, message = h.reason, fmt.Sprintf("Group %d: %s", index, h.message)
		}
	}
	if n := len(m.held); n > 1 {
		message += fmt.Sprintf(" (and %d more)", n-1)
	}
	for _, name := range slices.Sorted(maps.Keys(m.heldServices)) {
		if message == "" {
			h := m.heldServices[name]
			reason, message = h.reason, fmt.Sprintf("Service %s: %s", name, h.message)
		}
	}
	if message == "" && len(m.blocked) > 0 {
		b := m.blocked[0]
		reason, message = reasonNameTaken, fmt.Sprintf("Group %d: %s", b.Index, blockedMessage(b))
	}
	if message == "" {
		if old := meta.FindStatusCondition(s.Conditions, v1.ConditionDegraded); old != nil {
			return old.Reason, ""
		}
	}
	return reason, message
}

func isTrue(s *v1.LeaderWorkerSetStatus, kind string) *metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

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

// status computes the status from what is known. Nothing but now comes from
// elsewhere.
func (m *memory) status(in rollout.Input, now time.Time) *v1.LeaderWorkerSetStatus {
	t := rollout.Count(in)
	m.tally = &t
	s := m.set.Status.DeepCopy()
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas = t.Exist, t.Ready, t.Updated
	s.HPAPodSelector = fmt.Sprintf("%s=%s,%s=0", v1.LabelName, m.key.Name, v1.LabelWorkerIndex)
	if m.unstored.tries == 0 {
		// A spec without a revision has not been taken up yet.
		s.ObservedGeneration = m.set.Generation
	}
	s.UpdateRevision, s.CurrentRevision = m.update, t.Current
	s.Groups = &v1.GroupCounts{
		Pending:         t.Phases[group.Pending],
		LeaderReady:     t.Phases[group.LeaderReady],
		WorkersStarting: t.Phases[group.WorkersStarting],
		Ready:           t.Phases[group.Ready],
		Recycling:       t.Phases[group.Recycling],
		Failed:          t.Phases[group.Failed],
	}
	s.EstablishedReplicas = t.Established
	settled := rollout.Settle(in)
	s.Recycling, s.GroupRestarts = settled.Recycling, settled.Restarts
	m.stuck = settled.Stuck
	m.conditions(s, &t, settled.Stalled, now)
	return s
}

// conditions sets the conditions. One that has never been True is absent; one
// that is no longer True stays, with its reason and a message that says what is.
func (m *memory) conditions(s *v1.LeaderWorkerSetStatus, t *rollout.Tally, stalled bool, now time.Time) {
	set := func(kind, reason string, is bool, whenTrue, whenFalse string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: whenTrue,
			LastTransitionTime: metav1.NewTime(now), ObservedGeneration: s.ObservedGeneration}
		if !is {
			if meta.FindStatusCondition(s.Conditions, kind) == nil {
				return
			}
			c.Status, c.Message = metav1.ConditionFalse, whenFalse
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	ready := fmt.Sprintf("%d of %d groups are ready", t.DesiredReady, t.Desired)
	set(v1.ConditionAvailable, v1.ReasonAllGroupsReady, !t.Progressing && t.DesiredReady == t.Desired,
		"All replicas are ready", ready)
	set(v1.ConditionProgressing, v1.ReasonGroupsProgressing, t.Progressing, "Replicas are progressing", ready)
	set(v1.ConditionUpdateInProgress, v1.ReasonGroupsUpdating, t.Updating,
		"Rolling Upgrade is in progress", "No update is in progress")
	set(v1.ConditionReconciling, v1.ReasonGroupsProgressing, t.Progressing, "Replicas are progressing", ready)
	set(v1.ConditionRolloutPaused, v1.ReasonPaused, m.steering.Paused,
		"No further group is updated while annotation "+v1.AnnotationPaused+" is there", "The rollout is not paused")
	set(v1.ConditionStalled, v1.ReasonProgressDeadline, stalled && t.Progressing,
		fmt.Sprintf("Nothing has moved for %s: %s", m.steering.ProgressDeadline, m.holdUp(s, t)), "The rollout is not stalled")
	reason, message := m.trouble(s, t)
	set(v1.ConditionDegraded, reason, message != "", message, "Nothing is wrong")
	// kstatus goes by the first of Stalled and Reconciling that is True.
	rank := func(c metav1.Condition) int {
		if c.Type == v1.ConditionStalled {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(s.Conditions, func(a, b metav1.Condition) int { return rank(a) - rank(b) })
}

// holdUp says which group holds the set up, and why: one that cannot be made, else the
// first one of the update revision that is not Ready, else the first that is not. It
// says no time, so that the same trouble keeps the same words.
func (m *memory) holdUp(s *v1.LeaderWorkerSetStatus, t *rollout.Tally) string {
	if _, message := m.trouble(s, t); message != "" {
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
	if first == nil {
		return "no group may be taken down within the budget"
	}
	entry := m.entries()[first.Index]
	switch {
	case first.WaitingFor != "":
		return fmt.Sprintf("group %d waits for %s", first.Index, first.WaitingFor)
	case entry != nil && first.HasPods && first.Incarnation <= entry.Incarnation:
		return fmt.Sprintf("group %d waits for its pods to be gone (%s)", first.Index, entry.Cause)
	case first.Failure != nil:
		return fmt.Sprintf("group %d: %s", first.Index, first.Failure.Message)
	}
	return fmt.Sprintf("group %d waits for %s", first.Index, m.waitingFor(first))
}

// reasonCRDOutdated: the CRD drops what must be recorded before a teardown.
const reasonCRDOutdated = "CRDOutdated"

// trouble is what needs a person, with the reason to show. What is over keeps
// its reason.
func (m *memory) trouble(s *v1.LeaderWorkerSetStatus, t *rollout.Tally) (reason, message string) {
	if m.pruned != nil {
		return reasonCRDOutdated, "The stored status lacks what was written: the LeaderWorkerSet CRD is older than this controller. " +
			"Until the CRD is applied again, no rollout goes on, and this process alone knows how often groups have failed"
	}
	if m.unstored.tries > 0 {
		return m.unstored.reason, unstoredMessage(m.unstored)
	}
	if m.withheld != nil {
		return m.withheld.Reason, m.withheld.Message
	}
	if len(t.Spent) > 0 {
		reason, message = v1.ReasonBudgetExceeded, spentMessage(&t.Spent[0])
		if n := len(t.Spent); n > 1 {
			message += fmt.Sprintf(" (and %d more)", n-1)
		}
		return reason, message
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
		reason, message = blockedReason(b), fmt.Sprintf("Group %d: %s", b.Index, blockedMessage(b))
	}
	if message == "" && len(m.stuck) > 0 {
		reason, message = v1.ReasonPodsStuck, fmt.Sprintf("Group %d waits for %s", m.stuck[0].Index, m.stuck[0].Message)
		if n := len(m.stuck); n > 1 {
			message += fmt.Sprintf(" (and %d more)", n-1)
		}
	}
	if message == "" {
		if old := meta.FindStatusCondition(s.Conditions, v1.ConditionDegraded); old != nil {
			return old.Reason, ""
		}
	}
	return reason, message
}

func spentMessage(s *rollout.Spent) string {
	return fmt.Sprintf("Group %d is left as it is: %s", s.Index, s)
}

func isTrue(s *v1.LeaderWorkerSetStatus, kind string) *metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

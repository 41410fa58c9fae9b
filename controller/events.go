package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
	"lws-controller/topology"
)

// maxNote is how long the API server lets the note of an event be, in bytes.
const maxNote = 1024

// event records a Kubernetes event on the set. What it speaks of has happened.
func (c *Controller) event(m *memory, related runtime.Object, eventType, reason, action, format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if len(note) > maxNote {
		note = note[:maxNote-3] + "..."
	}
	// A typed nil would be taken for an object.
	if related == nil {
		c.Recorder.Eventf(m.set, nil, eventType, reason, action, "%s", note)
		return
	}
	c.Recorder.Eventf(m.set, related, eventType, reason, action, "%s", note)
}

// warn records a Warning event once, until its text changes: a state that lasts
// is one event, however often it is seen.
func (c *Controller) warn(m *memory, about, reason, action, format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if m.warned[about] == note {
		return
	}
	m.warned[about] = note
	c.event(m, nil, corev1.EventTypeWarning, reason, action, "%s", note)
}

// warnBlocked reports a group that waits for a name, or for where to go. Where a Service
// or a node is in the way of many groups, one of them is enough.
func (c *Controller) warnBlocked(m *memory, b rollout.Blocked) {
	c.warn(m, blockedMessage(b), blockedReason(b), "CreatePod", "Pods wait: %s", blockedMessage(b))
}

func blockedReason(b rollout.Blocked) string {
	switch b.Kind {
	case "node":
		return v1.ReasonNoDomain
	case "revision":
		return v1.ReasonSchedulingConflict
	}
	return reasonNameTaken
}

func blockedMessage(b rollout.Blocked) string { return fmt.Sprintf("%s %s %s", b.Kind, b.Name, b.Why) }

// announceTeardowns reports groups whose recreation is now on record.
func (c *Controller) announceTeardowns(ctx context.Context, m *memory, started []rollout.Recycle) {
	c.countTeardowns(m, started)
	logger := klog.FromContext(ctx)
	for _, r := range started {
		logger.V(2).Info("Tearing down group", "group", r.Entry.Index, "incarnation", r.Entry.Incarnation, "cause", r.Entry.Cause)
		why := ""
		switch {
		case r.Failure != nil:
			why = r.Failure.Message
		case r.Entry.Cause == v1.RecycleRequested:
			why = "annotation " + v1.AnnotationRecycle + " asks for it"
		case r.Entry.Cause == v1.RecycleReplace && len(r.Entry.Avoids) > 0:
			why = fmt.Sprintf("for %s its workers have found no node where its leader is; the next leader avoids %s", m.steering.ReplaceAfter, strings.Join(r.Entry.Avoids, ", "))
		case r.Entry.Cause == v1.RecycleReplace:
			why = fmt.Sprintf("for %s its leader has found no node; the next one avoids none", m.steering.ReplaceAfter)
		default:
			continue
		}
		logger.Info("Recreating group", "group", r.Entry.Index, "reason", why)
		c.event(m, m.leader(r.Entry.Index), corev1.EventTypeNormal, "RecreateGroup", "RecreateGroup", "Recreating group %d: %s", r.Entry.Index, why)
	}
}

// leader names the leader of a group, to which events about the group are related: those
// that differ in nothing but the note are taken for one that repeats.
func (m *memory) leader(index int32) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: m.key.Namespace, Name: topology.LeaderName(m.key.Name, index)}
}

// announceConditions reports conditions that have become True.
func (c *Controller) announceConditions(m *memory, before, after *v1.LeaderWorkerSetStatus) {
	if now := isTrue(after, v1.ConditionStalled); now != nil && isTrue(before, v1.ConditionStalled) == nil {
		c.event(m, nil, corev1.EventTypeWarning, "RolloutStalled", "RollOut", "%s", now.Message)
	}
	was, is := isTrue(before, v1.ConditionRolloutPaused) != nil, isTrue(after, v1.ConditionRolloutPaused)
	switch {
	case is != nil && !was:
		c.event(m, nil, corev1.EventTypeNormal, "RolloutPaused", "RollOut", "%s", is.Message)
	case is == nil && was:
		c.event(m, nil, corev1.EventTypeNormal, "RolloutResumed", "RollOut", "Groups are updated again")
	}
	for _, kind := range []string{v1.ConditionProgressing, v1.ConditionUpdateInProgress, v1.ConditionAvailable} {
		if now := isTrue(after, kind); now != nil && isTrue(before, kind) == nil {
			c.event(m, nil, corev1.EventTypeNormal, now.Reason, kind, "%s, with %d groups ready of total %d groups",
				now.Message, after.ReadyReplicas, m.replicas())
		}
	}
}

// noteSpent keeps that a group has come to be left as it is, to be announced once the
// status says so. One that a new process finds so was announced by the last, if the
// status says so already.
func (m *memory) noteSpent(s *rollout.Spent, found bool) {
	if d := isTrue(&m.set.Status, v1.ConditionDegraded); !found || d == nil || d.Reason != v1.ReasonBudgetExceeded {
		m.spent[s.Index] = spentMessage(s)
	}
}

// announceSpent reports groups that have come to be left as they are.
func (c *Controller) announceSpent(m *memory) {
	for _, index := range slices.Sorted(maps.Keys(m.spent)) {
		c.event(m, nil, corev1.EventTypeWarning, v1.ReasonBudgetExceeded, "RecreateGroup", "%s", m.spent[index])
	}
	clear(m.spent)
}

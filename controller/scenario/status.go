package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "lws-controller/api/v1"
)

// statusChange says what differs between two states of a status, times and
// counts by phase aside.
func statusChange(before, after *v1.LeaderWorkerSetStatus) string {
	var out []string
	number := func(what string, from, to int32) {
		if from != to {
			out = append(out, fmt.Sprintf("%s %d→%d", what, from, to))
		}
	}
	text := func(what, from, to string) {
		if from != to {
			out = append(out, fmt.Sprintf("%s %s→%s", what, cmp.Or(from, "none"), to))
		}
	}
	number("generation", int32(before.ObservedGeneration), int32(after.ObservedGeneration))
	number("replicas", before.Replicas, after.Replicas)
	number("ready", before.ReadyReplicas, after.ReadyReplicas)
	number("updated", before.UpdatedReplicas, after.UpdatedReplicas)
	number("established", before.EstablishedReplicas, after.EstablishedReplicas)
	text("update", before.UpdateRevision, after.UpdateRevision)
	text("current", before.CurrentRevision, after.CurrentRevision)
	out = append(out, listChange("recycling", recycling(before), recycling(after))...)
	out = append(out, listChange("restarts", restarts(before), restarts(after))...)
	for _, c := range after.Conditions {
		old := meta.FindStatusCondition(before.Conditions, c.Type)
		switch {
		case old != nil && old.Status == c.Status && (c.Type != v1.ConditionDegraded || old.Message == c.Message):
		case c.Type == v1.ConditionDegraded && c.Status == "True":
			out = append(out, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
		default:
			out = append(out, fmt.Sprintf("%s=%s", c.Type, c.Status))
		}
	}
	if len(out) == 0 {
		return "(counts by phase, messages)"
	}
	return strings.Join(out, ", ")
}

func listChange(what string, before, after []string) []string {
	var out []string
	each := func(sign string, of, others []string) {
		for _, e := range of {
			if !slices.Contains(others, e) {
				out = append(out, sign+what+"{"+e+"}")
			}
		}
	}
	each("-", before, after)
	each("+", after, before)
	return out
}

// recycling are the teardowns under way: group.incarnation, cause, revision to
// come back at.
func recycling(s *v1.LeaderWorkerSetStatus) []string {
	var out []string
	for _, e := range s.Recycling {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d.%d %s %s", e.Index, e.Incarnation, e.Cause, e.Revision)))
	}
	return out
}

func restarts(s *v1.LeaderWorkerSetStatus) []string {
	var out []string
	for _, r := range s.GroupRestarts {
		settled := ""
		if r.Settled > 0 {
			settled = fmt.Sprintf(", %d settled", r.Settled)
		}
		out = append(out, fmt.Sprintf("%d %s: %d%s", r.Index, r.Revision, r.Count, settled))
	}
	return out
}

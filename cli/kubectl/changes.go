package kubectl

import (
	"fmt"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// changes says in lines what is different from an earlier status; all there is to say
// if that is nil.
func (s *Status) changes(before *Status) (lines []string) {
	if before == nil {
		before = &Status{}
		lines = append(lines, s.headline())
	}
	if s.Replicas != before.Replicas || s.ReadyGroups != before.ReadyGroups || s.UpdatedGroups != before.UpdatedGroups || s.UpdateRevision != before.UpdateRevision {
		lines = append(lines, fmt.Sprintf("%d/%d groups Ready, %d/%d at %s", s.ReadyGroups, s.Replicas, s.UpdatedGroups, s.Replicas, s.UpdateRevision))
	}
	if s.Paused != before.Paused {
		lines = append(lines, map[bool]string{true: "paused", false: "resumed"}[s.Paused])
	}
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionDegraded} {
		now, then := s.condition(kind), before.condition(kind)
		switch {
		case now == nil && then != nil:
			lines = append(lines, kind+" no more")
		case now != nil && (then == nil || then.Message != now.Message):
			lines = append(lines, fmt.Sprintf("%s (%s): %s", kind, now.Reason, oneLine(now.Message)))
		}
	}
	if s.Recycle != nil && (before.Recycle == nil || !s.Recycle.At.Equal(before.Recycle.At)) {
		lines = append(lines, fmt.Sprintf("recycle asked for at %s: %s", s.Recycle.At.Format(time.RFC3339), indices(s.Recycle.Open)))
	}
	return append(lines, s.groupChanges(before)...)
}

func (s *Status) groupChanges(before *Status) (lines []string) {
	was := map[int32]*Group{}
	for i := range before.Groups {
		was[before.Groups[i].Index] = &before.Groups[i]
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		then := was[g.Index]
		delete(was, g.Index)
		switch {
		case then == nil || then.Phase != g.Phase || then.Revision != g.Revision && g.Revision.Key != "":
			lines = append(lines, g.change(then))
		case then.WaitingFor != g.WaitingFor && g.WaitingFor != "":
			lines = append(lines, fmt.Sprintf("group %d waits for %s", g.Index, oneLine(g.WaitingFor)))
		}
	}
	for i := range before.Groups {
		if g := &before.Groups[i]; was[g.Index] != nil {
			lines = append(lines, fmt.Sprintf("group %d: %s -> %s", g.Index, g.Phase, group.Gone))
		}
	}
	return lines
}

// change is the line about a group that moved.
func (g *Group) change(then *Group) string {
	line := fmt.Sprintf("group %d: %s", g.Index, g.Phase)
	if then != nil && then.Phase != g.Phase {
		line = fmt.Sprintf("group %d: %s -> %s", g.Index, then.Phase, g.Phase)
	}
	if g.Revision.Key != "" {
		line += fmt.Sprintf(", %s, %d/%d pods Ready", g.Revision, g.ReadyPods, g.Size)
	}
	if g.WaitingFor != "" {
		line += ", waits for " + oneLine(g.WaitingFor)
	}
	return line
}

package page

import (
	"slices"
	"time"

	"lws-controller/controller"
	"lws-controller/controller/group"
)

type groupView struct {
	frame
	Namespace, Name string
	Known           bool
	groupRow
	Journal []entry
}

// entry is a line of a journal.
type entry struct {
	Ago, When string
	// Move is a transition, else Event says what happened.
	Move  *move
	After string
	Event string
}

// journal is what is kept of a group, the newest first.
func journal(g *controller.DebugGroup, now time.Time) []entry {
	var out []entry
	for at, record := range slices.Backward(g.Journal) {
		e := entry{Ago: ago(now, record.At), When: record.At.UTC().Format("2006-01-02 15:04:05.000")}
		switch {
		case record.Transition != nil:
			m := newMove(g.Journal, at, now)
			e.Move, e.After = &m, record.Transition.After.Round(time.Millisecond).String()
		case record.Event != nil:
			e.Event = shortened(record.Event.Describe(), maxText)
		}
		out = append(out, e)
	}
	return out
}

// find is the group of this index: one that is known, or one that is wanted and of which
// nothing exists yet.
func find(s *controller.DebugSet, index int32) (controller.DebugGroup, bool) {
	for _, g := range s.Groups {
		if g.Index == index {
			return g, true
		}
	}
	return controller.DebugGroup{Index: index, Phase: group.Pending}, 0 <= index && index < s.Replicas
}

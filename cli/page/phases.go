package page

import (
	"fmt"

	"lws-controller/controller"
	"lws-controller/controller/group"
)

// look is how a phase is shown: a letter for those who cannot tell the colours, and the
// class that style.css gives a colour.
type look struct {
	Phase  group.Phase
	Letter string
	Class  string
	Means  string
}

// looks are in the order of a group's life, as in the legend.
var looks = []look{
	{group.Pending, "P", "pe", "its leader is missing or not Ready"},
	{group.LeaderReady, "L", "le", "its leader is Ready, workers do not exist yet"},
	{group.WorkersStarting, "W", "wo", "all pods exist, some worker is not Ready"},
	{group.Ready, "R", "re", "all pods are Ready"},
	{group.Recycling, "C", "cy", "its pods are being deleted"},
	{group.Failed, "F", "fa", "its restart budget is spent, it is left as it is"},
}

func lookOf(p group.Phase) look {
	for _, l := range looks {
		if l.Phase == p {
			return l
		}
	}
	return look{Phase: p, Letter: "?", Class: "pe"}
}

// cell is one group as a coloured square.
type cell struct {
	Index  int32
	Letter string
	Class  string
	Title  string
}

// cellOf marks groups that have yet to be taken to the update revision, and those
// beyond the wanted ones.
func cellOf(g *controller.DebugGroup, s *controller.DebugSet) cell {
	l := lookOf(g.Phase)
	c := cell{Index: g.Index, Letter: l.Letter, Class: l.Class, Title: fmt.Sprintf("%d %s", g.Index, g.Phase)}
	if g.Revision != "" && g.Revision != s.UpdateRevision {
		c.Class += " old"
		c.Title += ", earlier revision"
	}
	if g.Index >= s.Replicas {
		c.Class += " more"
		c.Title += ", beyond replicas"
	}
	return c
}

// window is a part of a set's groups, by ascending index: those from a place on, at most
// so many, and how many there are in all. Wanted groups of which nothing exists yet are
// Pending.
func window(s *controller.DebugSet, from, most int) (groups []controller.DebugGroup, all int) {
	known := map[int32]*controller.DebugGroup{}
	var beyond []*controller.DebugGroup
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Index < s.Replicas {
			known[g.Index] = g
		} else {
			beyond = append(beyond, g)
		}
	}
	all = int(s.Replicas) + len(beyond)
	for at := from; at < all && len(groups) < most; at++ {
		switch {
		case at >= int(s.Replicas):
			groups = append(groups, *beyond[at-int(s.Replicas)])
		case known[int32(at)] != nil:
			groups = append(groups, *known[int32(at)])
		default:
			groups = append(groups, controller.DebugGroup{Index: int32(at), Phase: group.Pending})
		}
	}
	return groups, all
}

package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
)

const (
	// fleetSets is how many sets stand on one page.
	fleetSets = 100
	// fleetCells is how many groups are shown as cells, of all sets of a page and of
	// each: beyond that there are numbers only.
	fleetCells = 5000
	setCells   = 1000
)

type fleetView struct {
	frame
	Sets []fleetSet
	// All is how many sets there are, Matching how many the filter leaves.
	All, Matching int
	Counts        []string
	First, Last   int
	// Earlier and Later are addresses of other parts of the list, empty if there are
	// none.
	Earlier, Later string
}

type fleetSet struct {
	summary
	Cells []cell
	// CellsOf is how many groups there are, where there are more than cells.
	CellsOf int
	// Waits says what the first group that is not Ready waits for.
	Waits string
}

// Told says that the cells alone tell all that the counts of phases do.
func (s fleetSet) Told() bool {
	return len(s.Cells) > 0 && len(s.Phases) == 1 && s.Phases[0].Phase == group.Ready
}

// show adds the groups of a set as cells, at most so many, and returns how many they are.
// What a group waits for need not be told beside what is wrong with the set.
func (s *fleetSet) show(known *controller.DebugSet, most int) int {
	groups, all := window(known, 0, most)
	for i := range groups {
		g := &groups[i]
		s.Cells = append(s.Cells, cellOf(g, known))
		if s.Waits == "" && len(s.Troubles) == 0 && g.Phase != group.Ready && g.WaitingFor != "" {
			s.Waits = fmt.Sprintf("Group %d waits for %s", g.Index, shortened(g.WaitingFor, maxText))
		}
	}
	if len(groups) < all {
		s.CellsOf = all
	}
	return len(groups)
}

// matching are the sets that the filter leaves, those in trouble first.
func matching(sets []*v1.LeaderWorkerSet, query string) []*v1.LeaderWorkerSet {
	query = strings.ToLower(query)
	sets = slices.DeleteFunc(slices.Clone(sets), func(s *v1.LeaderWorkerSet) bool {
		return !strings.Contains(s.Namespace+"/"+s.Name, query)
	})
	slices.SortFunc(sets, func(a, b *v1.LeaderWorkerSet) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return sets
}

// counts says how many sets need how much help.
func counts(sets []*v1.LeaderWorkerSet) []string {
	var n [well + 1]int
	for _, s := range sets {
		n[rankOf(s)]++
	}
	var out []string
	for r, count := range n {
		if count > 0 {
			out = append(out, fmt.Sprintf("%d %s", count, rankNames[rank(r)]))
		}
	}
	return out
}

package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// settleEntries keeps the teardowns that are still under way. One is over when
// pods of a later incarnation exist, or when the group is not wanted and
// its last pod is gone. One that we chose (any cause but Failure) is withdrawn
// when nothing has been deleted yet and the spec no longer asks for it.
func (p *planner) settleEntries() {
	p.entries = make(map[int32]*v1.RecyclingGroup, len(p.Input.Recycling))
	p.recorded = make(map[int32]*v1.RecyclingGroup, len(p.Input.Recycling))
	p.frozen = map[int32]bool{}
	views := make(map[int32]*group.View, len(p.Input.Recycling))
	for i := range p.Input.Recycling {
		views[p.Input.Recycling[i].Index] = nil
	}
	for i := range p.Groups {
		if _, listed := views[p.Groups[i].Index]; listed {
			views[p.Groups[i].Index] = &p.Groups[i]
		}
	}
	for i := range p.Input.Recycling {
		entry := p.Input.Recycling[i]
		v := views[entry.Index]
		if v == nil {
			v = &group.View{Index: entry.Index}
		}
		if !knownCause(entry.Cause) {
			// A newer version has written it, and may mean anything by it.
			p.entries[entry.Index] = &entry
			p.frozen[entry.Index] = true
			p.Blocked = append(p.Blocked, Blocked{Index: entry.Index, Kind: "teardown", Name: string(entry.Cause), Why: "is a cause that this version of the controller does not know"})
			continue
		}
		if entry.Incarnation < 0 || entry.Incarnation > group.MaxIncarnation {
			continue // nobody's record: what is there speaks for itself
		}
		p.recorded[entry.Index] = &p.Input.Recycling[i]
		if p.over(&entry, v) || p.withdrawn(&entry, v) {
			continue
		}
		if entry.Cause == v1.RecycleUpdate && !p.Paused {
			// The spec may have changed again: go straight to what it says now.
			entry.Revision = p.revisionFor(entry.Index)
			if _, known := p.Templates[v.Revision]; known && v.HasPods && entry.Index < p.Partition {
				entry.Revision = v.Revision // it is to keep what it has
			}
		}
		p.entries[entry.Index] = &entry
	}
}

// addGone makes groups of those of which nothing is known but the teardown: so a
// process with empty memory plans as one that has seen the last pod go.
func (p *planner) addGone() {
	var gone []group.View
	for index := range p.entries {
		if p.view(index) == nil {
			gone = append(gone, group.View{Index: index})
		}
	}
	if len(gone) > 0 {
		p.Groups = slices.SortedFunc(slices.Values(append(gone, p.Groups...)), func(a, b group.View) int { return cmp.Compare(a.Index, b.Index) })
	}
}

func knownCause(c v1.RecycleCause) bool {
	switch c {
	case v1.RecycleFailure, v1.RecycleUpdate, v1.RecycleRequested, v1.RecycleReplace, v1.RecycleScaleDown:
		return true
	default:
		return false
	}
}

func (p *planner) over(entry *v1.RecyclingGroup, v *group.View) bool {
	if !v.HasPods {
		return !p.wanted(entry.Index)
	}
	// The leader is the first pod of an incarnation, even if it is gone by now.
	return v.Incarnation > entry.Incarnation
}

func (p *planner) withdrawn(entry *v1.RecyclingGroup, v *group.View) bool {
	// Claims that may have been handed to their pods by now go with them, whenever that
	// is: then it had better be now, when somebody has asked for it.
	untouched := v.Whole && v.Incarnation == entry.Incarnation && !p.Templates[v.Revision].ClaimsGo
	if p.Withheld && entry.Cause != v1.RecycleScaleDown && entry.Cause != v1.RecycleFailure {
		return untouched // it could not be made again
	}
	switch entry.Cause {
	case v1.RecycleScaleDown:
		return untouched && p.wanted(entry.Index)
	case v1.RecycleUpdate:
		return untouched && (v.Revision == p.Update || entry.Index < p.Partition || p.Paused)
	case v1.RecycleRequested:
		return untouched && !p.asked(v)
	case v1.RecycleReplace:
		since, _ := p.misplaced(v)
		return untouched && since.IsZero()
	default:
		return false
	}
}

// restartsForgottenAfter is how long a group must have been Ready until its
// restarts no longer delay the next one.
const restartsForgottenAfter = 10 * time.Minute

// settleRestarts keeps the restart counts that still mean something: of groups
// that are wanted and have not been Ready for long, or that have a budget. Which surge groups are wanted
// is not known yet: those of which there is something may be.
func (p *planner) settleRestarts() {
	p.restarts = make(map[int32]*v1.GroupRestarts, len(p.Input.Restarts))
	for i := range p.Input.Restarts {
		r := p.Input.Restarts[i]
		v := p.view(r.Index)
		there := v != nil && v.HasPods || p.recorded[r.Index] != nil
		if r.Index < p.Replicas || r.Index < p.end() && there {
			p.restarts[r.Index] = &r
		}
	}
	if len(p.restarts) == 0 {
		return
	}
	for i := range p.Groups {
		v := &p.Groups[i]
		r := p.restarts[v.Index]
		if r == nil {
			continue
		}
		if v.HasPods && v.Revision != r.Revision {
			delete(p.restarts, v.Index)
			continue
		}
		if v.AllReady && v.EverReady() && v.Leader.GroupReady.True {
			switch forget := v.Leader.GroupReady.Since.Add(restartsForgottenAfter); {
			case p.Now.Before(forget):
				p.wake(forget)
			case p.Templates[v.Revision].MaxGroupRestarts != nil:
				r.Settled = r.Count // the budget is for good
			default:
				delete(p.restarts, v.Index)
			}
		}
	}
}

// collect puts what is left of the entries and counts into the plan, and orders
// what came in the order of the status.
func (p *planner) collect() {
	for _, i := range slices.Sorted(maps.Keys(p.entries)) {
		p.Plan.Recycling = append(p.Plan.Recycling, *p.entries[i])
	}
	for _, i := range slices.Sorted(maps.Keys(p.restarts)) {
		p.Plan.Restarts = append(p.Plan.Restarts, *p.restarts[i])
	}
	slices.SortStableFunc(p.Blocked, func(a, b Blocked) int { return cmp.Compare(a.Index, b.Index) })
}

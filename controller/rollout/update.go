package rollout

import (
	"slices"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// brokenAfter is how long a group must have been not Ready to count as broken.
const brokenAfter = 5 * time.Minute

// progress is where the rollout to the update revision stands.
type progress struct {
	// available are the groups that are available and are not being torn down,
	// surge included, serving those that serve.
	available, serving int32
	// floor is the least number of groups that a takedown of ours may leave serving,
	// and available if it takes an available one: min(replicas, established) - unavailable.
	floor int32
	// outdated are the groups in [partition, replicas) with pods of another
	// revision that are not being torn down.
	outdated []*group.View
	// unfinished are the groups in [partition, replicas) that are not both at the
	// update revision and available, or that somebody wants recreated; asked says
	// that there are some of the latter.
	unfinished int32
	asked      bool
	// onTheWay are the groups of the update revision that are not Ready, those
	// that will be built at it included.
	onTheWay int32
	// room is how many more groups may be on the way to the update revision.
	room int32
	// unproven: no group of the update revision has become Ready yet, and some
	// group of another revision is not broken.
	unproven bool
}

// survey finds out where the rollout stands. With U = unavailable, S = surge and
// E = established:
//
//	floor = min(replicas, E) - U
//	room  = max(1, U+S) + (replicas - min(replicas, E)) - onTheWay
//
// The second term of room are the groups that were never there: a set that grows
// has them on the way besides those that it updates.
//
//	replicas 4, E 4, U 1, S 0, none on the way:      floor 3, room 1
//	replicas 2, E 1, U 1, S 0, group 1 on the way:   floor 0, room 1: group 0 goes
//	replicas 6, E 3, U 1, S 0, groups 3-5 on the way: floor 2, room 1
func (p *planner) survey() {
	at := &p.at
	proven, oldAlive := false, false
	present, standing := int32(0), int32(0)
	for i := range p.Groups {
		v := &p.Groups[i]
		entry := p.entries[v.Index]
		// One that was scaled down, and is wanted again, begins anew.
		anew := !v.HasPods && (entry == nil || entry.Cause == v1.RecycleScaleDown)
		inRange := v.Index >= p.Partition && v.Index < p.Replicas
		if inRange && !anew {
			present++
		}
		updated := v.HasPods && v.Revision == p.Update
		switch {
		case anew:
		case entry != nil && (v.Incarnation <= entry.Incarnation || !v.HasPods):
			comesBack := v.Index < p.Replicas || v.Index < p.end() && entry.Cause == v1.RecycleFailure
			if comesBack && entry.Revision == p.Update {
				at.onTheWay++
			}
			updated = false
		case updated:
			proven = proven || v.EverReady()
			if !p.ready(v) {
				at.onTheWay++
			}
		default:
			oldAlive = oldAlive || !p.broken(v) && v.Index < p.Replicas
			if inRange {
				at.outdated = append(at.outdated, v)
			}
		}
		available := entry == nil && p.available(v)
		if available && p.counts(v) {
			at.available++
		}
		if serves := entry == nil && p.serves(v); serves && p.counts(v) {
			at.serving++
			if v.Index < p.Replicas {
				standing++
			}
		}
		if inRange && !anew && (!(updated && available) || p.asked(v)) {
			at.unfinished++
		}
		at.asked = at.asked || inRange && p.asked(v)
	}
	// Those of which nothing exists are built at the update revision.
	fresh := p.Replicas - min(p.Partition, p.Replicas) - present
	at.onTheWay += fresh
	at.unfinished += fresh
	// What serves now is established, even before the status says so.
	established := min(p.Replicas, max(p.Established, standing))
	at.floor = established - p.Budget.Unavailable
	at.unproven = !proven && oldAlive
	at.room = max(1, p.Budget.Unavailable+p.Budget.Surge) + p.Replicas - established - at.onTheWay
}

// update takes groups to the update revision, in this order: broken ones, all at
// once and without budget, since nothing is lost; then those that are merely not
// Ready, as long as there is room; then those that serve, young ones before available
// ones and from the highest index down, as many at once as the floor allows. While the
// revision is unproven, all of them need room: a bad revision never gets more than the
// budget. While paused no group moves, nor while those on their way are stalled.
func (p *planner) update() {
	at := &p.at
	if p.Paused || p.Stalled && at.onTheWay > 0 {
		return
	}
	if p.Unrecorded || p.Withheld {
		return
	}
	var idle, serving []*group.View
	young := 0 // of those that serve, those not yet for long enough come first
	for i := len(at.outdated) - 1; i >= 0; i-- {
		v := at.outdated[i]
		switch {
		case p.entries[v.Index] != nil: // it has failed, and is on its way already
		case p.broken(v):
			if !at.unproven || at.room > 0 {
				p.moveOn(v)
			}
		case !p.ready(v):
			idle = append(idle, v)
		case !p.available(v):
			serving = slices.Insert(serving, young, v)
			young++
		default:
			serving = append(serving, v)
		}
	}
	for _, v := range idle {
		if at.room > 0 {
			p.moveOn(v)
		}
	}
	for _, v := range serving {
		if p.leaves(v, at.floor) && (!at.unproven || at.room > 0) {
			p.moveOn(v)
		}
	}
}

// leaves says that without the group as many serve as the floor demands, and, where
// it is available, as many are available.
func (p *planner) leaves(v *group.View, floor int32) bool {
	return p.at.serving-1 >= floor && (!p.available(v) || p.at.available-1 >= floor)
}

// moveOn begins the teardown of a group that comes back at the update revision.
func (p *planner) moveOn(v *group.View) {
	if p.begin(v, v1.RecycleUpdate, p.Update, nil) {
		p.at.room--
	}
}

// rebuildAt is the revision at which a failed group comes back: the update
// revision where the group is to have that anyway, there is room and nothing is
// paused, else its own.
func (p *planner) rebuildAt(v *group.View) string {
	if p.Paused || p.Unrecorded || v.Revision == p.Update || v.Index < p.Partition || p.at.unproven && p.at.room <= 0 {
		return v.Revision
	}
	return p.Update
}

// surgeNeeded is how many groups above replicas the rollout needs now. n groups
// are unfinished; those that may be unavailable need no stand-in:
//
//	n > S:  S
//	else:   min(S, max(0, n - U))
//
//	replicas 4, S 2, U 1: n 4 → 2, n 3 → 2, n 2 → 1, n 1 → 0
//	replicas 1, S 1, U 0: n 1 → 1, n 0 → 0
//
// Surge groups are made only while some group is outdated: a group that merely
// fails needs none.
func (p *planner) surgeNeeded() int32 {
	n, s, u := p.at.unfinished, p.Budget.Surge, p.Budget.Unavailable
	if n > s {
		return s
	}
	return min(s, max(0, n-u))
}

// available says that the group has been Ready for long enough.
func (p *planner) available(v *group.View) bool {
	from, known := AvailableFrom(v, p.MinReady)
	if known && p.Now.Before(from) {
		p.wake(from)
	}
	return known && !p.Now.Before(from) && p.ready(v)
}

// serves says that the group is Ready and not made by this rollout: what waits for its
// turn protects as much as it can, however young it is, and what came out of the
// rollout only once it is available. With no MinReady that is the same as available.
func (in *Input) serves(v *group.View) bool {
	from, known := AvailableFrom(v, in.MinReady)
	return in.ready(v) && (v.Revision != in.Update || in.asked(v) || known && !in.Now.Before(from))
}

// AvailableFrom is when a group has been Ready for long enough to be available, if
// that is known: it is Ready, and where it must have been so for a while, its leader
// says since when.
func AvailableFrom(v *group.View, minReady time.Duration) (from time.Time, known bool) {
	switch {
	case !v.AllReady:
		return time.Time{}, false
	case minReady == 0:
		return time.Time{}, true
	case v.Leader.GroupReady == nil || !v.Leader.GroupReady.True:
		return time.Time{}, false
	}
	return v.Leader.GroupReady.Since.Add(minReady), true
}

// counts says that the group, once available, is one of those that the floor is
// about: one above replicas at another revision goes anyway.
func (p *planner) counts(v *group.View) bool {
	return v.Index < p.Replicas || v.Revision == p.Update
}

// broken says that the group does not serve and is not about to: it was never
// Ready in this incarnation, one of its pods cannot run, or it has not been Ready
// for long.
func (p *planner) broken(v *group.View) bool {
	switch {
	case p.ready(v):
		return false
	case !v.EverReady() || v.Stuck != "":
		return true
	case v.NotReadySince.IsZero():
		return false
	}
	due := v.NotReadySince.Add(brokenAfter)
	if p.Now.Before(due) {
		p.wake(due)
		return false
	}
	return true
}

// ready says that the group is in phase Ready: one that is left as it is after too many
// failures is not, however its pods are.
func (in *Input) ready(v *group.View) bool { return v.AllReady && in.SpentBy(v) == nil }

// setSurge decides which indices above replicas are wanted: first those of groups that
// stand in already, then the lowest free ones, then those that are going. A group at
// another revision goes first and comes back if it is needed.
func (p *planner) setSurge() {
	need := p.surgeNeeded()
	p.surge = map[int32]bool{}
	for i := range p.Groups {
		if v := &p.Groups[i]; need > 0 && v.Index >= p.Replicas && v.Index < p.end() && p.standsIn(v) {
			p.surge[v.Index] = true
			need--
		}
	}
	if p.Paused || p.Unrecorded || p.Withheld || len(p.at.outdated) == 0 && !p.at.asked {
		return // none is made any more; those that there are stay until all is done
	}
	// More than one plan can create need not be thought of now.
	need = min(need, int32(p.MaxWrites)+1)
	for _, free := range []bool{true, false} {
		for index := p.Replicas; need > 0 && index < p.end(); index++ {
			if !p.surge[index] && p.free(index) == free {
				p.surge[index] = true
				need--
			}
		}
	}
}

// free says that nothing is left of a group.
func (p *planner) free(index int32) bool {
	v := p.view(index)
	return p.entries[index] == nil && (v == nil || !v.HasPods)
}

// standsIn says that a surge group is there, or comes back after a failure.
func (p *planner) standsIn(v *group.View) bool {
	if entry := p.entries[v.Index]; entry != nil {
		return entry.Cause == v1.RecycleFailure && entry.Revision == p.Update
	}
	return v.HasPods && v.Revision == p.Update
}

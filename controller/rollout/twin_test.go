package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// twin is the planner once more, as slow and plain as can be, made from the
// sentences of the contract alone: each rule is a function, and what a plan may be
// is found by trying every combination of what could be done to the groups.
//
// What the contract leaves open, and the twin therefore too:
//   - which cause a teardown has that serves a failure and the update at once;
//   - whether surge groups are made when no group is outdated, or in a pause;
//   - who gets the places of an unproven revision: failed, new, surge or broken
//     groups; and whether new groups use the last of them, or are all made at
//     currentRevision once there are too few for all;
//   - whether surge groups made by the same plan come before those that are merely
//     not Ready: a proven revision may have either;
//   - whether a group that is Ready, but not yet for min-ready, counts as merely
//     not Ready: taken so, since it is not available;
//   - how many places there are for groups that were never there: taken as one for
//     each, which is the least that makes the worked example R=1→2 come out;
//   - what a group comes back as that the partition no longer lets move, once it
//     is torn down: taken as currentRevision;
//   - what the fields of reading say.
type twin struct {
	in      rollout.Input
	r, p    int32
	u, s    int32
	groups  map[int32]*group.View
	entries map[int32]v1.RecyclingGroup
	keep    map[int32]bool // surge groups that stay
	reading reading
	surge   []int32 // surge groups to be made
}

// reading is one way to take what the contract leaves open.
type reading struct {
	// goingCounts, tornCounts, goingProves: a group that nothing wants still counts
	// as not Ready, before or while it is torn down, or proves its revision.
	goingCounts, tornCounts, goingProves bool
	// below: groups below the partition that are built at currentRevision count
	// when that is the update revision.
	below bool
	// marked: a group has become Ready only once its leader says so.
	marked bool
}

func readings() (out []reading) {
	for i := range 32 {
		out = append(out, reading{i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0, i&16 > 0})
	}
	return out
}

func newTwin(in rollout.Input, as reading) *twin {
	tw := &twin{in: in, reading: as, r: in.Replicas, p: in.Partition, u: in.Budget.Unavailable, s: in.Budget.Surge,
		groups: map[int32]*group.View{}, entries: map[int32]v1.RecyclingGroup{}, keep: map[int32]bool{}}
	for i := range in.Groups {
		tw.groups[in.Groups[i].Index] = &in.Groups[i]
	}
	for _, e := range in.Recycling {
		if tw.underWay(e) {
			tw.entries[e.Index] = e
		}
	}
	tw.chooseSurge()
	return tw
}

// view is what is known of a group; of most, nothing.
func (tw *twin) view(index int32) *group.View {
	if v := tw.groups[index]; v != nil {
		return v
	}
	return &group.View{Index: index}
}

// A teardown is over once pods of a later incarnation exist. One that the spec no
// longer asks for is dropped while no pod has been deleted.
func (tw *twin) underWay(e v1.RecyclingGroup) bool {
	v := tw.view(e.Index)
	switch {
	case v.HasPods && v.Incarnation > e.Incarnation:
		return false
	case !v.HasPods && (e.Cause == v1.RecycleScaleDown || e.Index >= tw.r):
		return false
	}
	untouched := v.Leader != nil && len(v.Missing) == 0 && v.Terminating == 0
	asked := e.Index >= tw.r || e.Cause == v1.RecycleFailure ||
		e.Cause == v1.RecycleUpdate && !tw.in.Paused && tw.moves(e.Index) && v.Revision != tw.in.Update
	return !untouched || asked
}

// Groups P..R-1 move to the update revision.
func (tw *twin) moves(index int32) bool { return tw.p <= index && index < tw.r }

// Ready: the phase, and not being torn down.
func (tw *twin) ready(index int32) bool {
	_, goes := tw.entries[index]
	return tw.view(index).AllReady && !goes && !tw.left(index)
}

// left says that the group is left as it is: it has failed, and after N recreations it
// is not recreated any more.
func (tw *twin) left(index int32) bool {
	v, count := tw.view(index), int32(0)
	t := tw.in.Templates[v.Revision]
	for _, c := range tw.in.Restarts {
		if c.Index == index && c.Revision == v.Revision {
			count = c.Count
		}
	}
	failures := v.FailuresUnder(t.RestartPolicy)
	own := !slices.ContainsFunc(failures, func(f *group.Failure) bool { return !f.Counts })
	return t.MaxGroupRestarts != nil && len(failures) > 0 && own && count >= *t.MaxGroupRestarts
}

// Available: Ready for at least min-ready, which counts from the GroupReady
// transition.
func (tw *twin) available(index int32) bool {
	v := tw.view(index)
	if !tw.ready(index) || tw.in.MinReady == 0 {
		return tw.ready(index)
	}
	r := v.Leader.GroupReady
	return r != nil && r.True && !tw.in.Now.Before(r.Since.Add(tw.in.MinReady))
}

// Broken: never Ready in this incarnation, or a pod Failed or waiting for what
// does not come, or not Ready for 5 minutes.
func (tw *twin) broken(index int32) bool {
	v := tw.view(index)
	switch {
	case v.Stuck != "":
		return true
	case tw.ready(index):
		return false
	case !v.EverReady():
		return true
	default:
		return !v.NotReadySince.IsZero() && !tw.in.Now.Before(v.NotReadySince.Add(5*time.Minute))
	}
}

// n = groups in [P,R) not yet updated and available.
func (tw *twin) notYet() (n int32) {
	for i := tw.p; i < tw.r; i++ {
		if tw.view(i).Revision != tw.in.Update || !tw.available(i) {
			n++
		}
	}
	return n
}

// Surge: needed = min(S, max(0, n - U)) (n > S: S).
func (tw *twin) neededSurge() int32 {
	n := tw.notYet()
	if n > tw.s {
		return tw.s
	}
	return min(tw.s, max(0, n-tw.u))
}

// A group with index >= R is a surge group if its index < R+S, it has the update
// revision and is needed; else it goes, the highest first.
func (tw *twin) chooseSurge() {
	needed := tw.neededSurge()
	for i := tw.r; i < tw.r+tw.s && needed > 0; i++ {
		e, torn := tw.entries[i]
		has := tw.view(i).HasPods && !torn && tw.view(i).Revision == tw.in.Update
		if has || torn && e.Cause == v1.RecycleFailure && e.Revision == tw.in.Update {
			tw.keep[i] = true
			needed--
		}
	}
	for i := tw.r; i < tw.r+tw.s && needed > 0; i++ {
		if _, torn := tw.entries[i]; !torn && !tw.view(i).HasPods {
			tw.surge = append(tw.surge, i)
			needed--
		}
	}
}

// wanted: an ordinary group, or a surge group that is needed.
func (tw *twin) wanted(index int32) bool { return index < tw.r || tw.keep[index] }

// scaledDown are the groups that go because nothing wants them.
func (tw *twin) scaledDown() map[int32]bool {
	out := map[int32]bool{}
	for i, v := range tw.groups {
		if _, torn := tw.entries[i]; v.HasPods && !torn && !tw.wanted(i) {
			out[i] = true
		}
	}
	return out
}

// failed says that the group is to be recreated now because of a failure: its
// policy says so, and the backoff is over and the budget not spent, or the failure
// is none of its own.
func (tw *twin) failed(index int32) bool {
	v := tw.view(index)
	_, torn := tw.entries[index]
	t := tw.in.Templates[v.Revision]
	failures := v.FailuresUnder(t.RestartPolicy)
	if torn || !tw.wanted(index) || !v.HasPods || len(failures) == 0 {
		return false
	}
	if slices.ContainsFunc(failures, func(f *group.Failure) bool { return !f.Counts }) {
		return true // at once, whatever the others wait for
	}
	count := int32(0)
	for _, c := range tw.in.Restarts {
		if c.Index == index && c.Revision == v.Revision {
			count = c.Count
			if tw.in.Now.Before(c.LastAt.Add(rollout.RestartDelay(c.Count - c.Settled))) {
				return false
			}
		}
	}
	return t.MaxGroupRestarts == nil || count < *t.MaxGroupRestarts
}

// proven: a group of the update revision has become Ready.
func (tw *twin) proven() bool {
	for i, v := range tw.groups {
		_, torn := tw.entries[i]
		if torn || !tw.wanted(i) {
			torn = !tw.reading.goingProves
		}
		if v.HasPods && !torn && v.Revision == tw.in.Update && (v.EverReady() || tw.ready(i) && !tw.reading.marked) {
			return true
		}
	}
	return false
}

// The limit falls only when every group of the old revision is broken.
func (tw *twin) oldAllBroken() bool {
	for i, v := range tw.groups {
		_, torn := tw.entries[i]
		if v.HasPods && !torn && i < tw.r && v.Revision != tw.in.Update && !tw.broken(i) {
			return false
		}
	}
	return true
}

// limited: the update revision may hold only so many groups not Ready or on
// their way.
func (tw *twin) limited() bool { return !tw.proven() && !tw.oldAllBroken() }

// limit is max(1, U+S), and as many more as were never established: of two wanted
// groups of which one has ever been available, one Pending at the update revision
// does not hold the other.
func (tw *twin) limit() int {
	return int(max(1, tw.u+tw.s) + tw.r - min(tw.r, tw.in.Established))
}

// onTheirWay counts the groups of the update revision that are not Ready or on
// their way, whatever is decided now.
func (tw *twin) onTheirWay() (n int) {
	for i := range tw.r + tw.s {
		if !tw.view(i).HasPods && tw.buildsAt(i) == tw.in.Update && tw.wanted(i) && (tw.moves(i) || tw.reading.below) {
			n++
		}
	}
	for i, v := range tw.groups {
		e, torn := tw.entries[i]
		counts := tw.wanted(i) || tw.reading.goingCounts
		if torn {
			counts = tw.wanted(i) || tw.reading.tornCounts
		}
		switch {
		case !v.HasPods || !counts:
		case torn && e.Cause == v1.RecycleScaleDown && !tw.reading.tornCounts:
		case torn && e.Cause != v1.RecycleScaleDown:
			if tw.buildsAt(i) == tw.in.Update {
				n++
			}
		case v.Revision == tw.in.Update && (!v.AllReady || tw.left(i) || tw.failed(i)):
			n++
		}
	}
	return n
}

// kind is what a move to the update revision starts from; those that the contract
// puts in an order come last, in that order.
type kind int

const (
	failedGroup kind = iota
	newGroup
	newLater // as newGroup, but the ceiling holds it back
	newSurge
	brokenGroup
	notReadyGroup
	availableGroup
)

// mover is a group that can be brought to the update revision now.
type mover struct {
	index int32
	kind  kind
}

// movers are the groups that could be brought to the update revision now.
func (tw *twin) movers() (out []mover) {
	created := tw.createdNow()
	for i := range tw.r {
		if tw.in.Paused { // no further group is taken to the update revision
			break
		}
		v := tw.view(i)
		_, torn := tw.entries[i]
		switch {
		case torn || !tw.moves(i) || v.HasPods && v.Revision == tw.in.Update:
		case !v.HasPods && tw.in.Current == tw.in.Update:
		case !v.HasPods && created[i]:
			out = append(out, mover{i, newGroup})
		case !v.HasPods:
			out = append(out, mover{i, newLater})
		case tw.failed(i):
			out = append(out, mover{i, failedGroup})
		case tw.broken(i):
			out = append(out, mover{i, brokenGroup})
		case tw.available(i):
			out = append(out, mover{i, availableGroup})
		default:
			out = append(out, mover{i, notReadyGroup})
		}
	}
	for _, i := range tw.surge {
		if created[i] {
			out = append(out, mover{i, newSurge})
		}
	}
	return out
}

// createdNow are the groups without pods that are built now. Ceiling: no create
// brings the groups alive above R+S. Alive: any pod object exists.
func (tw *twin) createdNow() map[int32]bool {
	alive := int32(0)
	for _, v := range tw.groups {
		if v.HasPods {
			alive++
		}
	}
	out := map[int32]bool{}
	for i := range tw.r + tw.s {
		if (tw.wanted(i) || slices.Contains(tw.surge, i)) && !tw.view(i).HasPods && alive < tw.r+tw.s {
			out[i] = true
			alive++
		}
	}
	return out
}

// choice says which of the movers are brought to the update revision now.
type choice map[mover]bool

func (c choice) count(kinds ...kind) (n int) {
	for m, yes := range c {
		if yes && slices.Contains(kinds, m.kind) {
			n++
		}
	}
	return n
}

// left says that one of the kind is left out.
func (c choice) left(k kind) bool {
	for m, yes := range c {
		if !yes && m.kind == k {
			return true
		}
	}
	return false
}

// Proven before unproven: while no group of the update revision has become Ready,
// at most max(1, U+S) groups of it are not Ready or on their way.
func (tw *twin) keepsLimit(c choice) bool {
	added := c.count(failedGroup, newGroup, newLater, newSurge, brokenGroup, notReadyGroup, availableGroup)
	if !tw.limited() {
		return !c.left(failedGroup) && !c.left(newGroup) && !c.left(newLater)
	}
	return added == 0 || tw.onTheirWay()+added <= tw.limit()
}

// Order: broken outdated groups first, all at once, without budget; then those
// merely not Ready; then available ones from the highest index down.
func (tw *twin) keepsOrder(c choice) bool {
	if c.left(brokenGroup) && c.count(notReadyGroup, availableGroup) > 0 {
		return false
	}
	for m, yes := range c {
		for o, too := range c {
			if yes && !too && m.kind == o.kind && m.index < o.index && m.kind >= brokenGroup {
				return false
			}
		}
	}
	if c.left(notReadyGroup) && c.count(availableGroup) > 0 {
		return tw.onTheirWay()+c.count(failedGroup, newGroup, newLater, brokenGroup, notReadyGroup) >= tw.limit()
	}
	return true
}

// Those merely not Ready, as long as fewer than max(1, U+S) groups of the update
// revision are not Ready or on their way.
func (tw *twin) keepsNotReady(c choice) bool {
	return c.count(notReadyGroup) == 0 ||
		tw.onTheirWay()+c.count(failedGroup, newGroup, newLater, brokenGroup, notReadyGroup) <= tw.limit()
}

// Floor: an available group is taken down only if the available groups that
// remain (surge included) are >= min(R, E) - U.
func (tw *twin) keepsFloor(c choice) bool {
	remain, goes := int32(0), tw.scaledDown()
	for i := range tw.groups {
		if tw.available(i) && !goes[i] && !tw.failed(i) && !c[mover{i, availableGroup}] {
			remain++
		}
	}
	return c.count(availableGroup) == 0 || remain >= min(tw.r, tw.in.Established)-tw.u
}

func (tw *twin) permitted(c choice) bool {
	return tw.keepsLimit(c) && tw.keepsOrder(c) && tw.keepsNotReady(c) && tw.keepsFloor(c)
}

// full: nothing more could be brought to the update revision.
func (tw *twin) full(c choice) bool {
	for m, yes := range c {
		if yes || tw.free(m) {
			continue
		}
		more := maps.Clone(c)
		more[m] = true
		if tw.permitted(more) {
			return false
		}
	}
	return true
}

// free: the contract leaves open whether this is done now.
func (tw *twin) free(m mover) bool {
	return m.kind == newSurge && (!tw.updating() || tw.in.Paused) || tw.short()
}

// short: there are not places enough at an unproven revision for the new groups
// alone. They may hold them and yet be made at currentRevision.
func (tw *twin) short() bool {
	n := tw.onTheirWay()
	for _, m := range tw.movers() {
		if m.kind == newGroup || m.kind == newLater {
			n++
		}
	}
	return tw.limited() && n > tw.limit()
}

// updating: some existing group with partition <= index < replicas lacks the
// update revision.
func (tw *twin) updating() bool {
	for i, v := range tw.groups {
		if _, torn := tw.entries[i]; v.HasPods && !torn && tw.moves(i) && v.Revision != tw.in.Update {
			return true
		}
	}
	return false
}

// choices are all that the contract permits.
func (tw *twin) choices() (out []choice) {
	movers := tw.movers()
	for set := range 1 << len(movers) {
		c := choice{}
		for bit, m := range movers {
			c[m] = set>>bit&1 == 1
		}
		if tw.permitted(c) && tw.full(c) {
			out = append(out, c)
		}
	}
	return out
}

// answer is what a plan does, as far as the contract fixes it.
type answer struct {
	scaleDown []int32
	rebuilt   map[int32]string // groups torn down otherwise, and to which revision
	created   map[int32]string // groups that had no pods
	completed map[int32]string // groups that had some
}

func (a answer) String() string {
	return fmt.Sprintf("scaleDown%v rebuilt%v created%v completed%v", a.scaleDown, a.rebuilt, a.created, a.completed)
}

// answers are the plans that the contract permits.
func (tw *twin) answers() (out []string) {
	for _, c := range tw.choices() {
		out = append(out, tw.answer(c).String())
	}
	return out
}

func (tw *twin) answer(c choice) answer {
	a := answer{rebuilt: map[int32]string{}, created: map[int32]string{}, completed: map[int32]string{},
		scaleDown: slices.Sorted(maps.Keys(tw.scaledDown()))}
	a.scaleDown = slices.DeleteFunc(a.scaleDown, func(i int32) bool { return hasEntry(tw.in, i) })
	for i := range tw.groups {
		if tw.failed(i) {
			a.rebuilt[i] = tw.view(i).Revision
		}
	}
	for i := range tw.createdNow() {
		if !slices.Contains(tw.surge, i) {
			a.created[i] = tw.buildsAt(i)
		}
	}
	for m, yes := range c {
		switch {
		case !yes:
		case m.kind == newLater:
		case m.kind == newGroup || m.kind == newSurge:
			a.created[m.index] = tw.in.Update
		default:
			a.rebuilt[m.index] = tw.in.Update
		}
	}
	for i, v := range tw.groups {
		if _, torn := a.rebuilt[i]; tw.completes(i) && !torn {
			a.completed[i] = v.Revision
		}
	}
	return a
}

// A group without pods is built at the revision of its entry, but what is torn
// down for an update moves to the update revision as it now is. One without an
// entry is built at currentRevision when its index is below the partition, else at
// updateRevision, subject to the limit: then at currentRevision too.
func (tw *twin) buildsAt(index int32) string {
	e, torn := tw.entries[index]
	switch {
	case torn && tw.in.Paused:
		return e.Revision
	case torn && e.Cause == v1.RecycleUpdate && tw.moves(index):
		return tw.in.Update
	case torn && e.Cause == v1.RecycleUpdate:
		return tw.in.Current
	case torn:
		return e.Revision
	default:
		return tw.in.Current
	}
}

// completes: pods are made that the group has never had.
func (tw *twin) completes(index int32) bool {
	v := tw.view(index)
	_, torn := tw.entries[index]
	return !torn && tw.wanted(index) && len(v.Missing) > 0 && v.Terminating == 0 && v.Leader != nil && !tw.failed(index) &&
		(!tw.in.LeaderFirst || v.LeaderReady())
}

// hasEntry: the group is torn down already; that it is now for another cause may
// be put on record or not.
func hasEntry(in rollout.Input, index int32) bool {
	return slices.ContainsFunc(in.Recycling, func(e v1.RecyclingGroup) bool { return e.Index == index })
}

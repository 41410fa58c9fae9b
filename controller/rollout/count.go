package rollout

import (
	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Tally is a recount of the groups.
type Tally struct {
	Phases map[group.Phase]int32
	// Exist, Ready and Updated count groups of any index.
	Exist, Ready, Updated int32
	// Desired is how many groups are wanted, DesiredReady how many of them are
	// Ready, OnTheWay how many are neither Ready nor given up.
	Desired, DesiredReady, OnTheWay int32
	// Outdated are existing groups that should have the update revision and do not.
	Outdated int32
	// Updating: some of them are on their way to it, or will be without anybody's
	// doing. Progressing: that, or some group is not Ready.
	Updating, Progressing bool
	// Established is the most wanted groups that ever served at one time, those that
	// do now included: that were available, or Ready and waiting for their turn.
	Established int32
	// Spent are the groups that are left as they are.
	Spent []Spent
	// Current is the revision that all wanted groups had when they last were Ready
	// at one.
	Current string
}

// Count recounts the groups. It is the only source of the numbers in a status.
func Count(in Input) Tally {
	t := Tally{Phases: map[group.Phase]int32{}, Desired: in.Replicas, Current: in.Current}
	entries := make(map[int32]*v1.RecyclingGroup, len(in.Recycling))
	for i := range in.Recycling {
		entries[in.Recycling[i].Index] = &in.Recycling[i]
	}
	known, serving, settled := int32(0), int32(0), true
	for i := range in.Groups {
		v := &in.Groups[i]
		wanted := v.Index < t.Desired
		spent := in.SpentBy(v)
		phase := group.PhaseOf(v, wanted, entries[v.Index], spent != nil)
		if phase == group.Gone {
			continue
		}
		t.Phases[phase]++
		if v.Leader != nil {
			t.Exist++
		}
		if phase == group.Failed {
			t.Spent = append(t.Spent, *spent)
		}
		if phase == group.Ready {
			t.Ready++
		}
		atUpdate := v.Revision == in.Update
		if v.Whole && atUpdate && phase != group.Recycling {
			t.Updated++
		}
		if !wanted {
			continue
		}
		known++
		switch phase {
		case group.Ready:
			t.DesiredReady++
			if in.serves(v) {
				serving++
			}
		case group.Failed:
		default:
			t.OnTheWay++
		}
		if v.HasPods && v.Index >= in.Partition && !atUpdate {
			t.Outdated++
		}
		settled = settled && phase == group.Ready && atUpdate
	}
	// Of the others nothing exists yet.
	t.Phases[group.Pending] += t.Desired - known
	t.OnTheWay += t.Desired - known
	t.Updating = t.Outdated > 0 && !in.Paused
	t.Progressing = t.Updating || t.OnTheWay > 0
	t.Established = min(t.Desired, max(in.Established, serving))
	// Where nothing is wanted, a pause or a partition has not ended either.
	if settled && known == t.Desired && (t.Desired > 0 || !in.Paused && in.Partition == 0) {
		t.Current = in.Update
	}
	return t
}

package topology

import v1 "lws-controller/api/v1"

// SubGroupSize is the number of pods per subgroup, or 0 when the group has no
// subgroups. A stored policy without a usable size counts as none.
func (g *Group) SubGroupSize() int32 {
	if g.Template == nil || g.Template.SubGroupPolicy == nil {
		return 0
	}
	size := g.Template.SubGroupPolicy.SubGroupSize
	if size == nil || *size < 1 {
		return 0
	}
	return *size
}

// SubGroupType is where the leader belongs, LeaderWorker by default.
func (g *Group) SubGroupType() v1.SubGroupPolicyType {
	if g.Template != nil && g.Template.SubGroupPolicy != nil {
		if t := g.Template.SubGroupPolicy.Type; t != nil && *t == v1.SubGroupPolicyLeaderExcluded {
			return v1.SubGroupPolicyLeaderExcluded
		}
	}
	return v1.SubGroupPolicyLeaderWorker
}

// SubGroup is the index of the subgroup that a pod belongs to; false when it
// belongs to none: there are no subgroups, or it is a leader that is excluded.
//
// When only the workers are divisible into subgroups, the leader is an extra
// member of the first: size 5 by 2 is {0 1 2} {3 4}. When all pods are, the
// leader is an ordinary member: size 4 by 2 is {0 1} {2 3}. An excluded leader
// changes nothing for the workers: size 5 by 2 is {1 2} {3 4}.
func (g *Group) SubGroup(worker int32) (index int32, ok bool) {
	size, per := g.Size(), g.SubGroupSize()
	switch {
	case per == 0:
		return 0, false
	case worker == 0:
		return 0, g.SubGroupType() != v1.SubGroupPolicyLeaderExcluded
	case (size-1)%per == 0 && size%per != 0:
		return (worker - 1) / per, true
	default:
		return worker / per, true
	}
}

// peers are the pods that a pod computes together with, itself included, in
// order: its subgroup, or the whole group when there are no subgroups. They are
// none for an excluded leader.
func (g *Group) peers(worker int32) []int32 {
	own, member := g.SubGroup(worker)
	if g.SubGroupSize() > 0 && !member {
		return nil
	}
	var peers []int32
	for w := range g.Size() {
		if index, ok := g.SubGroup(w); ok == member && index == own {
			peers = append(peers, w)
		}
	}
	return peers
}

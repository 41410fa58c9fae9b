package invariant

import (
	"fmt"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// s7Established is the part of S7 that is about what the floor is counted from:
// established is the most wanted groups that were ever available at one time. It goes
// up only to what could be seen available, and down only with the replicas. A status
// is written with the version of the set as precondition, so the author knew Before.
func (c *Checker) s7Established(ch *Change) string {
	after, ok := ch.After.(*v1.LeaderWorkerSet)
	if !ok || ch.By != Controller || ch.Subresource != "status" || ch.Seen == nil {
		return ""
	}
	before := ch.Before.(*v1.LeaderWorkerSet)
	was, is, most := before.Status.EstablishedReplicas, after.Status.EstablishedReplicas, replicas(before)
	switch {
	case was == is && is <= most:
		return ""
	case is > most:
		return fmt.Sprintf("%d groups are established, %d are wanted", is, most)
	case is < min(was, most):
		return fmt.Sprintf("established goes from %d to %d with %d groups wanted", was, is, most)
	case is <= was:
		return ""
	}
	c.count("S7")
	available := map[int32]bool{}
	for _, version := range c.versionsSince(ch.Seen.Pods) {
		for index, mates := range groupsOf(c.podsAt(version), after.UID) {
			if index < most && whollyReady(mates) {
				available[index] = true
			}
		}
	}
	if int(is) > len(available) {
		return fmt.Sprintf("established goes from %d to %d, and no more than %d groups were Ready", was, is, len(available))
	}
	return ""
}

// s9Partition is the part of S9 that is about a partition: no update begins of a
// group below it, and where nothing is of a group, it is built at the revision of the
// last rollout that ended.
func (c *Checker) s9Partition(ch *Change) string {
	before, _, started := startedEntries(ch)
	for _, e := range started {
		if first := partition(before); e.Cause == v1.RecycleUpdate && first > 0 {
			c.count("S9")
			if e.Index < first {
				return fmt.Sprintf("an update of group %d begins, which is below the partition %d", e.Index, first)
			}
		}
	}
	p, at, ok := createdPod(ch)
	if !ok || at.worker > 0 || ch.Seen == nil || c.sets[at.set] == nil {
		return ""
	}
	for _, s := range append(append([]*v1.LeaderWorkerSet{ch.Seen.Set}, ch.Seen.Later...), c.sets[at.set]) {
		current := s.Status.CurrentRevision
		if current == "" || at.group >= partition(s) || onRecord(s, at.group) || revisionOf(p) == current || c.revision(at, current) == nil {
			return ""
		}
	}
	c.count("S9")
	return fmt.Sprintf("group %d is below the partition, and %s is created at revision %s, not %s", at.group, topology.LeaderName(at.set.Name, at.group),
		revisionOf(p), c.sets[at.set].Status.CurrentRevision)
}

// onRecord says that a teardown of the group is on record.
func onRecord(s *v1.LeaderWorkerSet, index int32) bool {
	for _, e := range s.Status.Recycling {
		if e.Index == index {
			return true
		}
	}
	return false
}

package invariant

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

// budget is maxUnavailable and maxSurge in groups, by the words of the contract:
// unavailable rounded down, surge rounded up and at most the replicas; where both
// come to 0, one unavailable; with surge, at most replicas-1 unavailable.
func budget(s *v1.LeaderWorkerSet) (unavailable, surge int32) {
	r := replicas(s)
	unavailable = 1
	if c := s.Spec.RolloutStrategy.RollingUpdateConfiguration; c != nil {
		c, steer := *c, steering(s)
		if steer.MaxUnavailable != nil {
			c.MaxUnavailable = *steer.MaxUnavailable
		}
		if steer.MaxSurge != nil {
			c.MaxSurge = *steer.MaxSurge
		}
		u, _ := intstr.GetScaledValueFromIntOrPercent(&c.MaxUnavailable, int(r), false)
		m, _ := intstr.GetScaledValueFromIntOrPercent(&c.MaxSurge, int(r), true)
		unavailable, surge = int32(u), min(int32(m), r)
	}
	if surge >= 1 {
		unavailable = min(unavailable, r-1)
	} else if unavailable == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

// startedEntries are the teardowns that a status write of the controller began.
func startedEntries(ch *Change) (before, after *v1.LeaderWorkerSet, started []v1.RecyclingGroup) {
	after, ok := ch.After.(*v1.LeaderWorkerSet)
	if !ok || ch.By != Controller || ch.Subresource != "status" {
		return nil, nil, nil
	}
	before, _ = ch.Before.(*v1.LeaderWorkerSet)
	for _, e := range after.Status.Recycling {
		known := slices.ContainsFunc(before.Status.Recycling, func(o v1.RecyclingGroup) bool {
			return o.Index == e.Index && o.Incarnation == e.Incarnation && o.Cause == e.Cause
		})
		if !known {
			started = append(started, e)
		}
	}
	return before, after, started
}

// allSince is the message of a judgement that comes out bad for the pods of a set at
// every moment since a version: what happened meanwhile may be known or not.
func (c *Checker) allSince(at int64, set types.UID, judge func([]*corev1.Pod) string) string {
	now := labelled(c.podsNow())
	message := judge(now)
	for _, version := range c.versionsSince(at) {
		if message == "" {
			break
		}
		message = judge(c.withOwnDoing(c.podsAt(version), now, set))
	}
	return message
}

// withOwnDoing are the pods as they were at some moment, save what the controller has
// done since: groups that it has begun to build anew, and conditions that it has put on
// leaders, are as they are now. It need not wait for its cache to know what it did.
func (c *Checker) withOwnDoing(pods, now []*corev1.Pod, set types.UID) []*corev1.Pod {
	out, groups := []*corev1.Pod(nil), groupsOf(now, set)
	for index, mates := range groupsOf(pods, set) {
		if f := c.group(set, index); !c.Several && f.incarnation > incarnation(mates[0]) && f.made[f.incarnation] {
			mates = groups[index]
		}
		for _, p := range mates {
			out = append(out, withMark(p, groups[index]))
		}
	}
	return out
}

// withMark is the pod with the GroupReady condition that it has by now.
func withMark(p *corev1.Pod, now []*corev1.Pod) *corev1.Pod {
	for _, later := range now {
		mark := groupReady(later)
		if later.UID != p.UID || mark == nil {
			continue
		}
		with := *p
		with.Status.Conditions = append(slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool {
			return c.Type == v1.ConditionGroupReady
		}), *mark)
		return &with
	}
	return p
}

// S7: an available group is taken down for an update only if those that remain
// are at least min(R, E) - U. A group that has failed meanwhile, unseen, is not
// our doing.
func S7(c *Checker, ch *Change) string {
	if message := c.s7Established(ch); message != "" {
		return message
	}
	_, after, started := startedEntries(ch)
	ours := func(e v1.RecyclingGroup) bool { return e.Cause == v1.RecycleUpdate || e.Cause == v1.RecycleRequested }
	if ch.Seen == nil || !slices.ContainsFunc(started, ours) {
		return ""
	}
	c.count("S7")
	judge := func(pods []*corev1.Pod) string {
		unavailable, surge := budget(ch.Seen.Set)
		remain, taken := int32(0), []int32{}
		serving, mayTake := int32(0), int32(0)
		for index, mates := range groupsOf(pods, after.UID) {
			if serves(ch, mates, index, after.Status.UpdateRevision) && index < replicas(ch.Seen.Set) {
				serving++
				if slices.ContainsFunc(started, func(e v1.RecyclingGroup) bool { return e.Index == index && ours(e) }) && !c.failed(after.UID, index, incarnation(mates[0])) {
					mayTake++
				}
			}
			going := slices.ContainsFunc(after.Status.Recycling, func(e v1.RecyclingGroup) bool {
				return e.Index == index && e.Incarnation >= incarnation(mates[0])
			})
			switch {
			case !available(ch, mates):
			case !going:
				remain++
			case c.failed(after.UID, index, incarnation(mates[0])):
				// It is recreated anyway, and may come back updated.
			case slices.ContainsFunc(started, func(e v1.RecyclingGroup) bool { return e.Index == index && ours(e) }):
				taken = append(taken, index)
			}
		}
		if unavailable == 0 && c.onlyWithoutStandIn(ch, started, taken) {
			unavailable = 1
		}
		floor := min(replicas(ch.Seen.Set), after.Status.EstablishedReplicas) - unavailable
		if len(taken) > 0 && remain < floor {
			slices.Sort(taken)
			return fmt.Sprintf("groups %v, which were available, are taken down for an update: %d remain available, the floor is %d", taken, remain, floor)
		}
		// However short a time they have been Ready, never all at once.
		if mayTake > max(unavailable+surge, 1) && after.Status.EstablishedReplicas < serving {
			return fmt.Sprintf("%d Ready groups are taken down at once, where %d may be unavailable", mayTake, unavailable)
		}
		return ""
	}
	return c.allSince(ch.Seen.Pods, after.UID, judge)
}

// S8: no create raises the groups alive above R+S, and none is for an index
// beyond. Groups that came into being unseen are not counted, save those that the
// controller made.
func S8(c *Checker, ch *Change) string {
	p, at, ok := createdPod(ch)
	if !ok || ch.Seen == nil {
		return ""
	}
	c.count("S8")
	limit := int32(0)
	for _, s := range slices.Concat(ch.Seen.Later, []*v1.LeaderWorkerSet{ch.Seen.Set}) {
		_, surge := budget(s)
		limit = max(limit, replicas(s)+surge)
	}
	if at.group >= limit {
		return fmt.Sprintf("pod %s created, where indices end at %d", p.Name, limit-1)
	}
	now := groupsOf(labelled(c.podsNow()), at.uid)
	seen := groupsOf(c.podsAt(ch.Seen.Pods), at.uid)
	if len(now[at.group]) > 1 || len(seen[at.group]) > 0 || int32(len(now)) <= limit {
		return ""
	}
	for _, version := range c.versionsSince(ch.Seen.Pods) {
		// It may have been read live, before it lost its label.
		if slices.ContainsFunc(groupsOf(c.podsAt(version), at.uid)[at.group], func(mate *corev1.Pod) bool {
			return mate.Name != p.Name && incarnation(mate) == incarnation(p)
		}) {
			return ""
		}
	}
	known := map[int32]bool{at.group: true}
	for index, mates := range now {
		made := !c.Several && c.group(at.uid, index).made[incarnation(mates[0])]
		if made || len(seen[index]) > 0 {
			known[index] = true
		}
	}
	if int32(len(known)) > limit {
		return fmt.Sprintf("pod %s created: %d groups are alive, %d may be", p.Name, len(known), limit)
	}
	return ""
}

// S9: a group that failed is built again at the revision that its teardown
// recorded, which is the one it had.
func S9(c *Checker, ch *Change) string {
	for _, part := range []func(*Change) string{c.s9Paused, c.s9Partition} {
		if message := part(ch); message != "" {
			return message
		}
	}
	p, at, ok := createdPod(ch)
	if !ok {
		return ""
	}
	set := c.sets[at.set]
	if set == nil || set.UID != at.uid || c.revision(at, revisionOf(p)) == nil {
		return ""
	}
	for _, e := range set.Status.Recycling {
		if e.Index != at.group || e.Incarnation+1 != incarnation(p) || c.revision(at, e.Revision) == nil {
			continue
		}
		// Updates, surge groups, and groups that are wanted again, go to what the spec says now.
		if e.Cause != v1.RecycleFailure || e.Index >= replicas(set) {
			continue
		}
		c.count("S9")
		if revisionOf(p) != e.Revision {
			return fmt.Sprintf("pod %s created at revision %s, its teardown recorded %s", p.Name, revisionOf(p), e.Revision)
		}
	}
	return ""
}

// revision is the stored revision of a set with this key.
func (c *Checker) revision(at place, key string) *appsv1.ControllerRevision {
	for _, r := range c.revisions {
		if r.Namespace == at.set.Namespace && owner(r) == at.uid && r.Labels[v1.LabelName] == at.set.Name && r.Labels[v1.LabelRevision] == key {
			return r
		}
	}
	return nil
}

// S10: no group goes to a lower revision number, unless that is the one of the
// present spec.
func S10(c *Checker, ch *Change) string {
	_, after, started := startedEntries(ch)
	for _, e := range started {
		f := c.group(after.UID, e.Index)
		if c.Several || e.Cause == v1.RecycleScaleDown || e.Revision == after.Status.UpdateRevision {
			continue
		}
		at := place{set: types.NamespacedName{Namespace: after.Namespace, Name: after.Name}, uid: after.UID}
		from, to := c.revision(at, f.revision), c.revision(at, e.Revision)
		if from == nil || to == nil {
			continue
		}
		c.count("S10")
		if to.Revision < from.Revision {
			return fmt.Sprintf("group %d goes from revision %d back to %d", e.Index, from.Revision, to.Revision)
		}
	}
	return ""
}

// S10a: while no group of the update revision has ever been Ready and one of
// another still serves, at most max(1, U+S) groups are not Ready and at the
// update revision or on their way to it; groups that never were come on top.
func S10a(c *Checker, ch *Change) string {
	_, after, started := startedEntries(ch)
	if ch.Seen == nil || !slices.ContainsFunc(started, func(e v1.RecyclingGroup) bool { return e.Cause == v1.RecycleUpdate }) {
		return ""
	}
	unavailable, surge := budget(ch.Seen.Set)
	limit := max(1, unavailable+surge) + replicas(ch.Seen.Set) - min(replicas(ch.Seen.Set), after.Status.EstablishedReplicas)
	judge := func(pods []*corev1.Pod) string {
		update, unready, serving := after.Status.UpdateRevision, int32(0), false
		for _, e := range after.Status.Recycling {
			if e.Revision == update && e.Index < replicas(after) {
				unready++
			}
		}
		for index, mates := range groupsOf(pods, after.UID) {
			going := slices.ContainsFunc(after.Status.Recycling, func(e v1.RecyclingGroup) bool { return e.Index == index })
			switch {
			case revisionOf(mates[0]) == update && c.group(after.UID, index).ready[incarnation(mates[0])]:
				return ""
			case going:
			case revisionOf(mates[0]) == update:
				unready++
			default:
				serving = serving || whollyReady(mates)
			}
		}
		if serving && unready > limit {
			return fmt.Sprintf("%d groups are not Ready at the unproven revision %s or on their way to it, %d may be", unready, update, limit)
		}
		return ""
	}
	c.count("S10a")
	return c.allSince(ch.Seen.Pods, after.UID, judge)
}

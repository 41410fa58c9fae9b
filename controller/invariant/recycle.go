package invariant

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// S11: a recreation follows a failure of that very incarnation, and there is one
// at most. What the controller deletes itself is no failure, which only the record
// of the teardown can tell after a crash: no pod is deleted before that stands.
func S11(c *Checker, ch *Change) string {
	if message := c.recordedFirst(ch); message != "" {
		return message
	}
	if message := c.s11Requested(ch); message != "" {
		return message
	}
	_, after, started := startedEntries(ch)
	for _, e := range started {
		if e.Cause != v1.RecycleFailure {
			continue
		}
		c.count("S11")
		f := c.group(after.UID, e.Index)
		if c.Several {
			continue
		}
		at := place{set: types.NamespacedName{Namespace: after.Namespace, Name: after.Name}, uid: after.UID}
		if c.revision(at, f.revision) == nil {
			continue // somebody has deleted it: what is missing cannot be made
		}
		if !c.failed(after.UID, e.Index, e.Incarnation) {
			return fmt.Sprintf("group %d is recreated because of a failure of incarnation %d that never was", e.Index, e.Incarnation)
		}
		if f.recreated[e.Incarnation] {
			return fmt.Sprintf("group %d is recreated a second time for incarnation %d", e.Index, e.Incarnation)
		}
		if message := c.s11Policy(ch, after, e); message != "" {
			return message
		}
		f.recreated[e.Incarnation] = true
	}
	return ""
}

// recordedFirst says what is wrong with a deletion by the controller that no
// teardown on record speaks of. Strays and single pods that have ended need none.
func (c *Checker) recordedFirst(ch *Change) string {
	p, ok := ch.Before.(*corev1.Pod)
	if !ok || ch.By != Controller || ch.Verb != Delete || terminating(p) || c.Several {
		return ""
	}
	at, ok := placeOf(p)
	set := c.sets[at.set]
	if !ok || set == nil || set.UID != at.uid || ended(p) {
		return ""
	}
	c.count("S11")
	for _, e := range set.Status.Recycling {
		if e.Index == at.group && e.Incarnation >= incarnation(p) {
			return ""
		}
	}
	mates := append(ofGroup(c.podsNow(), at.uid, at.group), p)
	for _, mate := range mates {
		if incarnation(mate) > incarnation(p) {
			return ""
		}
	}
	if int(at.worker) >= size(mates) {
		return ""
	}
	return fmt.Sprintf("pod %s deleted, and no teardown of its group is on record", p.Name)
}

// forgetAfter is how long a group must have been Ready until restarts are
// forgotten.
const forgetAfter = 10 * time.Minute

// S12: a restart count goes up by one with each recreation because of a failure
// that counts, and with nothing else; it goes away only when the group has been
// Ready for 10 minutes and has no budget, is not wanted any more, has another revision,
// or somebody has asked for that. The next recreation waits for its backoff, and none
// is beyond the budget.
func S12(c *Checker, ch *Change) string {
	if message := c.s12Reset(ch); message != "" {
		return message
	}
	before, after, started := startedEntries(ch)
	if after == nil {
		return ""
	}
	old, now := byGroup(before), byGroup(after)
	for _, e := range started {
		if message := c.s12Recreation(after, e, old[e.Index], now[e.Index]); message != "" {
			return message
		}
	}
	for _, r := range after.Status.GroupRestarts {
		was, known := old[r.Index]
		delete(old, r.Index)
		if known && was.Revision != r.Revision {
			was = v1.GroupRestarts{}
		}
		if r.Count == was.Count {
			continue
		}
		c.count("S12")
		i := slices.IndexFunc(started, func(e v1.RecyclingGroup) bool { return e.Index == r.Index && e.Cause == v1.RecycleFailure })
		switch {
		case r.Count != was.Count+1:
			return fmt.Sprintf("restart count of group %d goes from %d to %d", r.Index, was.Count, r.Count)
		case i < 0:
			return fmt.Sprintf("restart count of group %d goes up without a recreation because of a failure", r.Index)
		case !c.group(after.UID, r.Index).failures[started[i].Incarnation]:
			return fmt.Sprintf("restart count of group %d goes up although nothing failed that counts", r.Index)
		}
		if due := was.LastAt.Add(restartDelay(was.Count - was.Settled)); was.Count > was.Settled && ch.At.Before(due) {
			return fmt.Sprintf("group %d is recreated %s before its backoff is over", r.Index, due.Sub(ch.At))
		}
	}
	if steering(before).Recover && len(after.Status.GroupRestarts) == 0 {
		return "" // it was asked for
	}
	for index, r := range old {
		if why := c.mustRemember(ch, after, index, r); why != "" {
			return why
		}
	}
	return ""
}

func byGroup(s *v1.LeaderWorkerSet) map[int32]v1.GroupRestarts {
	out := map[int32]v1.GroupRestarts{}
	for _, r := range s.Status.GroupRestarts {
		out[r.Index] = r
	}
	return out
}

// s12Recreation looks at one teardown that begins because of a failure.
func (c *Checker) s12Recreation(after *v1.LeaderWorkerSet, e v1.RecyclingGroup, was, is v1.GroupRestarts) string {
	at := place{set: types.NamespacedName{Namespace: after.Namespace, Name: after.Name}, uid: after.UID}
	if e.Cause != v1.RecycleFailure || c.Several || c.revision(at, c.group(after.UID, e.Index).revision) == nil {
		return ""
	}
	if was.Revision != is.Revision {
		was.Count = 0
	}
	c.count("S12")
	return c.s12Budget(after, e, was.Count, is.Count)
}

// mustRemember says why a restart count should not have been dropped.
func (c *Checker) mustRemember(ch *Change, after *v1.LeaderWorkerSet, index int32, r v1.GroupRestarts) string {
	c.count("S12")
	if s := c.seenSet(ch); s == nil || index >= replicas(s) {
		return ""
	}
	for _, e := range after.Status.Recycling {
		if e.Index == index && e.Revision != r.Revision {
			return ""
		}
	}
	mates := ofGroup(c.podsNow(), after.UID, index)
	for _, p := range mates {
		if revisionOf(p) != r.Revision {
			return ""
		}
		if p.Name == topology.LeaderName(after.Name, index) {
			_, budget := c.policyOf(after, r.Revision)
			if g := groupReady(p); g != nil && g.Status == corev1.ConditionTrue && ch.At.Sub(g.LastTransitionTime.Time) >= forgetAfter && budget == nil {
				return ""
			}
		}
	}
	return fmt.Sprintf("restart count %d of group %d was dropped", r.Count, index)
}

// restartDelay is the backoff of the contract: 10 s, 20 s, ... 5 min.
func restartDelay(count int32) time.Duration {
	return min(10*time.Second<<min(max(count-1, 0), 10), 5*time.Minute)
}

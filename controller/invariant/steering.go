package invariant

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// steering is what the annotations of a set ask for. How they are spelled is taken
// from the planner, what they mean is not.
func steering(s *v1.LeaderWorkerSet) rollout.Steering {
	out, _ := rollout.ReadSteering(s.Annotations)
	return out
}

func partition(s *v1.LeaderWorkerSet) int32 {
	if p := steering(s).Partition; p != nil {
		n, _ := intstr.GetScaledValueFromIntOrPercent(p, int(replicas(s)), true)
		return int32(n)
	}
	if cfg := s.Spec.RolloutStrategy.RollingUpdateConfiguration; cfg != nil && cfg.Partition != nil {
		return *cfg.Partition
	}
	return 0
}

// pausedFor says that the author of a change knew of a pause, whichever version of
// the set its cache showed.
func (c *Checker) pausedFor(ch *Change) bool {
	if ch.Seen == nil {
		return false
	}
	return !slices.ContainsFunc(append(ch.Seen.Later, ch.Seen.Set), func(s *v1.LeaderWorkerSet) bool { return !steering(s).Paused })
}

// s9Paused is the part of S9 that is about a pause: no update of a group begins.
func (c *Checker) s9Paused(ch *Change) string {
	_, _, started := startedEntries(ch)
	if !c.pausedFor(ch) {
		return ""
	}
	for _, e := range started {
		c.count("S9")
		if e.Cause == v1.RecycleUpdate {
			return fmt.Sprintf("an update of group %d begins while the rollout is paused", e.Index)
		}
	}
	return ""
}

// s11Requested is the part of S11 that is about recreations which somebody asked for:
// one at most for each request and group.
func (c *Checker) s11Requested(ch *Change) string {
	_, after, started := startedEntries(ch)
	for _, e := range started {
		if e.Cause != v1.RecycleRequested || ch.Seen == nil {
			continue
		}
		c.count("S11")
		request := steering(ch.Seen.Set).Recycle
		if !request.Names(e.Index) || ch.At.Before(request.At) {
			return fmt.Sprintf("group %d is recreated by request, and there is none for it", e.Index)
		}
		if made := c.group(after.UID, e.Index).recycledAt[e.Incarnation]; !made.IsZero() && !made.Before(request.At) {
			return fmt.Sprintf("group %d is recreated a second time for one request", e.Index)
		}
		f := c.group(after.UID, e.Index)
		if first, known := f.requested[request.At]; known && first < e.Incarnation {
			return fmt.Sprintf("group %d is recreated for a request, which incarnation %d was already", e.Index, first)
		}
		f.requested[request.At] = e.Incarnation
	}
	return ""
}

// onlyWithoutStandIn says that the available groups which are taken were asked for,
// and that no surge group can stand in for them: these go one at a time.
func (c *Checker) onlyWithoutStandIn(ch *Change, started []v1.RecyclingGroup, taken []int32) bool {
	return !slices.ContainsFunc(started, func(e v1.RecyclingGroup) bool {
		covered := e.Index >= partition(ch.Seen.Set) && !steering(ch.Seen.Set).Paused
		return slices.Contains(taken, e.Index) && (e.Cause == v1.RecycleUpdate || e.Cause == v1.RecycleRequested && covered)
	})
}

// available says that a group is Ready, and has been for long enough.
func available(ch *Change, mates []*corev1.Pod) bool {
	if !whollyReady(mates) {
		return false
	}
	enough := steering(ch.Seen.Set).MinReady
	if enough == 0 {
		return true
	}
	return slices.ContainsFunc(mates, func(p *corev1.Pod) bool {
		c := groupReady(p)
		return c != nil && c.Status == corev1.ConditionTrue && ch.At.Sub(c.LastTransitionTime.Time) >= enough
	})
}

// serves says that a group is Ready, and was not made by the rollout under way.
func serves(ch *Change, mates []*corev1.Pod, index int32, update string) bool {
	request := steering(ch.Seen.Set).Recycle
	asked := request.Names(index) && slices.ContainsFunc(mates, func(p *corev1.Pod) bool { return recycledAt(p).Before(request.At) })
	return whollyReady(mates) && (revisionOf(mates[0]) != update || asked)
}

// recycledAt is the mark of a pod that was made after a request.
func recycledAt(p *corev1.Pod) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, p.Annotations[v1.AnnotationRecycledAt])
	return at
}

// restingSteering checks that what was to be done once is done. Where groups are
// blocked they may take all of the budget, and recreations by request wait.
func (c *Checker) restingSteering(s *v1.LeaderWorkerSet, groups map[int32][]*corev1.Pod, blocked bool, add adder) {
	want := steering(s)
	if want.Undo != "" {
		add("L1", "annotation %s is still there", v1.AnnotationUndo)
	}
	if want.Recover {
		add("L1", "annotation %s is still there", v1.AnnotationRecover)
	}
	for index := range replicas(s) {
		if blocked || !want.Recycle.Names(index) {
			continue
		}
		for _, p := range groups[index] {
			if p.Name == topology.LeaderName(s.Name, index) && !p.CreationTimestamp.After(want.Recycle.At) && recycledAt(p).Before(want.Recycle.At) {
				add("L1", "group %d was to be recreated at %s, and is still the old one", index, want.Recycle.At)
			}
		}
	}
	history, _ := revision.NewHistory(c.ownedRevisions(s))
	if kept := len(history.Revisions()); kept > want.HistoryLimit+len(c.inUse(s)) {
		add("L1", "%d revisions are kept, %d are in use, %d more were to be kept", kept, len(c.inUse(s)), want.HistoryLimit)
	}
}

// inUse are the revisions that pods and the status name.
func (c *Checker) inUse(s *v1.LeaderWorkerSet) map[string]bool {
	out := map[string]bool{s.Status.UpdateRevision: true, s.Status.CurrentRevision: true}
	for _, p := range c.podsNow() {
		if p.Labels[v1.LabelName] == s.Name {
			out[revisionOf(p)] = true
		}
	}
	for _, r := range s.Status.GroupRestarts {
		out[r.Revision] = true
	}
	return out
}

package invariant

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// policyOf is the restart policy of a revision of a set: its own, or what the
// annotation makes of the default. Unknown revisions have none.
func (c *Checker) policyOf(s *v1.LeaderWorkerSet, key string) (v1.RestartPolicyType, *int32) {
	at := place{set: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, uid: s.UID}
	r := c.revision(at, key)
	if r == nil {
		return "", nil
	}
	content, err := revision.Parse(r.Data.Raw)
	if err != nil {
		return "", nil
	}
	policy := content.Template.RestartPolicy
	if policy == "" || policy == v1.RecreateGroupOnPodRestart {
		policy = v1.RecreateGroupOnPodRestart
		if s.Annotations[v1.AnnotationRecreateAfterStart] == "true" {
			policy = v1.RecreateGroupAfterStart
		}
	}
	return policy, content.Template.MaxGroupRestarts
}

// s11Policy is the part of S11 that is about the restart policy: None recreates no
// group, and RecreateGroupAfterStart none that has not started, nor one for restarts
// of before.
func (c *Checker) s11Policy(ch *Change, after *v1.LeaderWorkerSet, e v1.RecyclingGroup) string {
	f, seen := c.group(after.UID, e.Index), c.seenSet(ch)
	if seen == nil || seen.Annotations[v1.AnnotationRecreateAfterStart] != after.Annotations[v1.AnnotationRecreateAfterStart] || f.mixed[e.Incarnation] {
		return ""
	}
	policy, _ := c.policyOf(after, f.revision)
	if policy == v1.NoneRestartPolicy || policy == v1.DefaultRestartPolicy {
		return fmt.Sprintf("group %d is recreated because of a failure, under policy %s", e.Index, policy)
	}
	if policy != v1.RecreateGroupAfterStart || f.leaderless[e.Incarnation] {
		return ""
	}
	before, started := f.started[e.Incarnation]
	if !started {
		return fmt.Sprintf("group %d is recreated because of a failure before all its containers had started", e.Index)
	}
	if f.hard[e.Incarnation] {
		return ""
	}
	mates := ofGroup(c.podsNow(), after.UID, e.Index)
	if sum, _ := restartSum(mates); sum <= before {
		return fmt.Sprintf("group %d is recreated because of %d restarts, of which %d were before it had started", e.Index, sum, before)
	}
	return ""
}

// s12Budget is the part of S12 that is about the restart budget, and about what must
// not draw on it: a recreation that does not count has a reason of its own, and there
// are no more of the others than the revision of the group allows.
func (c *Checker) s12Budget(after *v1.LeaderWorkerSet, e v1.RecyclingGroup, was, is int32) string {
	f := c.group(after.UID, e.Index)
	_, budget := c.policyOf(after, f.revision)
	switch {
	case is > was && budget != nil && is > *budget:
		return fmt.Sprintf("group %d is recreated for the %d. time, and may be %d times", e.Index, is, *budget)
	case is == was && !f.leaderless[e.Incarnation] && c.failed(after.UID, e.Index, e.Incarnation) && !f.free[e.Incarnation] && !f.mixed[e.Incarnation]:
		return fmt.Sprintf("group %d is recreated without being counted, and nothing happened that does not count", e.Index)
	}
	return ""
}

// s12Reset is the part of S12 that is about the annotation recover: it stays until the
// counts are reset.
func (c *Checker) s12Reset(ch *Change) string {
	before, ok := ch.Before.(*v1.LeaderWorkerSet)
	after, stays := ch.After.(*v1.LeaderWorkerSet)
	if !ok || !stays || ch.By != Controller || !steering(before).Recover || steering(after).Recover {
		return ""
	}
	c.count("S12")
	if n := len(after.Status.GroupRestarts); n > 0 {
		return fmt.Sprintf("annotation %s is taken off before %d restart counts are reset", v1.AnnotationRecover, n)
	}
	return ""
}

// spent says that a group at rest has failed and may not be recreated any more.
func (c *Checker) spent(s *v1.LeaderWorkerSet, index int32, mates []*corev1.Pod) bool {
	if len(mates) == 0 {
		return false
	}
	policy, budget := c.policyOf(s, revisionOf(mates[0]))
	if budget == nil || policy == v1.NoneRestartPolicy || policy == v1.DefaultRestartPolicy {
		return false
	}
	count := int32(0)
	for _, r := range s.Status.GroupRestarts {
		if r.Index == index && r.Revision == revisionOf(mates[0]) {
			count = r.Count
		}
	}
	sum, _ := restartSum(mates)
	failed := sum > 0
	if policy == v1.RecreateGroupAfterStart {
		failed = false
		for _, p := range mates {
			seen, err := strconv.ParseInt(p.Annotations[v1.AnnotationRestartsSeen], 10, 64)
			failed = failed || err == nil && sum > seen
		}
	}
	return (failed || slices.ContainsFunc(mates, ended)) && count >= *budget
}

// restingSpent checks that a set says so when groups are left as they are.
func (c *Checker) restingSpent(s *v1.LeaderWorkerSet, spent int32, add adder) {
	c.count("S12")
	if s.Status.Groups == nil || s.Status.Groups.Failed != spent {
		add("S17", "%d groups of %s have spent their restarts, and the status says %+v", spent, s.Name, s.Status.Groups)
	}
	d := meta.FindStatusCondition(s.Status.Conditions, v1.ConditionDegraded)
	if d == nil || d.Status != "True" || d.Reason != v1.ReasonBudgetExceeded {
		add("S17", "groups of %s have spent their restarts, and it does not say so: %+v", s.Name, d)
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1.ConditionAvailable) {
		add("S17", "groups of %s have spent their restarts, and it is Available", s.Name)
	}
}

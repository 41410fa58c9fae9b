package invariant

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// disruptions is what evictions have done.
type disruptions struct {
	// allowed is how many groups the budget of a set lets evictions take at a time, as
	// the controller knew when it last wrote it.
	allowed map[types.UID]int32
	// down are the groups that an eviction within the budget has taken down and that
	// have not been Ready since.
	down map[groupKey]bool
}

// S23: evictions take no more groups at a time than the annotation says. Each budget
// that the controller writes is safe by itself: it selects no group that is being torn
// down, asks for all pods of those that it selects but at most one, and for all of them
// unless fewer groups than that are missing from it.
func S23(c *Checker, ch *Change) string {
	switch o := ch.object().(type) {
	case *policyv1.PodDisruptionBudget:
		if ch.By == Controller && ch.After != nil && ch.Before != ch.After && ch.Seen != nil {
			return c.s23Budget(ch, o)
		}
	case *corev1.Pod:
		return c.s23Eviction(ch, o)
	}
	return ""
}

// s23Budget judges a budget by the set that its author saw, or by a newer one where it
// may have seen that.
func (c *Checker) s23Budget(ch *Change, b *policyv1.PodDisruptionBudget) string {
	c.count("S23")
	c.disruptions.allowed[ch.Seen.Set.UID] = 0
	message := ""
	for _, set := range append([]*v1.LeaderWorkerSet{ch.Seen.Set}, ch.Seen.Later...) {
		if message = c.s23BudgetOf(ch, b, set); message == "" {
			c.disruptions.allowed[set.UID] = max(c.disruptions.allowed[set.UID], steering(set).DisruptionBudget)
		}
	}
	if c.disruptions.allowed[ch.Seen.Set.UID] > 0 {
		return ""
	}
	return message
}

func (c *Checker) s23BudgetOf(ch *Change, b *policyv1.PodDisruptionBudget, set *v1.LeaderWorkerSet) string {
	d := steering(set).DisruptionBudget
	if d < 1 {
		return fmt.Sprintf("budget %s written, which nobody asks for", b.Name)
	}
	if b.Spec.Selector.MatchLabels[v1.LabelName] != set.Name || b.Spec.MinAvailable == nil || b.Spec.MaxUnavailable != nil {
		return fmt.Sprintf("budget %s is about more than the pods of its set, or not about their number", b.Name)
	}
	groups := selected(b)
	for _, e := range set.Status.Recycling {
		if slices.Contains(groups, e.Index) && e.Incarnation >= c.group(set.UID, e.Index).incarnation {
			return fmt.Sprintf("budget %s protects group %d, which is being torn down", b.Name, e.Index)
		}
	}
	missing := min(replicas(set), set.Status.EstablishedReplicas)
	for _, index := range groups {
		if index < replicas(set) {
			missing--
		}
	}
	number := b.Spec.MinAvailable.IntVal
	return c.allSince(ch.Seen.Pods, set.UID, func(pods []*corev1.Pod) string {
		known := groupsOf(pods, set.UID)
		all := int32(0)
		for _, index := range groups {
			all += int32(size(known[index]))
		}
		switch {
		case number < all-1:
			return fmt.Sprintf("budget %s lets %d pods go at a time", b.Name, all-number)
		case number < all && missing >= d:
			return fmt.Sprintf("budget %s lets a pod go while %d groups are missing from it, where %d may be down", b.Name, missing, d)
		}
		return ""
	})
}

// selected are the groups whose pods a budget selects.
func selected(b *policyv1.PodDisruptionBudget) []int32 {
	var out []int32
	for _, r := range b.Spec.Selector.MatchExpressions {
		for _, value := range r.Values {
			if n, err := strconv.ParseInt(value, 10, 32); err == nil && r.Key == v1.LabelGroupIndex && r.Operator == metav1.LabelSelectorOpIn {
				out = append(out, int32(n))
			}
		}
	}
	return out
}

// s23Eviction counts the groups that evictions have taken down.
func (c *Checker) s23Eviction(ch *Change, p *corev1.Pod) string {
	at, ok := placeOf(p)
	if !ok {
		return ""
	}
	key := groupKey{at.uid, at.group}
	if c.disruptions.down[key] && whollyReady(ofGroup(c.podsNow(), at.uid, at.group)) {
		delete(c.disruptions.down, key)
	}
	before, ok := ch.Before.(*corev1.Pod)
	if !ok || ch.By != Evictor || ch.Verb != Update || !isReady(before) || terminating(before) || !c.protected(before, at) {
		return ""
	}
	c.count("S23")
	c.disruptions.down[key] = true
	set, down := c.sets[at.set], int32(0)
	if set == nil || set.UID != at.uid {
		return ""
	}
	for other := range c.disruptions.down {
		if other.set == at.uid && other.index < replicas(set) {
			down++
		}
	}
	standing := int32(0)
	for index, mates := range groupsOf(c.podsNow(), at.uid) {
		if index < replicas(set) && !c.disruptions.down[groupKey{at.uid, index}] && whollyReady(mates) {
			standing++
		}
	}
	allowed := c.disruptions.allowed[at.uid]
	// Where more groups are wanted than there ever were at one time, one that came up
	// since makes up for one that is gone.
	if down > allowed && standing < min(replicas(set), set.Status.EstablishedReplicas)-allowed {
		return fmt.Sprintf("evictions have taken down %d groups, %d may be", down, allowed)
	}
	return ""
}

// protected says that the budget of its set selects a pod.
func (c *Checker) protected(p *corev1.Pod, at place) bool {
	b := c.budgets[at.set]
	if b == nil || owner(b) != at.uid {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}

// restingBudget checks that the budget of a set is there if it is asked for and nobody
// else's is in its way, and says what it must: the groups that are Ready, and one pod
// less than they have unless too many are not.
func (c *Checker) restingBudget(s *v1.LeaderWorkerSet, groups map[int32][]*corev1.Pod, add adder) {
	d := steering(s).DisruptionBudget
	b := c.budgets[keyOf(s)]
	if b != nil && owner(b) != s.UID {
		return // somebody else's, which is left alone
	}
	var whole []int32
	pods, standing := int32(0), int32(0)
	for index := range groups {
		if whollyReady(groups[index]) {
			whole = append(whole, index)
			pods += int32(len(groups[index]))
		}
		if whollyReady(groups[index]) && index < replicas(s) {
			standing++
		}
	}
	slices.Sort(whole)
	wanted := d >= 1 && len(whole) > 0 && !c.rivalled(s, groups)
	switch {
	case !wanted && b != nil && (d < 1 || len(whole) > 0):
		add("L1", "budget %s is there, and should not be", s.Name)
	case wanted && b == nil:
		add("L1", "budget %s is not there", s.Name)
	}
	if !wanted || b == nil {
		return
	}
	c.count("L1 budget")
	for _, index := range whole {
		if !slices.Contains(selected(b), index) {
			add("L1", "budget %s selects the groups %v, Ready are %v", s.Name, selected(b), whole)
		}
	}
	if len(selected(b)) > len(whole) {
		return // of policy None some are selected that are not Ready
	}
	if min(replicas(s), max(s.Status.EstablishedReplicas, standing))-standing < d {
		pods--
	}
	if b.Spec.MinAvailable.IntVal != pods {
		add("L1", "budget %s asks for %d pods of groups %v, not %d", s.Name, b.Spec.MinAvailable.IntVal, whole, pods)
	}
}

// rivalled says that somebody else's budget selects a pod of the set.
func (c *Checker) rivalled(s *v1.LeaderWorkerSet, groups map[int32][]*corev1.Pod) bool {
	for _, b := range c.budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || owner(b) == s.UID {
			continue
		}
		for _, mates := range groups {
			if slices.ContainsFunc(mates, func(p *corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) }) {
				return true
			}
		}
	}
	return false
}

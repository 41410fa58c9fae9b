package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/topology"
)

// disruptionMemory is what is kept of the PodDisruptionBudget of a set.
type disruptionMemory struct {
	// answer is the last answer to a write, until the cache has passed it.
	answer *policyv1.PodDisruptionBudget
	// gone is the UID of the one that we have deleted.
	gone types.UID
	// written is when it was last written.
	written time.Time
	rival   rival
}

// rival is a PodDisruptionBudget that selects pods of a set besides the set's own:
// the API server then refuses every eviction of these pods.
type rival struct {
	// seen are the budgets that were looked at, groups those whose pods were.
	seen   string
	groups []int32
	// name of the rival, empty if there is none.
	name string
}

// settleBudget makes the PodDisruptionBudget of a set what the plan says, before the
// teardowns of the plan begin. It is false where the plan has to be made anew: the
// budget has changed meanwhile, most likely because an eviction was let through, and
// groups must not be taken down on top of that. A budget that cannot be written holds
// nothing up.
//
// One that is merely to be wider or narrower is not written for each group of a storm:
// it is safe as it is (rollout.DisruptionBudget), and waits like the counts of a status.
func (c *Controller) settleBudget(ctx context.Context, m *memory, plan *rollout.Plan, now time.Time, wait *Wait) (bool, error) {
	own, usable := c.ownBudget(m, plan.Disruption != nil)
	if !usable {
		return true, nil
	}
	wanted := plan.Disruption
	if wanted != nil && c.hasRival(m, wanted.Groups) {
		wanted = nil
	}
	switch {
	case own == nil && (wanted == nil || len(wanted.Groups) == 0):
		return true, nil
	case wanted == nil:
		return true, c.deleteBudget(ctx, m, own, wait)
	}
	want := topology.DisruptionBudget(m.set, wanted.Groups, wanted.MinAvailable)
	if own == nil {
		return true, c.createBudget(ctx, m, want, wait)
	}
	if equality.Semantic.DeepEqual(own.Spec, want.Spec) && own.Labels[v1.LabelName] == m.key.Name {
		return true, nil
	}
	chosen := slices.ContainsFunc(plan.Started, func(r rollout.Recycle) bool { return r.Failure == nil })
	if rest := m.disruption.written.Add(countsEvery).Sub(now); rest > 0 && !chosen {
		wait.sooner(rest)
		return true, nil
	}
	err := c.updateBudget(ctx, m, own, want)
	if err == nil || refused(err) && !apierrors.IsNotFound(err) {
		return true, err
	}
	wait.sooner(conflictDelay)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = nil // the news about it will tell
	}
	return !chosen, err
}

// What Warning events about the disruption budget are about.
const (
	warnedRival  = "disruption budget/rival"
	warnedName   = "disruption budget/name"
	warnedBudget = "disruption budget"
)

// ownBudget is the PodDisruptionBudget of the set, nil if there is none. Not usable is
// one that is going, and somebody else's under the set's name, which is reported where
// a budget is wanted.
func (c *Controller) ownBudget(m *memory, wanted bool) (own *policyv1.PodDisruptionBudget, usable bool) {
	own, exists := c.Cache.Budget(types.NamespacedName{Namespace: m.key.Namespace, Name: topology.DisruptionBudgetName(m.key.Name)})
	if answer := m.disruption.answer; answer != nil {
		if c.Cache.Passed(informers.Budgets, answer.ResourceVersion) {
			m.disruption.answer = nil
		} else {
			own, exists = answer, true
		}
	}
	if !exists || own.UID == m.disruption.gone {
		delete(m.warned, warnedName)
		return nil, true
	}
	seen := seenBy(m.set, own)
	if seen.Unusable != "" && !seen.Leaving && wanted {
		c.warn(m, warnedName, reasonNameTaken, "KeepDisruptionBudget", "Annotation %s has no effect: PodDisruptionBudget %s %s",
			v1.AnnotationDisruptionBudget, own.Name, seen.Unusable)
	}
	return own, seen.Unusable == ""
}

// hasRival says that a PodDisruptionBudget other than the set's own selects pods of
// these groups, and reports it.
func (c *Controller) hasRival(m *memory, groups []int32) bool {
	name := c.rivalOf(m, groups)
	if name == "" {
		delete(m.warned, warnedRival)
		return false
	}
	c.warn(m, warnedRival, "DisruptionBudgetInTheWay", "KeepDisruptionBudget", "Annotation %s has no effect: PodDisruptionBudget %s selects pods "+
		"of this set too, and a pod that two budgets select cannot be evicted at all", v1.AnnotationDisruptionBudget, name)
	return true
}

// rivalOf is the name of a PodDisruptionBudget, other than the set's own, that
// selects a pod of one of the groups; empty if there is none. Pods are only gone
// through when other budgets or other groups are there than the last time.
func (c *Controller) rivalOf(m *memory, groups []int32) string {
	var others []*policyv1.PodDisruptionBudget
	for _, b := range c.Cache.Budgets(m.key.Namespace) {
		if b.Name != topology.DisruptionBudgetName(m.key.Name) {
			others = append(others, b)
		}
	}
	slices.SortFunc(others, func(a, b *policyv1.PodDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	seen := ""
	for _, b := range others {
		seen += fmt.Sprintf("%s/%d ", b.UID, b.Generation)
	}
	if m.disruption.rival.seen == seen && slices.Equal(m.disruption.rival.groups, groups) {
		return m.disruption.rival.name
	}
	m.disruption.rival = rival{seen: seen, groups: groups}
	for _, b := range others {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && c.selects(m, groups, selector) {
			m.disruption.rival.name = b.Name
			break
		}
	}
	return m.disruption.rival.name
}

// selects says that a selector matches a pod of one of the groups.
func (c *Controller) selects(m *memory, groups []int32, selector labels.Selector) bool {
	for _, index := range groups {
		for _, p := range m.group(index).state.Pods() {
			pod, exists := c.Cache.Pod(types.NamespacedName{Namespace: m.key.Namespace, Name: p.Name})
			if exists && selector.Matches(labels.Set(pod.Labels)) {
				return true
			}
		}
	}
	return false
}

func (c *Controller) createBudget(ctx context.Context, m *memory, want *policyv1.PodDisruptionBudget, wait *Wait) error {
	m.mu.Unlock()
	created, err := c.API.CreateBudget(ctx, want)
	m.mu.Lock()
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		wait.sooner(confirmDelay) // the cache does not know it yet
		return nil
	case err != nil:
		return c.budgetFailed(m, "FailedCreate", err)
	}
	c.tookBudget(ctx, m, created, "Created")
	c.event(m, nil, corev1.EventTypeNormal, "CreatedDisruptionBudget", "KeepDisruptionBudget",
		"Created PodDisruptionBudget %s: groups that evictions may take down at a time: %d", created.Name, m.steering.DisruptionBudget)
	return nil
}

// updateBudget writes selector and number in one request, provided that the budget is
// still the one that was looked at. What others have written into its metadata stays.
func (c *Controller) updateBudget(ctx context.Context, m *memory, own, want *policyv1.PodDisruptionBudget) error {
	next := own.DeepCopy()
	next.Spec = want.Spec
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels[v1.LabelName] = m.key.Name
	m.mu.Unlock()
	updated, err := c.API.UpdateBudget(ctx, next)
	m.mu.Lock()
	if err != nil {
		return c.budgetFailed(m, "FailedUpdate", err)
	}
	c.tookBudget(ctx, m, updated, "Updated")
	return nil
}

func (c *Controller) deleteBudget(ctx context.Context, m *memory, own *policyv1.PodDisruptionBudget, wait *Wait) error {
	m.mu.Unlock()
	err := c.API.DeleteBudget(ctx, types.NamespacedName{Namespace: own.Namespace, Name: own.Name}, own.UID)
	m.mu.Lock()
	switch {
	case apierrors.IsConflict(err):
		wait.sooner(conflictDelay) // another has its name, or somebody had his reasons
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return c.budgetFailed(m, "FailedDelete", err)
	}
	m.disruption.answer, m.disruption.gone = nil, own.UID
	klog.FromContext(ctx).V(2).Info("Deleted disruption budget", "budget", klog.KObj(own))
	if err == nil {
		c.event(m, nil, corev1.EventTypeNormal, "DeletedDisruptionBudget", "KeepDisruptionBudget", "Deleted PodDisruptionBudget %s", own.Name)
	}
	return nil
}

// tookBudget takes in the answer to a write.
func (c *Controller) tookBudget(ctx context.Context, m *memory, stored *policyv1.PodDisruptionBudget, verb string) {
	m.disruption.answer, m.disruption.gone, m.disruption.written = stored, "", c.Clock.Now()
	delete(m.warned, warnedBudget)
	klog.FromContext(ctx).V(2).Info(verb+" disruption budget", "budget", klog.KObj(stored),
		"minAvailable", stored.Spec.MinAvailable.String(), "selector", metav1.FormatLabelSelector(stored.Spec.Selector))
}

// budgetFailed reports a write that was refused. A conflict is none: it passes.
func (c *Controller) budgetFailed(m *memory, reason string, err error) error {
	err = fmt.Errorf("disruption budget %s: %w", topology.DisruptionBudgetName(m.key.Name), err)
	if refused(err) && !apierrors.IsNotFound(err) {
		c.warn(m, warnedBudget, reason, "KeepDisruptionBudget", "%v", err)
	}
	return err
}

package sim

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// Evict evicts a pod if that is allowed, as the eviction API does: what does not run,
// or is not Ready, may always go; a pod of two budgets never; else the status of the
// budget must be that of its spec, and allow it.
func (w *World) Evict(p *corev1.Pod) error {
	if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
		return w.evicted(p, "")
	}
	var covering []*policyv1.PodDisruptionBudget
	for _, b := range w.server.budgets.list() {
		if covers(b, p) {
			covering = append(covering, b)
		}
	}
	switch {
	case len(covering) > 1:
		return apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget"))
	case len(covering) == 0 || !ready(p):
		return w.evicted(p, "")
	}
	b := covering[0]
	if b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed <= 0 {
		w.covered["eviction refused"]++
		return apierrors.NewTooManyRequests("the budget "+b.Name+" does not allow it", 0)
	}
	_, _ = update(w.server, w.server.budgets, keyOf(b), request{by: invariant.Evictor, subresource: "status"}, func(b *policyv1.PodDisruptionBudget) error {
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[p.Name] = w.server.now()
		return nil
	})
	return w.evicted(p, b.Name)
}

// evicted marks a pod and deletes it.
func (w *World) evicted(p *corev1.Pod, within string) error {
	w.note("pod %s is evicted within budget %q", p.Name, within)
	w.covered["evicted"]++
	if within != "" {
		w.covered["evicted within a budget"]++
	}
	w.podUpdate(p, invariant.Evictor, func(p *corev1.Pod) {
		w.condition(&p.Status, corev1.DisruptionTarget, true)
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget {
				c.Reason = "EvictionByEvictionAPI"
			}
		}
	})
	return remove(w.server, w.server.pods, keyOf(p), request{by: invariant.Evictor, uid: p.UID})
}

func covers(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && b.Namespace == p.Namespace && selector.Matches(labels.Set(p.Labels))
}

// forgetEviction is after how long a pod that was to be evicted, and is still there,
// counts again.
const forgetEviction = 2 * time.Minute

// budgetsAct has the disruption controller write the status of one budget, if one is
// out of date.
func (w *World) budgetsAct() bool {
	for _, b := range w.server.budgets.list() {
		if is := w.budgetStatus(b); !equality.Semantic.DeepEqual(is, b.Status) {
			_, _ = update(w.server, w.server.budgets, keyOf(b), request{by: invariant.DisruptionController, subresource: "status"},
				func(b *policyv1.PodDisruptionBudget) error { b.Status = is; return nil })
			return true
		}
	}
	return false
}

func (w *World) budgetStatus(b *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudgetStatus {
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DesiredHealthy: b.Spec.MinAvailable.IntVal}
	for _, p := range w.server.pods.list() {
		if !covers(b, p) {
			continue
		}
		s.ExpectedPods++
		since, told := b.Status.DisruptedPods[p.Name]
		switch {
		case p.DeletionTimestamp != nil:
		case told && w.clock.Since(since.Time) < forgetEviction:
			if s.DisruptedPods == nil {
				s.DisruptedPods = map[string]metav1.Time{}
			}
			s.DisruptedPods[p.Name] = since
		case ready(p):
			s.CurrentHealthy++
		}
	}
	if s.ExpectedPods > 0 {
		s.DisruptionsAllowed = max(0, s.CurrentHealthy-s.DesiredHealthy)
	}
	return s
}

// evictionsAct has somebody drain a node, or set the budget of a set, or keep one of
// his own.
func (w *World) evictionsAct() {
	w.at = w.keys[w.rng.IntN(len(w.keys))]
	switch n := w.nodes[w.draining]; w.rng.IntN(12) {
	case 0:
		w.Annotate(v1.AnnotationDisruptionBudget, []string{"", "1", "1", "2"}[w.rng.IntN(4)])
	case 1:
		w.rival(w.rng.IntN(3) == 0)
	case 2:
		if pods := w.server.pods.list(); len(pods) > 0 {
			_ = w.Evict(pods[w.rng.IntN(len(pods))])
		}
	default:
		switch {
		case n == nil:
			nodes := w.nodeList()
			w.Drain(nodes[w.rng.IntN(len(nodes))].name)
		case !w.drainOne():
			w.endDrain()
		}
	}
}

// rival has a user keep a budget for all pods of the first set, or no longer.
func (w *World) rival(is bool) {
	key := theKey
	key.Name = "rival"
	if !is {
		_ = remove(w.server, w.server.budgets, key, request{by: invariant.User})
		return
	}
	w.note("a user keeps a budget of his own")
	_, err := create(w.server, w.server.budgets, budgetOf(metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		map[string]string{v1.LabelName: theKey.Name}), request{by: invariant.User})
	if err == nil {
		w.covered["rival budget"]++
	}
}

// budgetOf is a budget for the pods with these labels, of which one must stay.
func budgetOf(meta metav1.ObjectMeta, labels map[string]string) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
		Selector: &metav1.LabelSelector{MatchLabels: labels}}}
}

// Drain lets no pod start on a node any more; drainOne evicts those that are there.
func (w *World) Drain(node string) {
	w.note("node %s is drained", node)
	w.covered["node drained"]++
	w.draining = node
}

// drainOne tries to evict one pod of the node that is drained, and reports whether
// there is any.
func (w *World) drainOne() bool {
	var there []*corev1.Pod
	for _, p := range w.server.pods.list() {
		if p.Spec.NodeName == w.draining {
			there = append(there, p)
		}
	}
	if len(there) == 0 {
		return false
	}
	_ = w.Evict(there[w.rng.IntN(len(there))])
	return true
}

// endDrain lets pods start there again.
func (w *World) endDrain() {
	if w.draining != "" {
		w.note("node %s may be used again", w.draining)
		w.draining = ""
	}
}

func describeBudget(b *policyv1.PodDisruptionBudget) string {
	return fmt.Sprintf("generation %d of %d: %s of %s, %d may go", b.Status.ObservedGeneration, b.Generation, b.Spec.MinAvailable.String(),
		metav1.FormatLabelSelector(b.Spec.Selector), b.Status.DisruptionsAllowed)
}

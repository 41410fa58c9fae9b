package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// allows says that node selector and required affinity let a pod onto a node, as the
// scheduler has it: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/.
func (w *World) allows(p *corev1.Pod, n *node) bool {
	for key, value := range p.Spec.NodeSelector {
		if have, labelled := w.labelOf(n.name, key); !labelled || have != value {
			return false
		}
	}
	if !w.wantsNode(p, n) {
		return false
	}
	together, apart := terms(p)
	for i := range together {
		if !w.joins(p, &together[i], n) {
			return false
		}
	}
	for i := range apart {
		if w.meets(&apart[i], n) {
			return false
		}
	}
	for _, other := range w.bound() {
		_, apart := terms(other)
		for i := range apart {
			if selects(&apart[i], p) && w.sameDomain(apart[i].TopologyKey, other.Spec.NodeName, n.name) {
				return false
			}
		}
	}
	return true
}

// wantsNode says that one of the terms of a pod's required affinity to nodes is met, if
// it has any: those that the controller makes keep it from values of a label.
func (w *World) wantsNode(p *corev1.Pod, n *node) bool {
	if a := p.Spec.Affinity; a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			value, labelled := w.labelOf(n.name, r.Key)
			return r.Operator != corev1.NodeSelectorOpNotIn || labelled && slices.Contains(r.Values, value)
		})
	})
}

// joins says that pods that the term selects are in the node's domain; the first one
// that selects itself may go to any.
func (w *World) joins(p *corev1.Pod, term *corev1.PodAffinityTerm, n *node) bool {
	if _, labelled := w.labelOf(n.name, term.TopologyKey); !labelled {
		return false
	}
	if w.meets(term, n) {
		return true
	}
	return selects(term, p) && !slices.ContainsFunc(w.bound(), func(other *corev1.Pod) bool { return selects(term, other) })
}

// meets says that a pod that the term selects is in the node's domain.
func (w *World) meets(term *corev1.PodAffinityTerm, n *node) bool {
	return slices.ContainsFunc(w.bound(), func(other *corev1.Pod) bool {
		return selects(term, other) && w.sameDomain(term.TopologyKey, other.Spec.NodeName, n.name)
	})
}

// bound are the pods that have a node and have not ended.
func (w *World) bound() (out []*corev1.Pod) {
	for _, p := range w.server.pods.items {
		if p.Spec.NodeName != "" && !finished(p) {
			out = append(out, p)
		}
	}
	return out
}

func (w *World) labelOf(node, key string) (value string, labelled bool) {
	if n := w.nodes[node]; n != nil {
		if o := w.server.nodes.items[n.key()]; o != nil {
			value, labelled = o.Labels[key]
		}
	}
	return value, labelled
}

func (w *World) sameDomain(key, a, b string) bool {
	one, labelled := w.labelOf(a, key)
	other, too := w.labelOf(b, key)
	return labelled && too && one == other
}

// terms are the required terms of a pod's affinity and anti-affinity to pods.
func terms(p *corev1.Pod) (together, apart []corev1.PodAffinityTerm) {
	if a := p.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			together = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAntiAffinity != nil {
			apart = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
	}
	return together, apart
}

// selects says that a term is about a pod. There is one namespace only.
func selects(term *corev1.PodAffinityTerm, p *corev1.Pod) bool {
	s, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && s.Matches(labels.Set(p.Labels))
}

package topology

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// Placement. A domain is all nodes with one value of a node label, such as a rack.
//
//	exclusive-topology           the leader is kept from domains with pods of other groups,
//	                             and others from its own; workers follow by a nodeSelector
//	colocate                     the same, but no other group is kept away
//	replace-after                a leader keeps away from where workers of its group found
//	                             no node
//	subgroup-exclusive-topology  each pod of a subgroup is kept with its like and from others
//
// The terms come on top of what the templates say, also about the same key. Without a
// scope they are those that the published controller builds.

// place binds a pod to the domains of its group and its subgroup.
func (g *Group) place(pod *corev1.Pod, worker int32) {
	if worker == 0 {
		exclusive := g.Set.Annotations[v1.AnnotationExclusiveTopology]
		for _, key := range v1.DomainKeys(g.Set.Annotations) {
			g.keepTogether(pod, v1.LabelGroupKey, key)
			if key == exclusive {
				g.keepApart(pod, v1.LabelGroupKey, key)
			}
		}
		g.avoid(pod)
	} else if len(g.Domain) > 0 {
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		maps.Copy(pod.Spec.NodeSelector, g.Domain)
	}
	if key, ok := pod.Annotations[v1.AnnotationSubGroupExclusiveTopology]; ok {
		if _, member := g.SubGroup(worker); member {
			g.keepTogether(pod, v1.LabelSubGroupKey, key)
			g.keepApart(pod, v1.LabelSubGroupKey, key)
		}
	}
}

// avoid keeps a leader from the domains where its workers found no node, whatever the
// template says of nodes: its terms are alternatives, each of which gets the condition.
func (g *Group) avoid(pod *corev1.Pod) {
	if len(g.Avoids) == 0 {
		return
	}
	byKey := map[string][]string{}
	for _, domain := range g.Avoids {
		key, value, _ := strings.Cut(domain, "=")
		byKey[key] = append(byKey[key], value)
	}
	a := affinityOf(pod)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	none := required == nil
	if none {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	terms := required.NodeSelectorTerms
	for i := range terms {
		if !none && len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
			continue // matches no node, and is to go on doing so
		}
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions,
				corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: byKey[key]})
		}
	}
	pod.Annotations[v1.AnnotationAvoids] = strings.Join(g.Avoids, ",")
}

// keepTogether has the pod come to where pods with its value of the label are. The
// first of them goes anywhere, but to a node that has the key.
func (g *Group) keepTogether(pod *corev1.Pod, label, key string) {
	a := affinityOf(pod)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: matching(in(label, pod.Labels[label]))})
}

// keepApart keeps the pod from where pods with another value of the label are, as far
// as the scope of the set goes.
func (g *Group) keepApart(pod *corev1.Pod, label, key string) {
	a := affinityOf(pod)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	others := corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: matching(exists(label), notIn(label, pod.Labels[label]))}
	terms := []corev1.PodAffinityTerm{others}
	switch g.Set.Annotations[v1.AnnotationExclusiveScope] {
	case v1.ExclusiveScopeSet:
		terms[0].LabelSelector.MatchExpressions = append(terms[0].LabelSelector.MatchExpressions, in(v1.LabelName, g.Set.Name))
	case v1.ExclusiveScopeCluster:
		terms[0].NamespaceSelector = matching()
		if label == v1.LabelSubGroupKey {
			// Made from names without the namespace: a set of the same name elsewhere
			// has the same.
			terms = append(terms, corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: matching(exists(label)),
				NamespaceSelector: matching(notIn(corev1.LabelMetadataName, g.Set.Namespace))})
		}
	}
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, terms...)
}

func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

func matching(all ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: all}
}

func in(label, value string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}
}

func notIn(label, value string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}
}

func exists(label string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpExists}
}

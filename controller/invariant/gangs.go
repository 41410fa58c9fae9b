package invariant

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// S24: a group is scheduled as one. Its first pod is made when its PodGroup is there,
// which asks for the whole group; all pods of an incarnation have one PodGroup; and no
// PodGroup goes by our hand while a pod refers to it.
func S24(c *Checker, ch *Change) string {
	if ch.By != Controller {
		return ""
	}
	if g, is := ch.Before.(*schedulingv1beta1.PodGroup); is && ch.Verb == Delete && !c.Several {
		c.count("S24")
		for _, p := range c.pods {
			if p.Namespace == g.Namespace && gangOf(p) == g.Name && owner(p) == owner(g) && p.Labels[v1.LabelName] != "" {
				return fmt.Sprintf("podgroup %s is deleted while pod %s refers to it", g.Name, p.Name)
			}
		}
		return ""
	}
	p, is := ch.After.(*corev1.Pod)
	if !is || ch.Verb != Create {
		return ""
	}
	for _, mate := range c.pods {
		if owner(mate) == owner(p) && mate.Labels[v1.LabelGroupIndex] == p.Labels[v1.LabelGroupIndex] && incarnation(mate) == incarnation(p) && gangOf(mate) != gangOf(p) {
			return fmt.Sprintf("pod %s is made for podgroup %q, pod %s for %q", p.Name, gangOf(p), mate.Name, gangOf(mate))
		}
	}
	if gangOf(p) == "" || p.Labels[v1.LabelWorkerIndex] != "0" {
		return ""
	}
	c.count("S24")
	g := c.podGroups[types.NamespacedName{Namespace: p.Namespace, Name: gangOf(p)}]
	index, _ := strconv.ParseInt(p.Labels[v1.LabelGroupIndex], 10, 32)
	switch {
	case g == nil || owner(g) != owner(p):
		return fmt.Sprintf("pod %s is made without its podgroup %s", p.Name, gangOf(p))
	case g.Name != topology.PodGroupName(p.Labels[v1.LabelName], int32(index), incarnation(p)):
		return fmt.Sprintf("pod %s of incarnation %d is made for podgroup %s", p.Name, incarnation(p), g.Name)
	case g.Spec.SchedulingPolicy.Gang != nil && strconv.Itoa(int(g.Spec.SchedulingPolicy.Gang.MinCount)) != p.Annotations[v1.AnnotationSize]:
		return fmt.Sprintf("podgroup %s asks for %d pods, the group has %s", g.Name, g.Spec.SchedulingPolicy.Gang.MinCount, p.Annotations[v1.AnnotationSize])
	}
	return ""
}

// gangOf is the PodGroup that a pod refers to, empty without one.
func gangOf(p *corev1.Pod) string {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}

// restingGangs checks that no PodGroup is left that no pod refers to, nor a Workload
// without a PodGroup, but for groups that wait.
func (c *Checker) restingGangs(s *v1.LeaderWorkerSet, waits map[int32]string, add adder) {
	referred, used := map[string]bool{}, map[string]bool{}
	for _, p := range c.pods {
		if p.Namespace == s.Namespace {
			referred[gangOf(p)] = true
		}
	}
	for _, g := range c.podGroups {
		if owner(g) != s.UID {
			continue
		}
		if g.Spec.WorkloadRef != nil {
			used[g.Spec.WorkloadRef.WorkloadName] = true
		}
		index, _ := strconv.ParseInt(g.Labels[v1.LabelGroupIndex], 10, 32)
		if _, waiting := waits[int32(index)]; !referred[g.Name] && !waiting {
			add("L1", "podgroup %s of %s is left over", g.Name, s.Name)
		}
	}
	for _, w := range c.workloads {
		// Between two revisions the Workload of either may wait for groups.
		if between := s.Status.CurrentRevision != s.Status.UpdateRevision && replicas(s) > 0; owner(w) == s.UID && !used[w.Name] && !between {
			add("L1", "workload %s of %s is left over", w.Name, s.Name)
		}
	}
}

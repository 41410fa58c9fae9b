package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	if name := podGroupIn(ch.Before); name != "" && ch.Verb == Delete && !c.Several {
		c.count("S24")
		g := ch.Before
		for _, p := range c.pods {
			if p.Namespace == g.GetNamespace() && gangOf(p) == name && owner(p) == owner(g) && p.Labels[v1.LabelName] != "" {
				return fmt.Sprintf("podgroup %s is deleted while pod %s refers to it", name, p.Name)
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
	if name := strings.TrimPrefix(gangOf(p), v1.VolcanoGang); !strings.HasPrefix(name, p.Name+"-") || p.Labels[v1.LabelWorkerIndex] != "0" {
		return "" // none, or one that the template names
	}
	c.count("S24")
	if name, is := strings.CutPrefix(gangOf(p), v1.VolcanoGang); is {
		return c.madeForVolcano(p, name)
	}
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

// madeForVolcano is S24 of a leader that is made for a PodGroup of Volcano.
func (c *Checker) madeForVolcano(p *corev1.Pod, name string) string {
	key := types.NamespacedName{Namespace: p.Namespace, Name: name}
	g := c.volcano[key]
	if c.dropped[key] {
		return "" // there is no finalizer that would keep it until the pod is made
	}
	set := p.Labels[v1.LabelName]
	switch {
	case g == nil || owner(g) != owner(p):
		return fmt.Sprintf("pod %s is made without its podgroup %s", p.Name, name)
	case name != set+"-"+p.Labels[v1.LabelGroupIndex]+"-"+revisionOf(p):
		return fmt.Sprintf("pod %s of revision %s is made for podgroup %s", p.Name, revisionOf(p), name)
	case madeFor(g) != "" && madeFor(g) != p.Annotations[v1.AnnotationIncarnation] && len(ofGroup(c.podsNow(), owner(p), placeIn(p))) == 1:
		return fmt.Sprintf("pod %s of incarnation %d is made for podgroup %s of incarnation %s", p.Name, incarnation(p), name, madeFor(g))
	}
	return ""
}

func placeIn(p *corev1.Pod) int32 { at, _ := placeOf(p); return at.group }

// madeFor is the incarnation that a PodGroup of Volcano was made for.
func madeFor(g *unstructured.Unstructured) string {
	return g.GetAnnotations()[v1.AnnotationIncarnation]
}

// podGroupIn is the name of an object that is a PodGroup, as pods refer to it.
func podGroupIn(o Object) string {
	switch g := o.(type) {
	case *schedulingv1beta1.PodGroup:
		return g.Name
	case *unstructured.Unstructured:
		return v1.VolcanoGang + g.GetName()
	}
	return ""
}

// gangOf is the PodGroup that a pod refers to, empty without one.
func gangOf(p *corev1.Pod) string {
	if name := p.Annotations[v1.AnnotationVolcanoGroup]; strings.HasPrefix(name, p.Labels[v1.LabelName]+"-"+p.Labels[v1.LabelGroupIndex]+"-") { // and not by hand
		return v1.VolcanoGang + name
	}
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
	c.restingVolcano(s, referred, waits, add)
	for _, w := range c.workloads {
		// Between two revisions the Workload of either may wait for groups.
		if between := s.Status.CurrentRevision != s.Status.UpdateRevision && replicas(s) > 0; owner(w) == s.UID && !used[w.Name] && !between {
			add("L1", "workload %s of %s is left over", w.Name, s.Name)
		}
	}
}

// restingVolcano checks that every PodGroup of Volcano is referred to, and is what the set
// and the pods ask for.
func (c *Checker) restingVolcano(s *v1.LeaderWorkerSet, referred map[string]bool, waits map[int32]string, add adder) {
	pods := groupsOf(c.podsNow(), s.UID)
	for _, g := range c.volcano {
		index, _, ok := topology.ParseVolcanoName(s.Name, g.GetName())
		mates := pods[index]
		if _, waiting := waits[index]; owner(g) != s.UID || waiting || g.GetLabels()[v1.LabelName] == "" {
			continue // somebody has taken the label off, so that it is not known any more
		}
		if !referred[v1.VolcanoGang+g.GetName()] || !ok || len(mates) == 0 {
			add("L1", "podgroup %s of %s is left over", g.GetName(), s.Name)
			continue
		}
		if !c.hasRevision(s, revisionOf(mates[0])) {
			continue // nobody knows any more what it should be
		}
		c.count("S24")
		least, _, _ := unstructured.NestedInt64(g.Object, "spec", "minMember")
		queue, _, _ := unstructured.NestedString(g.Object, "spec", "queue")
		wanted := int64(size(mates))
		if s.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy || len(v1.DomainKeys(s.Annotations)) > 0 {
			wanted = 1
		}
		if asked := s.Annotations[v1.AnnotationVolcanoQueue]; least != wanted || asked != "" && queue != asked || madeFor(g) != mates[0].Annotations[v1.AnnotationIncarnation] {
			add("S24", "podgroup %s asks for %d pods in queue %q for incarnation %s; wanted are %d in %q for %d",
				g.GetName(), least, queue, madeFor(g), wanted, asked, incarnation(mates[0]))
		}
	}
	for index, mates := range pods {
		for _, p := range mates {
			name, is := strings.CutPrefix(gangOf(p), v1.VolcanoGang)
			if _, waiting := waits[index]; is && !waiting && index < replicas(s) && c.hasRevision(s, revisionOf(p)) && c.volcano[types.NamespacedName{Namespace: s.Namespace, Name: name}] == nil {
				add("S24", "pod %s refers to podgroup %s, which is not there", p.Name, name)
			}
		}
	}
}

// hasRevision says that the object of a set's revision exists.
func (c *Checker) hasRevision(s *v1.LeaderWorkerSet, key string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.revisions)), func(r *appsv1.ControllerRevision) bool {
		return owner(r) == s.UID && r.Labels[v1.LabelRevision] == key
	})
}

package topology

import (
	"maps"
	"strconv"
	"time"

	v1 "lws-controller/api/v1"
)

// podLabels are the template's labels and, over them, those that say where the
// pod belongs.
func (g *Group) podLabels(worker int32) map[string]string {
	leader := g.LeaderName()
	labels := copyMap(g.podTemplate(worker).Labels)
	maps.Copy(labels, map[string]string{
		v1.LabelName:        g.Set.Name,
		v1.LabelGroupIndex:  itoa(g.Index),
		v1.LabelWorkerIndex: itoa(worker),
		v1.LabelGroupKey:    GroupKey(g.Set.Namespace, leader),
		v1.LabelRevision:    g.Revision,
		// What pods of a StatefulSet carry. There the leaders of all groups were
		// the pods of one StatefulSet and the workers of a group those of
		// another, each with its own index.
		v1.LabelPodIndex:           itoa(worker),
		v1.LabelPodName:            g.PodName(worker),
		v1.LabelControllerRevision: g.Revision,
	})
	if worker == 0 {
		labels[v1.LabelPodIndex] = itoa(g.Index)
	}
	if index, ok := g.SubGroup(worker); ok {
		labels[v1.LabelSubGroupIndex] = itoa(index)
		labels[v1.LabelSubGroupKey] = SubGroupKey(leader, index)
	}
	return labels
}

// podAnnotations are the template's annotations and, over them, what the pod
// has to know of its group.
func (g *Group) podAnnotations(worker int32) map[string]string {
	annotations := copyMap(g.podTemplate(worker).Annotations)
	annotations[v1.AnnotationSize] = itoa(g.Size())
	annotations[v1.AnnotationIncarnation] = strconv.FormatInt(g.Incarnation, 10)
	if !g.RecycledAt.IsZero() {
		annotations[v1.AnnotationRecycledAt] = g.RecycledAt.UTC().Format(time.RFC3339Nano)
	}
	g.inherit(annotations, v1.AnnotationExclusiveTopology)
	g.inherit(annotations, v1.AnnotationColocate)

	if worker == 0 {
		if g.SubdomainPolicy() == v1.SubdomainUniquePerReplica {
			annotations[v1.AnnotationSubdomainPolicy] = string(v1.SubdomainUniquePerReplica)
		}
	} else {
		annotations[v1.AnnotationLeaderName] = g.LeaderName()
		if requestsTPUs(&g.podTemplate(0).Spec) {
			annotations[v1.AnnotationLeaderRequestsTPUs] = "true"
		}
	}
	if per := g.SubGroupSize(); per > 0 {
		annotations[v1.AnnotationSubGroupSize] = itoa(per)
		annotations[v1.AnnotationSubGroupPolicyType] = string(g.SubGroupType())
		g.inherit(annotations, v1.AnnotationSubGroupExclusiveTopology)
	}
	return annotations
}

// inherit copies an annotation of the set, if it has it.
func (g *Group) inherit(annotations map[string]string, key string) {
	if value, ok := g.Set.Annotations[key]; ok {
		annotations[key] = value
	}
}

// copyMap is a copy that can be added to, also of nil.
func copyMap(m map[string]string) map[string]string {
	c := make(map[string]string, len(m)+12)
	maps.Copy(c, m)
	return c
}

package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// Withheld is why no pods of a set are created.
type Withheld struct {
	Reason, Message string
}

// Withheld is why no pods of the set are created, nil if they are.
func (k *Known) Withheld() *Withheld {
	if by := kueueBy(k.Set); by != "" && !k.AllowKueueUnmanaged {
		return &Withheld{v1.ReasonKueueUnsupported, fmt.Sprintf("Kueue manages the set (%s), which this controller does not support yet. No pods are created, "+
			"since they would run without quota; take the set out of Kueue, or run the controller with --allow-kueue-unmanaged", by)}
	}
	if k.Set.Spec.Scheduling == nil {
		return k.withheldByVolcano()
	}
	if why := k.schedulingConflict(); why != "" {
		return &Withheld{v1.ReasonSchedulingConflict, "No pods are created: spec.scheduling cannot be used with " + why}
	}
	if k.NoGangs != "" {
		return &Withheld{v1.ReasonSchedulingUnavailable, "No pods are created, since spec.scheduling would have no effect: " + k.NoGangs}
	}
	return nil
}

// withheldByVolcano is why no pods of a set without native scheduling are created, nil if
// they are.
func (k *Known) withheldByVolcano() *Withheld {
	t := &k.Set.Spec.LeaderWorkerTemplate
	if !k.Volcano {
		return nil
	}
	if why := topology.VolcanoConflict(t); why != "" {
		return &Withheld{v1.ReasonSchedulingConflict, "No pods are created, since Volcano cannot schedule the group as one: " + why}
	}
	if topology.UsesVolcano(t) && k.NoVolcano != "" {
		return &Withheld{v1.ReasonSchedulingUnavailable, fmt.Sprintf("No pods are created, since schedulerName %s asks for PodGroups of Volcano: %s",
			v1.VolcanoScheduler, k.NoVolcano)}
	}
	return nil
}

// schedulingConflict says what of a set cannot be with its spec.scheduling, empty if
// nothing. Most such sets were stored before the CRD and the policy refused them.
func (k *Known) schedulingConflict() string {
	set := k.Set
	if k.Volcano && topology.VolcanoPlaces(&set.Spec.LeaderWorkerTemplate) {
		return "schedulerName " + v1.VolcanoScheduler + " of its pods, since Volcano goes by PodGroups of its own: take one of them away"
	}
	const later = ", under which workers come after their leader, whereas a gang needs all pods at once"
	if topology.IsGang(set.Spec.Scheduling) {
		if set.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy {
			return "startupPolicy LeaderReady" + later
		}
		for _, annotation := range []string{v1.AnnotationExclusiveTopology, v1.AnnotationColocate} {
			if set.Annotations[annotation] != "" {
				return "annotation " + annotation + later + ": use spec.scheduling.schedulingConstraints"
			}
		}
	}
	return topology.GangConflict(&set.Spec.LeaderWorkerTemplate)
}

// withhold keeps in mind why no pods are created, and reports it.
func (c *Controller) withhold(m *memory, why *Withheld) {
	for _, reason := range []string{v1.ReasonKueueUnsupported, v1.ReasonSchedulingConflict, v1.ReasonSchedulingUnavailable} {
		if why == nil || why.Reason != reason {
			delete(m.warned, reason)
		}
	}
	if m.withheld = why; why != nil {
		c.warn(m, why.Reason, why.Reason, "CreatePod", "%s", why.Message)
	}
}

// kueueBy is what says that Kueue manages a set, empty if nothing does: its queue, or,
// on a template, that its pods are suspended by a parent
// (https://kueue.sigs.k8s.io/docs/tasks/run/leaderworkerset/).
func kueueBy(set *v1.LeaderWorkerSet) string {
	if _, ok := set.Labels[v1.LabelKueueQueue]; ok {
		return "label " + v1.LabelKueueQueue
	}
	suspended := func(t *corev1.PodTemplateSpec) bool {
		return metav1.HasLabel(t.ObjectMeta, v1.KueuePodSuspendingParent) || metav1.HasAnnotation(t.ObjectMeta, v1.KueuePodSuspendingParent)
	}
	switch t := &set.Spec.LeaderWorkerTemplate; {
	case t.LeaderTemplate != nil && suspended(t.LeaderTemplate):
		return v1.KueuePodSuspendingParent + " on leaderTemplate"
	case suspended(&t.WorkerTemplate):
		return v1.KueuePodSuspendingParent + " on workerTemplate"
	}
	return ""
}

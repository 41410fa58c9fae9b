package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

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

// Withheld is why no pods of the set are created, empty if they are.
func (k *Known) Withheld() string {
	by := kueueBy(k.Set)
	if by == "" || k.AllowKueueUnmanaged {
		return ""
	}
	return fmt.Sprintf("Kueue manages the set (%s), which this controller does not support yet. No pods are created, "+
		"since they would run without quota; take the set out of Kueue, or run the controller with --allow-kueue-unmanaged", by)
}

// withhold keeps in mind why no pods are created, and reports it.
func (c *Controller) withhold(m *memory, why string) {
	if m.withheld = why; why == "" {
		delete(m.warned, v1.ReasonKueueUnsupported)
		return
	}
	c.warn(m, v1.ReasonKueueUnsupported, v1.ReasonKueueUnsupported, "CreatePod", "%s", why)
}

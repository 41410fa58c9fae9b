package topology

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// podTemplate is the template of a pod of the group, not to be changed. Without
// a leader template the worker template serves both.
func (g *Group) podTemplate(worker int32) *corev1.PodTemplateSpec {
	if worker == 0 && g.Template.LeaderTemplate != nil {
		return g.Template.LeaderTemplate
	}
	return &g.Template.WorkerTemplate
}

// Pod builds a pod of the group; worker 0 is the leader. Of the template's
// metadata, labels, annotations and finalizers are used.
func (g *Group) Pod(worker int32) *corev1.Pod {
	template := g.podTemplate(worker).DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            g.PodName(worker),
			GenerateName:    g.generateName(worker),
			Namespace:       g.Set.Namespace,
			Labels:          g.podLabels(worker),
			Annotations:     g.podAnnotations(worker),
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{controllerRef(g.Set)},
		},
		Spec: template.Spec,
	}
	pod.Spec.Hostname = pod.Name
	pod.Spec.Subdomain = g.ServiceName()
	if name, isVolcano := strings.CutPrefix(g.Gang, v1.VolcanoGang); isVolcano {
		pod.Annotations[v1.AnnotationVolcanoGroup] = name
	} else if g.Gang != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.Gang}
	}
	g.place(pod, worker)
	g.addClaimVolumes(&pod.Spec, worker)
	g.addTPUEnv(&pod.Spec, worker)
	g.addGroupEnv(&pod.Spec, worker)
	return pod
}

// generateName is there because pods of StatefulSets carry it: the name before
// the pod's own index.
func (g *Group) generateName(worker int32) string {
	if worker == 0 {
		return g.Set.Name + "-"
	}
	return g.LeaderName() + "-"
}

// controllerRef names the set as the controller of an object. Workers too are
// the set's, not their leader's: disruption budgets and walks up the owners
// need one controller with a scale for all pods.
func controllerRef(set *v1.LeaderWorkerSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, v1.GroupVersionKind)
}

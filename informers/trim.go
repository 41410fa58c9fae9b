package informers

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "lws-controller/api/v1"
)

// Trim drops what is neither compared nor needed for a patch before an object
// enters a cache: managed fields of all kinds, and of pods the whole spec but the
// node and the readiness gates, foreign annotations, and the parts of the status
// that say nothing about failure; of nodes all but labels, taints and readiness; of
// disruption budgets and of Volcano's PodGroups the status. It must be idempotent.
func Trim(obj any) (any, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return obj, nil // a tombstone
	}
	o.SetManagedFields(nil)
	switch o := obj.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *corev1.Node:
		trimNode(o)
	case *v1.LeaderWorkerSet:
		delete(o.Annotations, corev1.LastAppliedConfigAnnotation)
	case *unstructured.Unstructured:
		delete(o.Object, "status")
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	}
	return obj, nil
}

func trimPod(p *corev1.Pod) {
	for key := range p.Annotations {
		if !strings.Contains(key, "leaderworkerset") && key != v1.AnnotationVolcanoGroup {
			delete(p.Annotations, key)
		}
	}
	p.Spec = corev1.PodSpec{
		NodeName:        p.Spec.NodeName,
		ReadinessGates:  p.Spec.ReadinessGates,
		SchedulingGroup: p.Spec.SchedulingGroup,
	}
	p.Status = corev1.PodStatus{
		Phase:                 p.Status.Phase,
		Reason:                p.Status.Reason,
		Message:               p.Status.Message,
		Conditions:            p.Status.Conditions,
		InitContainerStatuses: trimStatuses(p.Status.InitContainerStatuses),
		ContainerStatuses:     trimStatuses(p.Status.ContainerStatuses),
	}
}

// trimNode leaves of a node what stays the same from one heartbeat to the next.
func trimNode(n *corev1.Node) {
	n.Annotations = nil
	n.Spec = corev1.NodeSpec{Taints: n.Spec.Taints}
	var ready []corev1.NodeCondition
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			ready = append(ready, corev1.NodeCondition{Type: c.Type, Status: c.Status})
		}
	}
	n.Status = corev1.NodeStatus{Conditions: ready}
}

func trimStatuses(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	for i := range in {
		in[i] = corev1.ContainerStatus{
			Name:                 in[i].Name,
			State:                in[i].State,
			LastTerminationState: in[i].LastTerminationState,
			Ready:                in[i].Ready,
			RestartCount:         in[i].RestartCount,
			Started:              in[i].Started,
		}
	}
	return in
}

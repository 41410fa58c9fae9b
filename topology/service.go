package topology

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// Service builds the headless Service that the group's pods belong to: the
// set's one, the same for all groups, with Shared; the group's own with
// UniquePerReplica. It publishes pods that are not ready, since the members of
// a group have to find each other in order to become ready.
func (g *Group) Service() *corev1.Service {
	selector := map[string]string{v1.LabelName: g.Set.Name}
	if g.SubdomainPolicy() == v1.SubdomainUniquePerReplica {
		selector[v1.LabelGroupIndex] = itoa(g.Index)
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:            g.ServiceName(),
			Namespace:       g.Set.Namespace,
			Labels:          map[string]string{v1.LabelName: g.Set.Name},
			OwnerReferences: []metav1.OwnerReference{controllerRef(g.Set)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 selector,
			PublishNotReadyAddresses: true,
		},
	}
}

package topology

import corev1 "k8s.io/api/core/v1"

// Service builds the headless Service that the group's pods belong to.
func (g *Group) Service() *corev1.Service {
	return &corev1.Service{}
}

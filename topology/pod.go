package topology

import corev1 "k8s.io/api/core/v1"

// Pod builds a pod of the group; worker 0 is the leader.
func (g *Group) Pod(worker int32) *corev1.Pod {
	return &corev1.Pod{}
}

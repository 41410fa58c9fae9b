package topology

import (
	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// Fits says whether a pod that nobody controls can be adopted by the set: nil,
// or an error that names what does not fit.
func Fits(pod *corev1.Pod, set *v1.LeaderWorkerSet, revisions ...string) error {
	return nil
}

package topology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// Fits says whether a pod is one of the set's by name, labels and revision: nil,
// or an error that names what does not fit. A pod that nobody controls may be
// adopted only then; one that merely carries copied labels does not fit its
// name. Whether it has a controller or is terminating is for the caller to see.
//
// The size and the incarnation play no part: a pod beyond the present size, or
// one that the published controller made, is the set's all the same.
func Fits(pod *corev1.Pod, set *v1.LeaderWorkerSet, revisions ...string) error {
	if pod.Namespace != set.Namespace {
		return fmt.Errorf("namespace is %q, not %q", pod.Namespace, set.Namespace)
	}
	group, worker, ok := ParsePodName(set.Name, pod.Name)
	if !ok {
		return fmt.Errorf("%q is no pod name of set %q", pod.Name, set.Name)
	}
	for _, want := range []struct{ key, value string }{
		{v1.LabelName, set.Name},
		{v1.LabelGroupIndex, itoa(group)},
		{v1.LabelWorkerIndex, itoa(worker)},
		{v1.LabelGroupKey, GroupKey(set.Namespace, LeaderName(set.Name, group))},
	} {
		if got := pod.Labels[want.key]; got != want.value {
			return fmt.Errorf("label %s is %q, not %q", want.key, got, want.value)
		}
	}
	if key := pod.Labels[v1.LabelRevision]; key == "" || !slices.Contains(revisions, key) {
		return fmt.Errorf("label %s is %q, which is no revision of the set", v1.LabelRevision, key)
	}
	return nil
}

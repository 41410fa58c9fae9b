package informers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Set returns the cached set. It is shared: copy before changing.
func (i *Informers) Set(key types.NamespacedName) (*v1.LeaderWorkerSet, bool) {
	return get[*v1.LeaderWorkerSet](i.sets, key.String())
}

// Sets returns all cached sets, in no order. They are shared: copy before changing.
func (i *Informers) Sets() []*v1.LeaderWorkerSet {
	objs := i.sets.GetStore().List()
	out := make([]*v1.LeaderWorkerSet, 0, len(objs))
	for _, obj := range objs {
		out = append(out, obj.(*v1.LeaderWorkerSet))
	}
	return out
}

// Pod returns the cached, trimmed pod.
func (i *Informers) Pod(key types.NamespacedName) (*corev1.Pod, bool) {
	return get[*corev1.Pod](i.pods, key.String())
}

// Events are the present pods of the set as if they had just been observed.
func (i *Informers) Events(set types.NamespacedName, each func(index int32, e group.Event)) {
	for _, p := range list[*corev1.Pod](i.pods, set) {
		if _, index, worker, ok := Place(p); ok {
			each(index, group.Observed(group.ObservePod(p, worker)))
		}
	}
}

// Services returns the Services with the set's label, whoever controls them.
func (i *Informers) Services(set types.NamespacedName) []*corev1.Service {
	return list[*corev1.Service](i.services, set)
}

// Revisions returns the ControllerRevisions with the set's label, whoever
// controls them.
func (i *Informers) Revisions(set types.NamespacedName) []*appsv1.ControllerRevision {
	return list[*appsv1.ControllerRevision](i.revisions, set)
}

// Node returns the cached, trimmed node, nil if there is none of that name. It is not
// known where only one namespace is served.
func (i *Informers) Node(name string) (n *corev1.Node, known bool) {
	if i.nodes == nil {
		return nil, false
	}
	n, _ = get[*corev1.Node](i.nodes, name)
	return n, true
}

// Budget returns the cached, trimmed PodDisruptionBudget of this name.
func (i *Informers) Budget(key types.NamespacedName) (*policyv1.PodDisruptionBudget, bool) {
	return get[*policyv1.PodDisruptionBudget](i.budgets, key.String())
}

// Budgets returns all PodDisruptionBudgets of a namespace, whoever's they are.
func (i *Informers) Budgets(namespace string) []*policyv1.PodDisruptionBudget {
	return indexed[*policyv1.PodDisruptionBudget](i.budgets, cache.NamespaceIndex, namespace)
}

// PodGroups returns the PodGroups with the set's label, whoever controls them.
func (i *Informers) PodGroups(set types.NamespacedName) []*schedulingv1beta1.PodGroup {
	return list[*schedulingv1beta1.PodGroup](i.gangs.podGroups, set)
}

// Workloads returns the Workloads with the set's label, whoever controls them.
func (i *Informers) Workloads(set types.NamespacedName) []*schedulingv1beta1.Workload {
	return list[*schedulingv1beta1.Workload](i.gangs.workloads, set)
}

// NoGangs says why PodGroups cannot be used, empty if they can.
func (i *Informers) NoGangs() string { return i.gangs.why() }

// VolcanoGroups returns Volcano's PodGroups with the set's label, whoever controls them.
func (i *Informers) VolcanoGroups(set types.NamespacedName) []*unstructured.Unstructured {
	if i.volcano == nil {
		return nil
	}
	return list[*unstructured.Unstructured](i.volcano.podGroups, set)
}

// NoVolcano says why Volcano's PodGroups cannot be used, empty if they can.
func (i *Informers) NoVolcano() string {
	if i.volcano == nil {
		return "the controller runs without --scheduler-provider=volcano"
	}
	return i.volcano.why()
}

func get[T any](informer cache.SharedIndexInformer, key string) (T, bool) {
	obj, exists, err := informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		var none T
		return none, false
	}
	return obj.(T), true
}

func list[T any](informer cache.SharedIndexInformer, set types.NamespacedName) []T {
	return indexed[T](informer, bySet, set.String())
}

// indexed never fails: the only error of ByIndex is an index that does not exist.
func indexed[T any](informer cache.SharedIndexInformer, index, value string) []T {
	objs, _ := informer.GetIndexer().ByIndex(index, value)
	out := make([]T, 0, len(objs))
	for _, obj := range objs {
		out = append(out, obj.(T))
	}
	return out
}

// Passed says that the cache of a kind has seen everything up to this version.
func (i *Informers) Passed(kind Kind, version string) bool {
	if kind == VolcanoGroups {
		return i.volcano == nil || group.Reached(i.volcano.podGroups.GetStore().LastStoreSyncResourceVersion(), version)
	}
	informer := map[Kind]cache.SharedIndexInformer{
		Sets: i.sets, Pods: i.pods, Services: i.services, Revisions: i.revisions, Budgets: i.budgets,
		Workloads: i.gangs.workloads, PodGroups: i.gangs.podGroups,
	}[kind]
	return group.Reached(informer.GetStore().LastStoreSyncResourceVersion(), version)
}

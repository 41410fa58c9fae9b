package informers

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
)

// Kind is a kind of object that is watched.
type Kind string

// The kinds that are watched.
const (
	Sets      Kind = "LeaderWorkerSet"
	Pods      Kind = "Pod"
	Services  Kind = "Service"
	Revisions Kind = "ControllerRevision"
	Nodes     Kind = "Node"
	Budgets   Kind = "PodDisruptionBudget"
	Workloads Kind = "Workload"
	PodGroups Kind = "PodGroup"
	// VolcanoGroups are PodGroups of Volcano.
	VolcanoGroups Kind = "podgroups.scheduling.volcano.sh"
)

// bySet indexes objects by namespace and name label, whoever controls them: who
// holds a name matters as much as who owns a pod.
const bySet = "set"

// Informers are the caches of one controller.
type Informers struct {
	sets      client.Informer
	pods      cache.TypedSharedIndexInformer[*corev1.Pod]
	services  cache.TypedSharedIndexInformer[*corev1.Service]
	revisions cache.TypedSharedIndexInformer[*appsv1.ControllerRevision]
	nodes     cache.TypedSharedIndexInformer[*corev1.Node] // nil when only one namespace is served
	budgets   cache.TypedSharedIndexInformer[*policyv1.PodDisruptionBudget]

	fence fence
	// gangs are the native ones; volcano is nil where Volcano's are not asked for.
	gangs   *gangs
	volcano *volcano

	synced  []cache.InformerSynced
	running sync.WaitGroup
}

// New makes the informers for one namespace, or for all if it is empty. Of the
// built-in kinds only objects with the set's label are watched, and all
// PodDisruptionBudgets: whoever's selects a pod is in the way of another. volcanoClient
// may be nil: then nothing is asked for of Volcano.
func New(kube kubernetes.Interface, sets *client.Client, volcanoClient dynamic.Interface, namespace string) (*Informers, error) {
	labelled := func(o *metav1.ListOptions) { o.LabelSelector = v1.LabelName }
	i := &Informers{
		sets: client.NewInformer(sets, namespace, 0, byNamespace(), nil),
		pods: cache.NewTypedSharedIndexInformer[*corev1.Pod](
			coreinformers.NewFilteredPodInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		services: cache.NewTypedSharedIndexInformer[*corev1.Service](
			coreinformers.NewFilteredServiceInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		revisions: cache.NewTypedSharedIndexInformer[*appsv1.ControllerRevision](
			appsinformers.NewFilteredControllerRevisionInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		budgets: cache.NewTypedSharedIndexInformer[*policyv1.PodDisruptionBudget](
			policyinformers.NewPodDisruptionBudgetInformer(kube, namespace, 0, byNamespace())),
	}
	i.fence = newFence(kube, namespace)
	if namespace == metav1.NamespaceAll {
		// Nodes are in no namespace: who serves one only has no rights on them.
		i.nodes = cache.NewTypedSharedIndexInformer[*corev1.Node](coreinformers.NewNodeInformer(kube, 0, cache.Indexers{}))
	}
	i.gangs = newGangs(kube, namespace, labelled)
	all := append(i.all(), i.gangs.informers...)
	if volcanoClient != nil {
		i.volcano = newVolcano(kube, volcanoClient, namespace, labelled)
		all = append(all, i.volcano.informers...)
	}
	for _, informer := range all {
		if err := informer.SetTransform(Trim); err != nil {
			return nil, fmt.Errorf("setting the transform of an informer: %w", err)
		}
	}
	return i, nil
}

// all are those that run from the start.
func (i *Informers) all() []cache.SharedIndexInformer {
	all := append(i.fence.all(), i.sets, i.pods, i.services, i.revisions, i.budgets)
	if i.nodes != nil {
		all = append(all, i.nodes)
	}
	return all
}

func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

// Start runs the informers until the context ends. Handlers must be there before.
func (i *Informers) Start(ctx context.Context) {
	for _, informer := range i.all() {
		i.running.Go(func() { informer.RunWithContext(ctx) })
	}
	i.running.Go(func() { i.gangs.run(ctx, i.wantGangs) })
	if i.volcano != nil {
		i.running.Go(func() { i.volcano.run(ctx, i.wantVolcano) })
	}
}

// WaitForSync waits until the caches are filled and every handler has been told
// of what was there at the start.
func (i *Informers) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), i.synced...) {
		return fmt.Errorf("filling the caches: %w", context.Cause(ctx))
	}
	return nil
}

// HasSynced says what WaitForSync waits for.
func (i *Informers) HasSynced() bool {
	for _, synced := range i.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Wait returns when all informers have ended.
func (i *Informers) Wait() { i.running.Wait() }

func indexBySet(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	if set := o.GetLabels()[v1.LabelName]; set != "" {
		return []string{o.GetNamespace() + "/" + set}, nil
	}
	return nil, nil
}

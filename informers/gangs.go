package informers

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// gangs are the caches of native PodGroups and Workloads.
type gangs struct {
	optional
	workloads cache.TypedSharedIndexInformer[*schedulingv1beta1.Workload]
	podGroups cache.TypedSharedIndexInformer[*schedulingv1beta1.PodGroup]
}

func newGangs(kube kubernetes.Interface, namespace string, labelled func(*metav1.ListOptions)) *gangs {
	g := &gangs{
		optional: newOptional(kube, schedulingv1beta1.SchemeGroupVersion, "PodGroups and Workloads", topology.GangsNotServed),
		workloads: cache.NewTypedSharedIndexInformer[*schedulingv1beta1.Workload](
			schedulinginformers.NewFilteredWorkloadInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		podGroups: cache.NewTypedSharedIndexInformer[*schedulingv1beta1.PodGroup](
			schedulinginformers.NewFilteredPodGroupInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
	}
	g.informers = []cache.SharedIndexInformer{g.workloads, g.podGroups}
	return g
}

func (g *gangs) watch(sink Sink) error {
	workloads, err := g.workloads.AddTypedEventHandler(OwnedHandler[*schedulingv1beta1.Workload](sink))
	if err != nil {
		return fmt.Errorf("watching workloads: %w", err)
	}
	podGroups, err := g.podGroups.AddTypedEventHandler(OwnedHandler[*schedulingv1beta1.PodGroup](sink))
	if err != nil {
		return fmt.Errorf("watching pod groups: %w", err)
	}
	return g.handle(sink, workloads.HasSynced, podGroups.HasSynced)
}

// wantGangs are the sets that ask for native scheduling.
func (i *Informers) wantGangs() []types.NamespacedName {
	var out []types.NamespacedName
	for _, obj := range i.sets.GetStore().List() {
		if set, ok := obj.(*v1.LeaderWorkerSet); ok && set.Spec.Scheduling != nil {
			out = append(out, types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
		}
	}
	return out
}

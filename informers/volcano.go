package informers

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// volcano is the cache of Volcano's PodGroups.
type volcano struct {
	optional
	podGroups cache.TypedSharedIndexInformer[*unstructured.Unstructured]
}

func newVolcano(kube kubernetes.Interface, client dynamic.Interface, namespace string, labelled func(*metav1.ListOptions)) *volcano {
	v := &volcano{
		optional: newOptional(kube, topology.VolcanoVersion, "PodGroups", topology.VolcanoNotServed),
		podGroups: cache.NewTypedSharedIndexInformer[*unstructured.Unstructured](dynamicinformer.NewFilteredDynamicInformer(client,
			topology.VolcanoVersion.WithResource("podgroups"), namespace, 0, cache.Indexers{bySet: indexBySet}, labelled).Informer()),
	}
	v.informers = []cache.SharedIndexInformer{v.podGroups}
	return v
}

func (v *volcano) watch(sink Sink) error {
	podGroups, err := v.podGroups.AddTypedEventHandler(VolcanoHandler(sink))
	if err != nil {
		return fmt.Errorf("watching pod groups of Volcano: %w", err)
	}
	return v.handle(sink, podGroups.HasSynced)
}

// VolcanoHandler has a set synced when a PodGroup of Volcano with its label changes. A
// new status alone, which is not kept, is no news.
func VolcanoHandler(sink Sink) cache.TypedResourceEventHandler[*unstructured.Unstructured] {
	handler := OwnedHandler[*unstructured.Unstructured](sink).(cache.TypedResourceEventHandlerFuncs[*unstructured.Unstructured])
	all := handler.UpdateFunc
	handler.UpdateFunc = func(before, after *unstructured.Unstructured) {
		if !sameButStatus(before, after) {
			all(before, after)
		}
	}
	return handler
}

func sameButStatus(a, b *unstructured.Unstructured) bool {
	return a.GetUID() == b.GetUID() && a.GetDeletionTimestamp().Equal(b.GetDeletionTimestamp()) &&
		reflect.DeepEqual(a.Object["spec"], b.Object["spec"]) && reflect.DeepEqual(a.GetLabels(), b.GetLabels()) &&
		reflect.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) && reflect.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}

// wantVolcano are the sets whose pods Volcano places.
func (i *Informers) wantVolcano() []types.NamespacedName {
	var out []types.NamespacedName
	for _, obj := range i.sets.GetStore().List() {
		if set, ok := obj.(*v1.LeaderWorkerSet); ok && topology.UsesVolcano(&set.Spec.LeaderWorkerTemplate) {
			out = append(out, types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
		}
	}
	return out
}

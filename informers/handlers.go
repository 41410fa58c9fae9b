package informers

import (
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/topology"
)

// Sink takes in what the informers notice. Its methods must not block.
type Sink interface {
	// Pod is news about a pod that carries the set's label and a name that the
	// set would give to a pod of this group.
	Pod(set types.NamespacedName, index int32, e group.Event)
	// Touch says that the set itself or something of it has changed.
	Touch(set types.NamespacedName)
	// Freed says that a name which the set would give to a pod of this group has
	// become free.
	Freed(set types.NamespacedName, index int32)
	// Node says that a node has come, gone, or changed in what matters.
	Node(name string)
}

// Watch registers the handlers. It must be called once, before Start.
func (i *Informers) Watch(sink Sink) error {
	pods, err := i.pods.AddTypedEventHandler(PodHandler(sink, func(set types.NamespacedName) bool {
		_, exists := i.Set(set)
		return exists
	}))
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	sets, err := i.sets.AddTypedEventHandler(SetHandler(sink))
	if err != nil {
		return fmt.Errorf("watching sets: %w", err)
	}
	services, err := i.services.AddTypedEventHandler(OwnedHandler[*corev1.Service](sink))
	if err != nil {
		return fmt.Errorf("watching services: %w", err)
	}
	revisions, err := i.revisions.AddTypedEventHandler(OwnedHandler[*appsv1.ControllerRevision](sink))
	if err != nil {
		return fmt.Errorf("watching revisions: %w", err)
	}
	budgets, err := i.budgets.AddTypedEventHandler(BudgetHandler(sink, func(namespace string) []*v1.LeaderWorkerSet {
		return indexed[*v1.LeaderWorkerSet](i.sets, cache.NamespaceIndex, namespace)
	}))
	if err != nil {
		return fmt.Errorf("watching disruption budgets: %w", err)
	}
	if err := i.gangs.watch(sink); err != nil {
		return err
	}
	if i.volcano != nil {
		if err := i.volcano.watch(sink); err != nil {
			return err
		}
	}
	i.synced = []cache.InformerSynced{i.gangs.known, pods.HasSynced, sets.HasSynced, services.HasSynced, revisions.HasSynced, budgets.HasSynced}
	if i.nodes != nil {
		nodes, err := i.nodes.AddTypedEventHandler(NodeHandler(sink))
		if err != nil {
			return fmt.Errorf("watching nodes: %w", err)
		}
		i.synced = append(i.synced, nodes.HasSynced)
	}
	if i.volcano != nil {
		i.synced = append(i.synced, i.volcano.known)
	}
	for _, informer := range i.fence.all() {
		i.synced = append(i.synced, informer.HasSynced)
	}
	return nil
}

// touching calls touch for every object in a notification, old and new: an
// update may move an object from one set to another.
func touching[T cache.Object](touch func(T)) cache.TypedResourceEventHandlerFuncs[T] {
	return cache.TypedResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { touch(obj) },
		UpdateFunc: func(before, after T) { touch(before); touch(after) },
		DeleteFunc: func(d cache.DeletedObject[T]) {
			var none T
			if d.OptionalObj != none {
				touch(d.OptionalObj)
			}
		},
	}
}

// SetHandler has a set synced when it changes.
func SetHandler(sink Sink) cache.TypedResourceEventHandler[*v1.LeaderWorkerSet] {
	return touching[*v1.LeaderWorkerSet](func(s *v1.LeaderWorkerSet) {
		sink.Touch(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	})
}

// NodeHandler tells of nodes. Their heartbeats, several a minute each, go no further.
func NodeHandler(sink Sink) cache.TypedResourceEventHandler[*corev1.Node] {
	return cache.TypedResourceEventHandlerFuncs[*corev1.Node]{
		AddFunc: func(n *corev1.Node) { sink.Node(n.Name) },
		UpdateFunc: func(before, after *corev1.Node) {
			if group.ObserveNode(before) != group.ObserveNode(after) || !maps.Equal(before.Labels, after.Labels) {
				sink.Node(after.Name)
			}
		},
		DeleteFunc: func(d cache.DeletedObject[*corev1.Node]) { sink.Node(d.GetObjectName().Name) },
	}
}

// labelled is an object of any kind that can carry the set's label.
type labelled interface {
	cache.Object
	GetLabels() map[string]string
}

// OwnedHandler has a set synced when an object with its label changes.
func OwnedHandler[T labelled](sink Sink) cache.TypedResourceEventHandler[T] {
	return touching[T](func(o T) {
		if set := o.GetLabels()[v1.LabelName]; set != "" {
			sink.Touch(types.NamespacedName{Namespace: o.GetNamespace(), Name: set})
		}
	})
}

// BudgetHandler has the sets synced that a PodDisruptionBudget may matter to: the one
// that controls it or, where it is somebody else's, all of its namespace that keep one
// of their own. A new status alone is no news.
func BudgetHandler(sink Sink, sets func(namespace string) []*v1.LeaderWorkerSet) cache.TypedResourceEventHandler[*policyv1.PodDisruptionBudget] {
	touch := func(b *policyv1.PodDisruptionBudget) {
		if owner := metav1.GetControllerOfNoCopy(b); owner != nil && owner.Kind == v1.Kind {
			sink.Touch(types.NamespacedName{Namespace: b.Namespace, Name: owner.Name})
			return
		}
		for _, s := range sets(b.Namespace) {
			if _, keeps := s.Annotations[v1.AnnotationDisruptionBudget]; keeps {
				sink.Touch(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
			}
		}
	}
	handler := touching[*policyv1.PodDisruptionBudget](touch)
	handler.UpdateFunc = func(before, after *policyv1.PodDisruptionBudget) {
		if before.UID != after.UID || before.Generation != after.Generation || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
			!reflect.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
			touch(before)
			touch(after)
		}
	}
	return handler
}

// PodHandler turns notifications about pods into events. An update may be a
// deletion and a creation in one, with another UID, and a pod may change its
// set's label: both are a pod gone and another one observed. isSet says which
// sets exist.
func PodHandler(sink Sink, isSet func(types.NamespacedName) bool) cache.TypedResourceEventHandler[*corev1.Pod] {
	observed := func(p *corev1.Pod) {
		if set, index, worker, ok := Place(p); ok {
			sink.Pod(set, index, group.Observed(group.ObservePod(p, worker)))
		}
	}
	gone := func(p *corev1.Pod, version string) {
		if set, index, worker, ok := Place(p); ok {
			sink.Pod(set, index, group.Event{Kind: group.PodGone, Worker: worker, UID: p.UID, Version: version})
		}
		freed(sink, isSet, p)
	}
	return cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: observed,
		UpdateFunc: func(before, after *corev1.Pod) {
			if before.UID != after.UID || before.Labels[v1.LabelName] != after.Labels[v1.LabelName] {
				gone(before, before.ResourceVersion)
			}
			observed(after)
		},
		DeleteFunc: func(d cache.DeletedObject[*corev1.Pod]) {
			// Without any copy, nothing was known that could be gone now.
			if d.OptionalObj != nil {
				gone(d.OptionalObj, d.OptionalObj.ResourceVersion)
			}
		},
	}
}

// freed tells the other sets that would give this name to a pod of theirs: the
// names of `a` and `a-1` meet.
func freed(sink Sink, isSet func(types.NamespacedName) bool, p *corev1.Pod) {
	for _, place := range topology.Candidates(p.Name) {
		key := types.NamespacedName{Namespace: p.Namespace, Name: place.Set}
		if place.Set == p.Labels[v1.LabelName] {
			continue
		}
		if isSet(key) {
			sink.Freed(key, place.Group)
		}
	}
}

// Place reads from a pod's label and name where it belongs.
func Place(p *corev1.Pod) (set types.NamespacedName, index, worker int32, ok bool) {
	set = types.NamespacedName{Namespace: p.Namespace, Name: p.Labels[v1.LabelName]}
	index, worker, ok = topology.ParsePodName(set.Name, p.Name)
	return set, index, worker, ok
}

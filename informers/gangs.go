package informers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// gangs are the caches of PodGroups and Workloads, which not every cluster serves.
type gangs struct {
	kube      kubernetes.Interface
	workloads cache.TypedSharedIndexInformer[*schedulingv1beta1.Workload]
	podGroups cache.TypedSharedIndexInformer[*schedulingv1beta1.PodGroup]
	synced    []cache.InformerSynced

	// missing is why they cannot be used, empty if they can; nil: not known yet.
	missing atomic.Pointer[string]
	// failing is told of the first error of a watch.
	failing chan error
	once    sync.Once
	sink    Sink
}

const (
	// discoverEvery is how often a cluster that lacks the API is asked for it, if a set wants it,
	// and tryEvery how often one that does not answer.
	discoverEvery = time.Minute
	tryEvery      = time.Second
)

func newGangs(kube kubernetes.Interface, namespace string, labelled func(*metav1.ListOptions)) *gangs {
	return &gangs{
		kube: kube,
		workloads: cache.NewTypedSharedIndexInformer[*schedulingv1beta1.Workload](
			schedulinginformers.NewFilteredWorkloadInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		podGroups: cache.NewTypedSharedIndexInformer[*schedulingv1beta1.PodGroup](
			schedulinginformers.NewFilteredPodGroupInformer(kube, namespace, 0, cache.Indexers{bySet: indexBySet}, labelled)),
		failing: make(chan error, 1),
	}
}

func (g *gangs) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{g.workloads, g.podGroups}
}

func (g *gangs) watch(sink Sink) error {
	g.sink = sink
	workloads, err := g.workloads.AddTypedEventHandler(OwnedHandler[*schedulingv1beta1.Workload](sink))
	if err != nil {
		return fmt.Errorf("watching workloads: %w", err)
	}
	podGroups, err := g.podGroups.AddTypedEventHandler(OwnedHandler[*schedulingv1beta1.PodGroup](sink))
	if err != nil {
		return fmt.Errorf("watching pod groups: %w", err)
	}
	g.synced = []cache.InformerSynced{workloads.HasSynced, podGroups.HasSynced}
	for _, informer := range g.all() {
		err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			g.once.Do(func() { g.failing <- err })
		})
		if err != nil {
			return fmt.Errorf("watching pod groups: %w", err)
		}
	}
	return nil
}

// known says that it is known whether the caches can be used.
func (g *gangs) known() bool { return g.missing.Load() != nil }

// settle says why the caches cannot be used, and has the sets synced that want to know.
func (g *gangs) settle(ctx context.Context, why string, waiting func() []types.NamespacedName) {
	if before := g.missing.Swap(&why); before == nil || *before != why {
		if why != "" {
			klog.FromContext(ctx).Info("Native scheduling is not available", "reason", why)
		}
		for _, set := range waiting() {
			g.sink.Touch(set)
		}
	}
}

// run looks for the API, and fills the caches once it is there. waiting are the sets
// that want it. It returns when the context ends.
func (g *gangs) run(ctx context.Context, waiting func() []types.NamespacedName) {
	for !g.served(ctx, waiting) {
		every := tryEvery
		if g.known() {
			every = discoverEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range g.all() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	filled := make(chan struct{})
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), g.synced...) {
			close(filled)
		}
	})
	for {
		select {
		case err := <-g.failing:
			select {
			case <-filled: // it works again, or still
			default:
				g.settle(ctx, fmt.Sprintf("PodGroups and Workloads of scheduling.k8s.io/v1beta1 cannot be read: %v", err), waiting)
			}
		case <-filled:
			g.settle(ctx, "", waiting)
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
	}
}

// served asks for the API, of a cluster that lacks it only when a set wants it.
func (g *gangs) served(ctx context.Context, waiting func() []types.NamespacedName) bool {
	if g.known() && len(waiting()) == 0 {
		return false
	}
	found, err := g.kube.Discovery().ServerResourcesForGroupVersion(schedulingv1beta1.SchemeGroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).V(2).Info("Looking for native scheduling", "reason", err.Error())
		return false
	}
	if found != nil && slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == "podgroups" }) {
		return true
	}
	g.settle(ctx, topology.GangsNotServed, waiting)
	return false
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

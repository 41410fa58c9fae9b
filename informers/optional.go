package informers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// optional are the caches of an API with PodGroups that not every cluster serves. They
// are filled once it is there.
type optional struct {
	discovery discovery.DiscoveryInterface
	// api is the group and version, kinds what is read of it, absent what is said of a
	// cluster that does not serve it.
	api           schema.GroupVersion
	kinds, absent string
	informers     []cache.SharedIndexInformer
	synced        []cache.InformerSynced

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
	discoverEvery = 10 * time.Second
	tryEvery      = time.Second
)

func newOptional(kube kubernetes.Interface, api schema.GroupVersion, kinds, absent string) optional {
	return optional{discovery: kube.Discovery(), api: api, kinds: kinds, absent: absent, failing: make(chan error, 1)}
}

// handle takes in whom to tell, and what says that the handlers have been told of all
// there is.
func (o *optional) handle(sink Sink, synced ...cache.InformerSynced) error {
	o.sink, o.synced = sink, synced
	for _, informer := range o.informers {
		err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			o.once.Do(func() { o.failing <- err })
		})
		if err != nil {
			return fmt.Errorf("watching pod groups: %w", err)
		}
	}
	return nil
}

// why says why the caches cannot be used, empty if they can.
func (o *optional) why() string {
	if missing := o.missing.Load(); missing != nil {
		return *missing
	}
	return "whether the cluster has it is not known yet"
}

// known says that it is known whether the caches can be used.
func (o *optional) known() bool { return o.missing.Load() != nil }

// settle says why the caches cannot be used, and has the sets synced that want to know.
func (o *optional) settle(ctx context.Context, why string, waiting func() []types.NamespacedName) {
	if before := o.missing.Swap(&why); before == nil || *before != why {
		if why != "" {
			klog.FromContext(ctx).Info("An API for scheduling is not available", "api", o.api, "reason", why)
		}
		for _, set := range waiting() {
			o.sink.Touch(set)
		}
	}
}

// run looks for the API, and fills the caches once it is there. waiting are the sets
// that want it. It returns when the context ends.
func (o *optional) run(ctx context.Context, waiting func() []types.NamespacedName) {
	for !o.served(ctx, waiting) {
		every := tryEvery
		if o.known() {
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
	for _, informer := range o.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	filled := make(chan struct{})
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), o.synced...) {
			close(filled)
		}
	})
	for {
		select {
		case err := <-o.failing:
			select {
			case <-filled: // it works again, or still
			default:
				o.settle(ctx, fmt.Sprintf("%s of %s cannot be read: %v", o.kinds, o.api, err), waiting)
			}
		case <-filled:
			o.settle(ctx, "", waiting)
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
	}
}

// served asks for the API, of a cluster that lacks it only when a set wants it.
func (o *optional) served(ctx context.Context, waiting func() []types.NamespacedName) bool {
	if o.known() && len(waiting()) == 0 {
		return false
	}
	found, err := o.discovery.ServerResourcesForGroupVersion(o.api.String())
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).V(2).Info("Looking for an API for scheduling", "api", o.api, "reason", err.Error())
		return false
	}
	if found != nil && slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == "podgroups" }) {
		return true
	}
	o.settle(ctx, o.absent, waiting)
	return false
}

package client

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/listers"
	"k8s.io/client-go/tools/cache"

	lwsv1 "lws-controller/api/v1"
)

// Informer is a cache of LeaderWorkerSets with type-safe handlers and indexes.
type Informer = cache.TypedSharedIndexInformer[*lwsv1.LeaderWorkerSet]

// NewInformer returns an informer for the sets of a namespace ("" for all). It
// has the given indexers and no others, redelivers all objects after each
// resync period (0: never), and lets tweak, if not nil, narrow what is listed
// and watched.
func NewInformer(c *Client, namespace string, resync time.Duration, indexers cache.Indexers, tweak func(*metav1.ListOptions)) Informer {
	sets := c.LeaderWorkerSets(namespace)
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			tweak(&o)
			return sets.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			tweak(&o)
			return sets.Watch(ctx, o)
		},
	}
	return cache.NewTypedSharedIndexInformer[*lwsv1.LeaderWorkerSet](
		cache.NewSharedIndexInformerWithOptions(lw, &lwsv1.LeaderWorkerSet{},
			cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers}))
}

// Lister reads LeaderWorkerSets from a cache. What it returns is shared: copy
// before changing.
type Lister struct {
	listers.ResourceIndexer[*lwsv1.LeaderWorkerSet]
}

// NewLister returns a lister over the indexer of an informer. Listing one
// namespace is fast only with cache.NamespaceIndex.
func NewLister(indexer cache.Indexer) Lister {
	resource := lwsv1.GroupVersionResource.GroupResource()
	return Lister{listers.New[*lwsv1.LeaderWorkerSet](indexer, resource)}
}

// LeaderWorkerSets reads the sets of one namespace.
func (l Lister) LeaderWorkerSets(namespace string) listers.ResourceIndexer[*lwsv1.LeaderWorkerSet] {
	return listers.NewNamespaced(l.ResourceIndexer, namespace)
}

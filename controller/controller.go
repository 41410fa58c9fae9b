package controller

import (
	"context"

	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/metrics"
)

// Options are what a Controller is made of.
type Options struct {
	API       API
	Revisions RevisionStore
	Cache     Cache
	Recorder  events.EventRecorder
	// Fence says why nothing may be written for any set at this time, if so; see
	// informers.Informers.Fence. Nil: never.
	Fence func(now time.Time) string
	// Journal takes down what happens, for replay. Nil: nothing is taken down.
	Journal *Journal
	// Planned is told of every plan, before it is carried out. Nil: nobody is.
	Planned func(set types.NamespacedName, in rollout.Input, plan rollout.Plan)
	// AllowKueueUnmanaged: pods of sets that Kueue manages are created like others,
	// and run without quota.
	AllowKueueUnmanaged bool
	// Volcano: groups whose pods Volcano places get PodGroups of it.
	Volcano bool
	// Metrics is told what happens. Nil: nobody is.
	Metrics *metrics.Recorder
	// MetricsPerGroup: State tells of each group.
	MetricsPerGroup bool
	// Workers is how many sets are synced at a time.
	Workers int
	// InFlight is how many requests of one set may be under way at a time; 32 if
	// it is 0. With 1, a sync runs in one goroutine.
	InFlight int
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Controller syncs sets. It is a Sink of informers.
type Controller struct {
	Options
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]
	memories memories
	awaited  awaitedNodes
	fenced   atomic.Pointer[string]
	backlog  backlog
	running  atomic.Bool
	gate     *informers.Gate
}

// New makes a controller. Register it with the informers before they start, and
// call Run once they are synced.
func New(o Options) *Controller {
	if o.InFlight == 0 {
		o.InFlight = 32
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	// Only the limiter per item: the default one adds a limit over all items
	// under which 10 000 sets would take a quarter of an hour.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](5*time.Millisecond, 30*time.Second)
	c := &Controller{
		Options: o,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "leaderworkerset"}),
		gate: informers.NewGate(o.Cache.Passed),
	}
	if c.Metrics != nil {
		c.API, c.Revisions = countedAPI{c.API, c}, countedRevisions{c.Revisions, c}
	}
	return c
}

var _ informers.Sink = (*Controller)(nil)

// Pod takes in news about a pod.
func (c *Controller) Pod(set types.NamespacedName, index int32, e group.Event) {
	if m := c.memories.get(set); m != nil {
		m.deliver(delivery{index: index, event: e})
	}
	c.add(set)
}

// Touch has the set synced.
func (c *Controller) Touch(set types.NamespacedName) { c.add(set) }

// Freed has the set try again at once to create the pods of a group that waits
// for a name.
func (c *Controller) Freed(set types.NamespacedName, index int32) {
	if m := c.memories.get(set); m != nil {
		m.deliver(delivery{index: index, freed: true})
		c.add(set)
	}
}

// Node has the sets synced that wait for pods on a node.
func (c *Controller) Node(name string) {
	for _, set := range c.AwaitNode(name) {
		c.add(set)
	}
}

// AwaitNode are the sets that wait for pods on a node.
func (c *Controller) AwaitNode(name string) []types.NamespacedName { return c.awaited.by(name) }

// Run syncs until the context ends, and returns when the last sync has ended.
func (c *Controller) Run(ctx context.Context) {
	c.running.Store(true)
	defer c.running.Store(false)
	var workers sync.WaitGroup
	for range max(c.Workers, 1) {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// next syncs one set. It is false when the queue has been shut down.
func (c *Controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return true
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "set", klog.KRef(key.Namespace, key.Name))
	wait, err := c.Sync(klog.NewContext(ctx, logger), key)
	switch {
	case err != nil && ctx.Err() != nil:
		// Stopping: what failed because of that is no failure.
	case err != nil:
		logger.Error(err, "Sync failed, will be tried again", "failures", c.queue.NumRequeues(key)+1)
		c.queue.AddRateLimited(key)
		if wait.After > 0 {
			// What failed for one group must not hold others up whose time comes sooner.
			c.queue.AddAfter(key, wait.After)
		}
		return true
	case wait.Again:
		c.queue.Add(key)
	case wait.After > 0:
		c.queue.AddAfter(key, wait.After)
	}
	c.queue.Forget(key)
	return true
}

// Wait says when a set is to be synced again, besides when something of it
// changes.
type Wait struct {
	// Again: at once.
	Again bool
	// After: in so long; 0 means not at all.
	After time.Duration
	// complete: the sync came to its end, or there is nothing to sync.
	complete bool
}

// sooner merges the wish to be synced in d.
func (w *Wait) sooner(d time.Duration) {
	if d = max(d, time.Millisecond); w.After == 0 || d < w.After {
		w.After = d
	}
}

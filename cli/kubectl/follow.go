package kubectl

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

const (
	// followPause is the least time between two looks at what has changed.
	followPause = 200 * time.Millisecond
	// followTick is how often there is a look though nothing changed: ages grow.
	followTick = time.Second
)

// news is a look at a set that is followed.
type news struct {
	seen *seen
	// trouble is why what is seen may be out of date, nil if it is not.
	trouble error
}

// follow calls show with the set as it is, again at every change and every second,
// until show says that it has seen enough or fails. It returns an error that names the
// set when that is not there (any more), and the context's when that ends.
func (c *clients) follow(ctx context.Context, name string, show func(news) (enough bool, err error)) error {
	// Asked once, for a clear answer: informers would try for ever.
	first, err := c.read(ctx, name)
	if err != nil {
		return err
	}
	if enough, err := show(news{seen: first}); enough || err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	w, err := c.informers(name)
	if err != nil {
		return err
	}
	for _, informer := range []cache.SharedIndexInformer{w.sets, w.pods, w.revisions} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.changed:
		case <-tick.C:
			w.recheck(ctx, c, name)
		}
		if !w.synced() {
			continue
		}
		s := w.look()
		if s == nil {
			return fmt.Errorf("%s is gone", c.title(name))
		}
		if enough, err := show(news{seen: s, trouble: w.problem()}); enough || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// watched are the caches of one set.
type watched struct {
	sets            client.Informer
	pods, revisions cache.SharedIndexInformer
	// changed holds something when there is something new.
	changed chan struct{}

	mu      sync.Mutex
	trouble error
}

func (c *clients) informers(name string) (*watched, error) {
	labelled := func(o *metav1.ListOptions) { o.LabelSelector = selector(name) }
	w := &watched{
		sets: client.NewInformer(c.sets, c.namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}),
		pods:      coreinformers.NewFilteredPodInformer(c.kube, c.namespace, 0, cache.Indexers{}, labelled),
		revisions: appsinformers.NewFilteredControllerRevisionInformer(c.kube, c.namespace, 0, cache.Indexers{}, labelled),
		changed:   make(chan struct{}, 1),
	}
	tell := func() {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{w.sets, w.pods, w.revisions} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() }})
		if err == nil {
			err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.fail(err) })
		}
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", c.title(name), err)
		}
	}
	return w, nil
}

// fail notes that a watch has ended. Informers begin another one by themselves.
func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = err
}

func (w *watched) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

// recheck finds out whether the trouble is over: a watch that works again does not say
// so while nothing changes.
func (w *watched) recheck(ctx context.Context, c *clients, name string) {
	if w.problem() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, followTick)
	defer cancel()
	if _, err := c.set(ctx, name); err == nil {
		w.fail(nil)
	}
}

func (w *watched) synced() bool {
	return w.sets.HasSynced() && w.pods.HasSynced() && w.revisions.HasSynced()
}

// look takes what the caches have, nil when there is no set.
func (w *watched) look() *seen {
	s := &seen{at: time.Now()}
	for _, o := range w.sets.GetStore().List() {
		s.set = o.(*v1.LeaderWorkerSet)
	}
	if s.set == nil {
		return nil
	}
	for _, o := range w.pods.GetStore().List() {
		s.pods = append(s.pods, o.(*corev1.Pod))
	}
	for _, o := range w.revisions.GetStore().List() {
		if r := o.(*appsv1.ControllerRevision); revision.Belongs(r, s.set) {
			s.revisions = append(s.revisions, r)
		}
	}
	return s
}

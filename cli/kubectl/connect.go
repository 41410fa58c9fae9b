package kubectl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// clients reach one namespace of a cluster.
type clients struct {
	namespace string
	kube      kubernetes.Interface
	sets      *client.Client
}

// dial connects as kubectl would.
func (o *options) dial() (*clients, error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, &o.overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to connect to: give --kubeconfig or set $KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c := &clients{}
	if c.namespace, _, err = loaded.Namespace(); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = Plugin + "/" + o.version
	// Commands make a handful of requests; the API server's priority and fairness
	// judges them.
	config.QPS = -1
	if c.sets, err = client.New(config); err != nil {
		return nil, fmt.Errorf("making the client of LeaderWorkerSets: %w", err)
	}
	fast := rest.CopyConfig(config)
	fast.ContentType = runtime.ContentTypeProtobuf
	fast.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if c.kube, err = kubernetes.NewForConfig(fast); err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	return c, nil
}

// seen is what the API server tells of one set.
type seen struct {
	set       *v1.LeaderWorkerSet
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision
	// at is when they were read.
	at time.Time
}

// set reads a set.
func (c *clients) set(ctx context.Context, name string) (*v1.LeaderWorkerSet, error) {
	set, err := c.sets.LeaderWorkerSets(c.namespace).Get(ctx, name, metav1.GetOptions{})
	return set, c.explain(ctx, name, err)
}

// history reads the revisions of a set. What cannot be read is no revision that one
// could go back to.
func (c *clients) history(ctx context.Context, set *v1.LeaderWorkerSet) (*revision.History, error) {
	objects, err := revision.Store{Client: c.kube.AppsV1()}.List(ctx, set)
	if err != nil {
		return nil, c.explain(ctx, set.Name, err)
	}
	history, _ := revision.NewHistory(objects)
	return history, nil
}

// selector is that of what belongs to a set.
func selector(name string) string { return labels.Set{v1.LabelName: name}.String() }

// read reads a set with its pods and revisions.
func (c *clients) read(ctx context.Context, name string) (*seen, error) {
	set, err := c.set(ctx, name)
	if err != nil {
		return nil, err
	}
	pods, err := c.kube.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector(name)})
	if err != nil {
		return nil, c.explain(ctx, name, err)
	}
	s := &seen{set: set, at: time.Now()}
	for i := range pods.Items {
		s.pods = append(s.pods, &pods.Items[i])
	}
	if s.revisions, err = (revision.Store{Client: c.kube.AppsV1()}).List(ctx, set); err != nil {
		return nil, c.explain(ctx, name, err)
	}
	return s, nil
}

// title names a set in messages.
func (c *clients) title(name string) string {
	return "leaderworkerset " + c.namespace + "/" + name
}

// explain makes of an error about a set one line that names it.
func (c *clients) explain(ctx context.Context, name string, err error) error {
	var unreachable *url.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return fmt.Errorf("%s: the cluster knows no LeaderWorkerSets: their CRD is not installed", c.title(name))
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s not found", c.title(name))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsInvalid(err):
		return fmt.Errorf("%s: %w", c.title(name), err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("%s: the cluster cannot be reached: %w", c.title(name), unreachable)
	}
	return fmt.Errorf("%s: %w", c.title(name), err)
}

package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/informers"
	"lws-controller/revision"
)

// nodeCache is a cache with nodes.
type nodeCache struct {
	Cache
	nodes map[string]*corev1.Node
	asked int
}

func (c *nodeCache) Node(name string) (*corev1.Node, bool) {
	c.asked++
	return c.nodes[name], c.nodes != nil
}

func (c *nodeCache) Passed(informers.Kind, string) bool { return true }

// Nodes are asked for, and their news leads to a sync, only while a pod on them is
// overdue, or workers are to follow their leader there: a cluster in which all is well
// is not bothered.
func TestNodesConcernOnlySetsThatAwaitThem(t *testing.T) {
	cache := &nodeCache{nodes: map[string]*corev1.Node{"n": {}}}
	c := New(Options{Cache: cache, Workers: 1})
	defer stopped(c)
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	deadline := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	m := newMemory(key)
	m.set = &v1.LeaderWorkerSet{}
	m.history, _ = revision.NewHistory(nil)
	going := func(node string) {
		m.groups = []*tracked{{state: group.NewState(0), view: group.View{Going: []group.Going{{Node: node, Deadline: deadline}}}}}
	}
	nodes := func(now time.Time) map[string]group.Node {
		in := m.known().Input(now)
		c.nodes(m, &in)
		return in.Nodes
	}
	going("n")
	if got := nodes(deadline); got != nil || cache.asked != 0 || len(c.AwaitNode("n")) > 0 {
		t.Errorf("in its grace: knows %v, asked %d times, waits %v", got, cache.asked, c.AwaitNode("n"))
	}
	late := deadline.Add(time.Minute)
	if got := nodes(late); len(got) != 1 || got["n"] != (group.Node{}) || cache.asked != 1 {
		t.Errorf("overdue: knows %v, asked %d times", got, cache.asked)
	}
	c.Node("other")
	if c.queue.Len() != 0 {
		t.Error("news about another node led to a sync")
	}
	c.Node("n")
	if c.queue.Len() != 1 {
		t.Error("news about the node led to no sync")
	}
	going("gone")
	if got := nodes(late); !got["gone"].Gone || len(c.AwaitNode("n")) > 0 {
		t.Errorf("knows %v; waits for the other node still: %v", got, c.AwaitNode("n"))
	}
	cache.nodes = nil
	if got := nodes(late); got != nil {
		t.Errorf("without rights on nodes: %v", got)
	}
	cache.nodes = map[string]*corev1.Node{"n": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"rack": "r1", "other": ""}}}}
	leader := &group.Pod{Node: "n", DomainKeys: []string{"rack", "zone"}}
	m.groups = []*tracked{{state: group.NewState(0), view: group.View{Leader: leader}}}
	if got := nodes(late); got != nil || len(c.AwaitNode("n")) > 0 {
		t.Errorf("a bound leader whose workers all exist: knows %v, waits %v", got, c.AwaitNode("n"))
	}
	m.groups[0].view.Missing = []int32{1}
	in := m.known().Input(late)
	c.nodes(m, &in)
	if got := in.NodeLabels["n"]; len(got) != 1 || got["rack"] != "r1" || len(c.AwaitNode("n")) != 1 {
		t.Errorf("a bound leader whose workers are missing: knows %v, waits %v", got, c.AwaitNode("n"))
	}
	c.forget(key)
	if len(c.awaited.bySet) > 0 {
		t.Errorf("a set that is gone still waits: %v", c.awaited.bySet)
	}
}

// stopped ends the goroutines of a controller's queue.
func stopped(c *Controller) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ctx)
}

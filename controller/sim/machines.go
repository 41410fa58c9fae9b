package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/invariant"
)

// node is a machine with room for some pods.
type node struct {
	name, rack string
	capacity   int
	// lost is since when nothing is heard of it, zero while all is well; tainted since
	// when it has the taint out-of-service.
	lost, tainted time.Time
}

// plenty is the capacity of a node that no run fills.
const plenty = 1000

const (
	// lossNoticed is how long after the last sign of life of a node its pods are
	// marked as not Ready, evictedAfter how long after that they are deleted.
	lossNoticed  = 40 * time.Second
	evictedAfter = 5 * time.Minute
	// quarantine is how long a node must be gone until the collector of pods acts,
	// collectorPeriod how often that looks at nodes that are out of service.
	quarantine      = 40 * time.Second
	collectorPeriod = 20 * time.Second
)

func (n *node) isLost() bool { return !n.lost.IsZero() }

// addNode adds a node to the cluster.
func (w *World) addNode(rack string, capacity int) *node {
	w.nodesMade++
	n := &node{name: fmt.Sprintf("node-%d", w.nodesMade), rack: rack, capacity: capacity}
	w.note("node %s comes, in %s, with room for %d pods", n.name, n.rack, n.capacity)
	w.nodes[n.name] = n
	_, _ = create(w.server, w.server.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{"rack": n.rack}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}, request{by: invariant.Kubelet})
	return n
}

// reportsReady says that the API server has the node as Ready.
func (w *World) reportsReady(n *node) bool {
	return group.ObserveNode(w.server.nodes.items[n.key()]).Ready
}

func (n *node) key() types.NamespacedName { return types.NamespacedName{Name: n.name} }

// nodeUpdate changes the object of a node.
func (w *World) nodeUpdate(n *node, by invariant.Actor, f func(*corev1.Node)) {
	_, _ = update(w.server, w.server.nodes, n.key(), request{by: by}, func(o *corev1.Node) error { f(o); return nil })
}

func nodeReady(is corev1.ConditionStatus) func(*corev1.Node) {
	return func(o *corev1.Node) {
		o.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
	}
}

// nodeControllerActs has the node controller mark a node of which nothing was heard
// for some time, if there is one.
func (w *World) nodeControllerActs() bool {
	for _, n := range w.nodeList() {
		if n.isLost() && w.clock.Since(n.lost) >= lossNoticed && w.reportsReady(n) {
			w.nodeUpdate(n, invariant.NodeController, nodeReady(corev1.ConditionUnknown))
			return true
		}
	}
	return false
}

// nodeList are the nodes in the order of their names.
func (w *World) nodeList() []*node {
	out := make([]*node, 0, len(w.nodes))
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		out = append(out, w.nodes[name])
	}
	return out
}

// schedule is what the scheduler does next to a pod without a node: it binds it
// where there is room, or says once that there is none.
func (w *World) schedule(p *corev1.Pod) func() {
	if !w.isGang(p) {
		return nil
	}
	if room := w.withRoom(p); len(room) > 0 {
		return func() {
			n := room[w.rng.IntN(len(room))]
			w.podUpdate(p, invariant.Scheduler, func(p *corev1.Pod) {
				p.Spec.NodeName = n.name
				w.condition(&p.Status, corev1.PodScheduled, true)
			})
		}
	}
	message := fmt.Sprintf("0/%d nodes are available: no room for another pod.", len(w.nodes))
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Message == message {
			return nil
		}
	}
	return func() {
		w.covered["unschedulable"]++
		w.podUpdate(p, invariant.Scheduler, func(p *corev1.Pod) {
			w.condition(&p.Status, corev1.PodScheduled, false)
			for i := range p.Status.Conditions {
				if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
					c.Reason, c.Message = corev1.PodReasonUnschedulable, message
				}
			}
		})
	}
}

// isGang says that Volcano has what it needs to place a pod: its PodGroup, and as many
// pods as that asks for.
func (w *World) isGang(p *corev1.Pod) bool {
	name := p.Annotations[v1.AnnotationVolcanoGroup]
	if p.Spec.SchedulerName != v1.VolcanoScheduler || name == "" {
		return true
	}
	podGroup := w.server.volcano.items[types.NamespacedName{Namespace: p.Namespace, Name: name}]
	if podGroup == nil {
		return false
	}
	members := int64(0)
	for _, mate := range w.server.pods.items {
		if mate.Namespace == p.Namespace && mate.Annotations[v1.AnnotationVolcanoGroup] == name && !finished(mate) {
			members++
		}
	}
	least, _, _ := unstructured.NestedInt64(podGroup.Object, "spec", "minMember")
	return members >= least
}

// withRoom are the nodes that the scheduler may choose for a pod: also those that are
// lost as long as nobody has noticed.
func (w *World) withRoom(pod *corev1.Pod) []*node {
	taken := map[string]int{}
	for _, p := range w.server.pods.items {
		if !finished(p) {
			taken[p.Spec.NodeName]++
		}
	}
	return slices.DeleteFunc(w.nodeList(), func(n *node) bool {
		return n.name == w.draining || taken[n.name] >= n.capacity || !n.tainted.IsZero() || n.isLost() && w.clock.Since(n.lost) >= lossNoticed || !w.allows(pod, n)
	})
}

// giveUp is what the node controller does next to a pod of a node that is lost, and
// the collector of pods where the node is out of service.
func (w *World) giveUp(n *node, p *corev1.Pod) func() {
	if at := n.next(p); at.IsZero() || w.clock.Now().Before(at) {
		return nil
	}
	if p.DeletionTimestamp != nil && !w.reportsReady(n) {
		return w.collectPod(p)
	}
	if ready(p) {
		return func() {
			w.podUpdate(p, invariant.NodeController, func(p *corev1.Pod) { w.condition(&p.Status, corev1.PodReady, false) })
		}
	}
	return func() {
		w.covered["evicted from a lost node"]++
		w.podUpdate(p, invariant.NodeController, func(p *corev1.Pod) { w.condition(&p.Status, corev1.DisruptionTarget, true) })
		_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.NodeController, uid: p.UID})
	}
}

// next is when the node controller does something to a pod of this node, which is
// lost; zero if there is nothing left to do.
func (n *node) next(p *corev1.Pod) time.Time {
	switch {
	case p.DeletionTimestamp != nil && !n.tainted.IsZero():
		return later(n.tainted.Add(collectorPeriod), n.lost.Add(lossNoticed))
	case ready(p):
		return n.lost.Add(lossNoticed)
	case p.DeletionTimestamp == nil && !finished(p):
		return n.lost.Add(lossNoticed + evictedAfter)
	default:
		return time.Time{}
	}
}

// collectPod is what the collector of pods does to one whose node is deleted: it
// marks it as Failed and takes it away by force. It does the same where the node is
// out of service.
func (w *World) collectPod(p *corev1.Pod) func() {
	return func() {
		w.covered["collected from a dead node"]++
		if !finished(p) {
			w.podUpdate(p, invariant.PodCollector, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
				w.condition(&p.Status, corev1.DisruptionTarget, true)
				w.condition(&p.Status, corev1.PodReady, false)
			})
		}
		_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.PodCollector, uid: p.UID, force: true})
	}
}

// machinesAct loses a node or a whole rack, or has one that is lost come back, with
// its containers as they were or restarted, or be replaced by another.
func (w *World) machinesAct() {
	nodes := w.nodeList()
	n := nodes[w.rng.IntN(len(nodes))]
	if !n.isLost() {
		rack := w.rng.IntN(3) == 0
		for _, other := range nodes {
			if other == n || rack && other.rack == n.rack && !other.isLost() {
				w.lose(other)
			}
		}
		return
	}
	switch w.rng.IntN(4) {
	case 0:
		w.comeBack(n)
	case 1:
		w.comeBack(n)
		w.reboot(n)
	case 2:
		w.taint(n)
	case 3:
		w.deleteNode(n)
		w.addNode(n.rack, n.capacity)
	}
}

func (w *World) lose(n *node) {
	w.note("node %s is lost", n.name)
	w.covered["node lost"]++
	n.lost = w.clock.Now()
}

func (w *World) comeBack(n *node) {
	w.note("node %s is back", n.name)
	w.covered["node back"]++
	n.lost, n.tainted = time.Time{}, time.Time{}
	w.nodeUpdate(n, invariant.Kubelet, nodeReady(corev1.ConditionTrue))
	w.nodeUpdate(n, invariant.User, func(o *corev1.Node) { o.Spec.Taints = nil })
}

// taint has a person say that the machine is off.
func (w *World) taint(n *node) {
	w.note("node %s is out of service", n.name)
	w.covered["node out of service"]++
	n.tainted = w.clock.Now()
	w.nodeUpdate(n, invariant.User, func(o *corev1.Node) {
		o.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
	})
}

func (w *World) deleteNode(n *node) {
	w.note("node %s is deleted", n.name)
	w.covered["node deleted"]++
	delete(w.nodes, n.name)
	w.nodesGone[n.name] = w.clock.Now()
	_ = remove(w.server, w.server.nodes, n.key(), request{by: invariant.User})
}

// reboot restarts all containers on a node.
func (w *World) reboot(n *node) {
	w.note("node %s has rebooted", n.name)
	w.covered["node rebooted"]++
	for _, p := range w.server.pods.list() {
		if p.Spec.NodeName != n.name || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1 + restartsOf(s.ContainerStatuses)}}
			w.condition(s, corev1.PodReady, false)
		})
	}
}

// mendNodes has each node that is lost come back or go for good, and makes room
// for everything.
func (w *World) mendNodes() {
	for _, n := range w.nodeList() {
		switch {
		case !n.isLost():
		case w.rng.IntN(2) == 0:
			w.comeBack(n)
		default:
			w.deleteNode(n)
		}
	}
	w.addNode("rack-1", plenty)
}

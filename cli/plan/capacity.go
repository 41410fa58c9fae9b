package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// capacity is what the nodes have left. It knows what a pod requests, node selectors
// and taints; what else a scheduler minds (affinity, spread, devices) it does not, and
// so says when a pod cannot fit, but does not promise that it will.
type capacity struct {
	nodes []*node
}

type node struct {
	*corev1.Node
	free corev1.ResourceList
}

// newCapacity takes what other pods request off what the nodes have. Nodes that take
// no pods are left out.
func newCapacity(nodes []corev1.Node, others []corev1.Pod) *capacity {
	c := &capacity{}
	for i := range nodes {
		if n := &nodes[i]; !n.Spec.Unschedulable && isReady(n) {
			c.nodes = append(c.nodes, &node{n, n.Status.Allocatable.DeepCopy()})
		}
	}
	slices.SortFunc(c.nodes, func(a, b *node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range others {
		c.use(others[i].Spec.NodeName, requests(&others[i].Spec))
	}
	return c
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (c *capacity) node(name string) *node {
	i, found := slices.BinarySearchFunc(c.nodes, name, func(n *node, name string) int { return cmp.Compare(n.Name, name) })
	if !found {
		return nil
	}
	return c.nodes[i]
}

func (c *capacity) use(name string, r corev1.ResourceList) {
	if n := c.node(name); n != nil {
		subtract(n.free, r)
	}
}

func (c *capacity) release(name string, r corev1.ResourceList) {
	if n := c.node(name); n != nil {
		add(n.free, r)
	}
}

// place returns the first node that the pod fits, and takes its place there; else why
// it fits none.
func (c *capacity) place(spec *corev1.PodSpec, r corev1.ResourceList) (name, why string) {
	return c.placeIn("", "", spec, r)
}

// domains are the values of a node label that there are; of no label, one for all nodes.
func (c *capacity) domains(key string) []string {
	if key == "" {
		return []string{""}
	}
	values := map[string]bool{}
	for _, n := range c.nodes {
		if value, labelled := n.Labels[key]; labelled {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// placeIn is place among the nodes with one value of a label, or among all.
func (c *capacity) placeIn(key, value string, spec *corev1.PodSpec, r corev1.ResourceList) (name, why string) {
	lacking := map[corev1.ResourceName]int{}
	allowed := 0
	for _, n := range c.nodes {
		if have, labelled := n.Labels[key]; key != "" && (!labelled || have != value) || !n.admits(spec) {
			continue
		}
		allowed++
		lacks := n.lacks(r)
		if lacks == "" {
			subtract(n.free, r)
			return n.Name, ""
		}
		lacking[lacks]++
	}
	if allowed == 0 {
		return "", fmt.Sprintf("none of %d nodes is one that its node selector and tolerations allow", len(c.nodes))
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(lacking)), func(a, b corev1.ResourceName) int { return cmp.Compare(lacking[a], lacking[b]) })
	q := r[most]
	return "", fmt.Sprintf("none of %d nodes has %s %s left", allowed, most, q.String())
}

// admits says that selector and taints let the pod onto the node.
func (n *node) admits(spec *corev1.PodSpec) bool {
	for key, value := range spec.NodeSelector {
		if have, labelled := n.Labels[key]; !labelled || have != value {
			return false
		}
	}
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(spec.Tolerations, func(have corev1.Toleration) bool { return tolerates(&have, t) }) {
			return false
		}
	}
	return true
}

func tolerates(have *corev1.Toleration, t *corev1.Taint) bool {
	return (have.Effect == "" || have.Effect == t.Effect) && (have.Key == "" || have.Key == t.Key) &&
		(have.Operator == corev1.TolerationOpExists || have.Value == t.Value)
}

// lacks is a resource of which the node has too little left, empty if it has enough.
func (n *node) lacks(r corev1.ResourceList) corev1.ResourceName {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		want, free := r[name], n.free[name]
		if !want.IsZero() && free.Cmp(want) < 0 {
			return name
		}
	}
	return ""
}

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// awaitedNodes says which sets wait for news about which nodes: for pods that are
// overdue there, or for where workers are to go. Mostly it is empty, and news about
// nodes concern nobody.
type awaitedNodes struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName][]string
}

// set says which nodes a set waits for, in place of what was said before.
func (a *awaitedNodes) set(key types.NamespacedName, nodes []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(nodes) == 0 {
		delete(a.bySet, key)
		return
	}
	if a.bySet == nil {
		a.bySet = map[types.NamespacedName][]string{}
	}
	a.bySet[key] = nodes
}

// by are the sets that wait for a node.
func (a *awaitedNodes) by(node string) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []types.NamespacedName
	for key, nodes := range a.bySet {
		if slices.Contains(nodes, node) {
			out = append(out, key)
		}
	}
	return out
}

// nodes has the input know the nodes that it depends on, as the cache shows them. From
// then on news about them have the set synced: said before the cache is read, so that
// none is missed.
func (c *Controller) nodes(m *memory, in *rollout.Input) {
	names := nodesOf(in)
	c.awaited.set(m.key, slices.Sorted(maps.Keys(names)))
	for name, keys := range names {
		n, known := c.Cache.Node(name)
		if !known {
			continue
		}
		if in.Nodes == nil {
			in.Nodes = map[string]group.Node{}
		}
		in.Nodes[name] = group.ObserveNode(n)
		if n == nil {
			continue // gone
		}
		for _, key := range keys {
			value, has := n.Labels[key]
			if !has {
				continue
			}
			if in.NodeLabels == nil {
				in.NodeLabels = map[string]map[string]string{}
			}
			if in.NodeLabels[name] == nil {
				in.NodeLabels[name] = map[string]string{}
			}
			in.NodeLabels[name][key] = value
		}
	}
}

// nodesOf are the nodes of the pods that are overdue, and of the leaders that workers
// have to follow, each with the labels to follow them by.
func nodesOf(in *rollout.Input) map[string][]string {
	names := map[string][]string{}
	for i := range in.Groups {
		v := &in.Groups[i]
		for j := range v.Going {
			g := &v.Going[j]
			if _, known := names[g.Node]; !known && g.Node != "" && rollout.Overdue(g, in.Now) {
				names[g.Node] = nil
			}
		}
		placing := len(v.Missing) > 0 || in.ReplaceAfter > 0 && !v.UnplacedSince.IsZero()
		if l := v.Leader; l != nil && l.Node != "" && len(l.DomainKeys) > 0 && placing {
			names[l.Node] = append(names[l.Node], l.DomainKeys...)
		}
	}
	return names
}

// forceDelete deletes pods that nothing will end any more. What the cache shows of a
// node may be the past, in which it was gone or silent: each node is read live.
func (x *execution) forceDelete(ctx context.Context, pods []rollout.Forced) error {
	byNode := map[string][]rollout.Forced{}
	for _, f := range pods {
		byNode[f.Pod.Node] = append(byNode[f.Pod.Node], f)
	}
	var first error
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		node, err := x.lookAtNode(ctx, name)
		if err == nil {
			err = x.forceDeleteOn(ctx, node, byNode[name])
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// lookAtNode reads a node live. Of a pod that was never bound there is none to read.
func (x *execution) lookAtNode(ctx context.Context, name string) (group.Node, error) {
	if name == "" {
		return group.Node{}, nil
	}
	node, err := x.API.GetNode(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return group.ObserveNode(nil), nil
	case err != nil:
		return group.Node{}, fmt.Errorf("looking at node %s: %w", name, err)
	}
	return group.ObserveNode(node), nil
}

func (x *execution) forceDeleteOn(ctx context.Context, node group.Node, pods []rollout.Forced) error {
	gone, why := map[int32][]string{}, ""
	err := x.each(&pace{}, len(pods), func(i int) error {
		f := &pods[i]
		reason := rollout.WhyForce(&f.Pod, node, f.After, x.Clock.Now())
		if reason == "" {
			x.forceLater() // until the cache shows it too
			return nil
		}
		if err := x.forceDeletePod(ctx, f, reason); err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		gone[f.Index], why = append(gone[f.Index], f.Pod.Name), reason
		return nil
	})
	for _, index := range slices.Sorted(maps.Keys(gone)) {
		slices.Sort(gone[index])
		x.event(x.m, x.m.leader(index), corev1.EventTypeWarning, "ForceDeleted", "ForceDelete",
			"Deleted by force, of group %d: %s, since %s", index, strings.Join(gone[index], ", "), why)
	}
	return err
}

// forceDeletePod deletes one pod with no grace. It has no finalizer, and none can be
// added any more: once that is accepted it is gone.
func (x *execution) forceDeletePod(ctx context.Context, f *rollout.Forced, why string) error {
	p := f.Pod.PodRef
	err := x.API.ForceDeletePod(ctx, x.key(p.Name), p.UID)
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Deleted pod by force", "pod", klog.KRef(x.m.key.Namespace, p.Name), "group", f.Index, "reason", why)
	case apierrors.IsConflict(err):
		x.forceLater() // until news shows that another pod has its name
		return nil
	case !apierrors.IsNotFound(err):
		x.rejected(f.Index, p.Worker, "delete by force", err)
		return fmt.Errorf("pod %s, by force: %w", p.Name, err)
	}
	x.fold(f.Index, group.Event{Kind: group.PodGone, Worker: p.Worker, UID: p.UID, Cause: "deleted by force"})
	return nil
}

func (x *execution) forceLater() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wait.sooner(confirmDelay)
}

// warnStuck reports the groups with pods that should have ended, once for each group
// and cause, until none of its pods is stuck any more.
func (c *Controller) warnStuck(m *memory) {
	now := map[string]bool{}
	for _, s := range m.stuck {
		group := fmt.Sprintf("%s%d", aboutStuck, s.Index)
		now[group] = true
		if about := group + "/" + s.Cause; m.warned[about] == "" {
			m.warned[about] = s.Message
			c.event(m, m.leader(s.Index), corev1.EventTypeWarning, v1.ReasonPodsStuck, "DeletePod", "Group %d waits for %s", s.Index, s.Message)
		}
	}
	maps.DeleteFunc(m.warned, func(about, _ string) bool {
		group, _, _ := strings.Cut(about, "/")
		return strings.HasPrefix(group, aboutStuck) && !now[group]
	})
}

const aboutStuck = "stuck group "

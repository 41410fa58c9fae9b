package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
)

// firstLook makes sure, once per set and process, that the caches are not behind
// what an earlier process has done. After a restart or a change of leader they
// may show the past: groups that are there would be made again in part, with
// pods of another incarnation or revision beside them, and teardowns on record
// be overlooked. So before the first thing that is done for a set, the set and
// its pods are read live. A set at rest costs nothing.
//
// It reports whether the plan stands. If not, another sync comes when the cache
// of pods has caught up.
func (c *Controller) firstLook(ctx context.Context, m *memory, plan *rollout.Plan, wait *Wait) (bool, error) {
	if m.looked || !acts(plan) {
		return true, nil
	}
	live, err := c.API.GetSet(ctx, m.key)
	switch {
	case apierrors.IsNotFound(err), err == nil && (live.UID != m.set.UID || live.DeletionTimestamp != nil):
		// The news about that will bring us back.
		wait.sooner(confirmDelay)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading the set: %w", err)
	}
	pods, err := c.API.ListPods(ctx, m.key)
	if err != nil {
		return false, fmt.Errorf("listing the pods: %w", err)
	}
	m.looked = true
	fresh := !m.observeSet(live)
	listed := make(map[types.UID]bool, len(pods))
	for i := range pods {
		p := &pods[i]
		listed[p.UID] = true
		if _, _, _, ok := informers.Place(p); ok && !c.Cache.Passed(informers.Pods, p.ResourceVersion) {
			c.gate.Wrote(m.key, informers.Pods, p.ResourceVersion)
			fresh = false
		}
	}
	for _, t := range m.groups {
		for _, p := range t.state.Pods() {
			if !listed[p.UID] {
				c.fold(m, t.state.Index, group.Event{Kind: group.PodGone, Worker: p.Worker, UID: p.UID, Version: p.Version}, c.Clock.Now())
				fresh = false
			}
		}
	}
	if !fresh {
		wait.sooner(staleDelay)
	}
	return fresh, nil
}

// acts says that the plan does something to pods or Services.
func acts(plan *rollout.Plan) bool {
	return plan.Ahead || len(plan.Delete)+len(plan.Create)+len(plan.CreateServices)+len(plan.DeleteServices) > 0
}

package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
)

// look is a live look at the pods of a set. What the cache of pods shows from
// before it is only believed of pods that were there.
type look struct {
	version string // resource version of the list
	pods    map[types.UID]bool
}

// outdated says that an event is older than the look and speaks of a pod that was
// gone by then.
func (l *look) outdated(e *group.Event) bool {
	return l != nil && e.Kind == group.PodObserved && !l.pods[e.Pod.UID] && group.Reached(l.version, e.Pod.Version)
}

// firstLook makes sure, once per set and process, that the caches are not behind
// what an earlier process has done. After a restart or a change of leader they
// may show the past: groups that are there would be made again in part, with
// pods of another incarnation or revision beside them, and teardowns on record
// be overlooked. So before the first thing that is done for a set, the set and
// its pods are read live. A set at rest costs nothing. Where a pod turns up later
// that should have been known, there is another first look.
//
// All pods are taken in as of one moment: a pod as it is now beside mates as they
// were in the past looks like a failure. It reports whether the plan stands; if
// not, another sync comes.
func (c *Controller) firstLook(ctx context.Context, m *memory, due bool, now time.Time, wait *Wait) (bool, error) {
	if m.look != nil || !due {
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
	list, err := c.API.ListPods(ctx, m.key)
	if err != nil {
		return false, fmt.Errorf("listing the pods: %w", err)
	}
	newer := m.observeSet(live)
	m.look = &look{version: list.ResourceVersion, pods: make(map[types.UID]bool, len(list.Items))}
	for i := range list.Items {
		p := &list.Items[i]
		m.look.pods[p.UID] = true
		if _, index, worker, ok := informers.Place(p); ok {
			c.fold(m, index, group.Accepted(group.ObservePod(p, worker), "read live"), now)
		}
	}
	for _, t := range m.groups {
		for _, p := range t.state.Pods() {
			if !m.look.pods[p.UID] {
				c.fold(m, t.state.Index, group.Event{Kind: group.PodGone, Worker: p.Worker, UID: p.UID, Version: p.Version}, now)
			}
		}
		newer = newer || t.stale
	}
	m.finds()
	wait.Again = newer
	return !newer, nil
}

// acts says that the plan does something to pods or Services.
func acts(plan *rollout.Plan) bool {
	return plan.Ahead || len(plan.Delete)+len(plan.Force)+len(plan.Create)+len(plan.CreateServices)+len(plan.DeleteServices)+
		len(plan.CreatePodGroups)+len(plan.UpdatePodGroups)+len(plan.DeletePodGroups)+len(plan.CreateWorkloads)+len(plan.DeleteWorkloads) > 0
}

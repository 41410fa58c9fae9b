package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/revision"
	"lws-controller/topology"
)

// podGroups are those with the set's labels, as the planner sees them.
func (c *Controller) podGroups(m *memory) map[string]rollout.PodGroup {
	out := map[string]rollout.PodGroup{}
	for _, g := range c.Cache.PodGroups(m.key) {
		if seen, ok := PodGroupSeen(m.set, g); ok {
			out[g.Name] = seen
		}
	}
	c.volcanoGroups(m, out)
	return out
}

// PodGroupSeen is a PodGroup that exists as the planner of the set sees it. One whose
// labels do not say which group it is of is none of the set's.
func PodGroupSeen(set *v1.LeaderWorkerSet, g *schedulingv1beta1.PodGroup) (seen rollout.PodGroup, ok bool) {
	index, err := strconv.ParseInt(g.Labels[v1.LabelGroupIndex], 10, 32)
	if err != nil || index < 0 {
		return seen, false
	}
	incarnation, ok := incarnationOf(g)
	if !ok {
		return seen, false
	}
	by := seenBy(set, g)
	seen = rollout.PodGroup{Index: int32(index), Incarnation: incarnation, Unusable: by.Unusable, Leaving: by.Leaving}
	if ref := g.Spec.WorkloadRef; ref != nil {
		seen.Workload = ref.WorkloadName
	}
	return seen, true
}

// workloads are those with the set's label, as the planner sees them.
func (c *Controller) workloads(m *memory) map[string]rollout.Service {
	out := map[string]rollout.Service{}
	for _, w := range c.Cache.Workloads(m.key) {
		out[w.Name] = WorkloadSeen(m.set, m.history, w)
	}
	return out
}

// WorkloadSeen is a Workload that exists as the planner of the set sees it. One of another
// name than that of the present scheduling may lack anything.
func WorkloadSeen(set *v1.LeaderWorkerSet, history *revision.History, w *schedulingv1beta1.Workload) rollout.Service {
	seen := seenBy(set, w)
	if seen.Unusable != "" || history == nil {
		return seen
	}
	for _, r := range history.Revisions() {
		if GroupOf(set, r, 0, 0).WorkloadName() != w.Name {
			continue
		}
		if field := topology.Dropped(set.Spec.Scheduling, w); field != "" {
			seen.Ours = true
			seen.Unusable = fmt.Sprintf("was stored without %s of spec.scheduling: the cluster lacks the feature", field)
		}
		break
	}
	return seen
}

// adoptGangs makes the set the controller of PodGroups and Workloads that nobody controls
// and that were made for a set of its name. What they ask for does not matter: what is not
// wanted goes.
func (c *Controller) adoptGangs(ctx context.Context, m *memory, live *liveSet) error {
	adopt := func(kind informers.Kind, o metav1.Object, patch func(key types.NamespacedName, patch []byte) (metav1.Object, error)) error {
		if metav1.GetControllerOfNoCopy(o) != nil || o.GetDeletionTimestamp() != nil {
			return nil
		}
		if err := live.check(ctx); err != nil {
			return err
		}
		meta := metav1.ObjectMeta{UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
		patched, err := patch(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, m.adoption(&meta))
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			return nil // the news about it will tell
		case err != nil:
			return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
		}
		c.gate.Wrote(m.key, kind, patched.GetResourceVersion())
		return nil
	}
	for _, g := range c.Cache.PodGroups(m.key) {
		seen, ok := PodGroupSeen(m.set, g)
		if !ok || g.Name != topology.PodGroupName(m.key.Name, seen.Index, seen.Incarnation) || !strings.HasPrefix(seen.Workload, m.key.Name+"-") {
			continue
		}
		err := adopt(informers.PodGroups, g, func(key types.NamespacedName, patch []byte) (metav1.Object, error) {
			return c.API.PatchPodGroup(ctx, key, patch)
		})
		if err != nil {
			return err
		}
	}
	if c.Volcano {
		for _, o := range c.Cache.VolcanoGroups(m.key) {
			if _, key, ok := volcanoSeen(m.set, o); !ok || o.GetLabels()[v1.LabelRevision] != key {
				continue
			}
			err := adopt(informers.VolcanoGroups, o, func(key types.NamespacedName, patch []byte) (metav1.Object, error) {
				return c.API.PatchVolcanoGroup(ctx, key, patch)
			})
			if err != nil {
				return err
			}
		}
	}
	for _, w := range c.Cache.Workloads(m.key) {
		if ref := w.Spec.ControllerRef; ref == nil || ref.Kind != v1.Kind || ref.Name != m.key.Name {
			continue
		}
		err := adopt(informers.Workloads, w, func(key types.NamespacedName, patch []byte) (metav1.Object, error) {
			return c.API.PatchWorkload(ctx, key, patch)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// createWorkload creates a Workload. Where that fails, the PodGroups that are to refer
// to it wait.
func (x *execution) createWorkload(ctx context.Context, want rollout.GangWanted) error {
	r := x.m.history.ByKey(want.Revision)
	if r == nil {
		return nil // createPod says so
	}
	stored, err := x.API.CreateWorkload(ctx, x.m.groupOf(r, 0, 0).Workload())
	if apierrors.IsAlreadyExists(err) {
		stored, err = x.API.GetWorkload(ctx, x.key(want.Name))
		if err == nil && !metav1.IsControlledBy(stored, x.m.set) {
			err = notOurs("workload", want.Name)
		}
	}
	if err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.failedWorkloads[want.Name] = err
		if refused(err) || isTaken(err) {
			return nil // its groups say so
		}
		return fmt.Errorf("workload %s: %w", want.Name, err)
	}
	x.gate.Wrote(x.m.key, informers.Workloads, stored.ResourceVersion)
	if seen := WorkloadSeen(x.m.set, x.m.history, stored); seen.Unusable != "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.failedWorkloads[want.Name] = taken(fmt.Sprintf("workload %s %s", want.Name, seen.Unusable))
	}
	return nil
}

// taken is an object that is not as it has to be, in words.
type taken string

func (t taken) Error() string { return string(t) }

func isTaken(err error) bool { _, is := err.(taken); return is }

func notOurs(kind, name string) error {
	return taken(fmt.Sprintf("%s %s %s", kind, name, rollout.NotOurs))
}

// createPodGroups creates PodGroups. The pods of a group whose PodGroup is not there
// wait.
func (x *execution) createPodGroups(ctx context.Context, wanted []rollout.GangWanted) error {
	for _, w := range wanted {
		x.noGang[w.Name] = true
	}
	return x.each(&pace{}, len(wanted), func(i int) error { return x.createPodGroup(ctx, wanted[i]) })
}

func (x *execution) createPodGroup(ctx context.Context, want rollout.GangWanted) error {
	r := x.m.history.ByKey(want.Revision)
	if r == nil {
		return nil // createPod says so
	}
	if want.Referred && x.gangHeld(want.Name) {
		return nil
	}
	g, create := x.m.groupOf(r, want.Index, want.Incarnation), x.makePodGroup
	name, volcano := isVolcano(want.Name)
	if volcano {
		create = x.makeVolcanoGroup
	}
	switch err := create(ctx, g, want); {
	case err == nil:
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.noGang, want.Name)
		delete(x.m.heldGangs, want.Name)
		klog.FromContext(ctx).V(2).Info("Created pod group", "podGroup", klog.KRef(x.m.key.Namespace, name), "group", want.Index)
		return nil
	case errors.Is(err, errWaiting):
		return nil
	case errors.Is(err, errRefused):
		return err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return x.holdGang(want, "NamespaceTerminating", fmt.Sprintf("namespace %s is being deleted", x.m.key.Namespace))
	case isTaken(err):
		x.mu.Lock()
		x.warn(x.m, err.Error(), reasonNameTaken, "CreatePodGroup", "Pods wait: %v", err)
		x.mu.Unlock()
		_ = x.holdGang(want, reasonNameTaken, err.Error())
		return nil
	case refused(err):
		x.event(x.m, nil, corev1.EventTypeWarning, "FailedCreate", "CreatePodGroup",
			"Creating podgroup %s of group %d: %s", name, want.Index, err.Error())
		if x.holdGang(want, "FailedCreate", err.Error()) == nil {
			return nil
		}
		return errHeld
	default:
		return fmt.Errorf("podgroup %s: %w", name, err)
	}
}

// errWaiting says that the pods of a group wait, which has been seen to.
var errWaiting = errors.New("waits for its PodGroup")

// ofBefore is what comes of a PodGroup of the set's under a wanted name that is not the
// one that is wanted: mostly the cache is behind, and will know. One without the labels
// that it is known by is for a person.
func (x *execution) ofBefore(want rollout.GangWanted, stored *schedulingv1beta1.PodGroup) error {
	if seen, ok := PodGroupSeen(x.m.set, stored); !ok || stored.Labels[v1.LabelName] != x.m.key.Name || seen.Index != want.Index {
		message := fmt.Sprintf("podgroup %s is of an earlier time, and has lost the labels that tell so", want.Name)
		x.mu.Lock()
		x.warn(x.m, message, reasonNameTaken, "CreatePodGroup", "Pods wait: %s", message)
		x.mu.Unlock()
		_ = x.holdGang(want, reasonNameTaken, message)
		return errWaiting
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed[want.Index] = true
	x.wait.sooner(confirmDelay)
	return errWaiting
}

// holdGang keeps a PodGroup from being created for a while, and with it pods: those of
// its group, unless some are there. Whether these are whole or not says nothing then.
func (x *execution) holdGang(want rollout.GangWanted, reason, message string) error {
	if !want.Referred {
		return x.hold(want.Index, reason, message)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.Clock.Now()
	h := x.m.heldGangs[want.Name].next(reason, message, now)
	x.m.heldGangs[want.Name] = h
	x.wait.sooner(h.until.Sub(now))
	return nil
}

// gangHeld says that it is not time yet for another try to create a PodGroup.
func (x *execution) gangHeld(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.Clock.Now()
	h, held := x.m.heldGangs[name]
	if !held || !now.Before(h.until) {
		return false
	}
	x.wait.sooner(h.until.Sub(now))
	return true
}

// makePodGroup creates a native PodGroup. errRefused: plan again.
func (x *execution) makePodGroup(ctx context.Context, g *topology.Group, want rollout.GangWanted) error {
	x.mu.Lock()
	err := x.failedWorkloads[g.WorkloadName()]
	x.mu.Unlock()
	if err != nil {
		return err
	}
	stored, err := x.API.CreatePodGroup(ctx, g.PodGroup())
	if apierrors.IsAlreadyExists(err) {
		stored, err = x.API.GetPodGroup(ctx, x.key(want.Name))
		if apierrors.IsNotFound(err) {
			return errRefused // gone meanwhile
		}
		if err == nil && !metav1.IsControlledBy(stored, x.m.set) {
			err = notOurs("podgroup", want.Name)
		}
	}
	if err != nil {
		return err
	}
	x.gate.Wrote(x.m.key, informers.PodGroups, stored.ResourceVersion)
	if ref := stored.Spec.WorkloadRef; stored.DeletionTimestamp != nil || ref == nil || ref.WorkloadName != g.WorkloadName() {
		return x.ofBefore(want, stored)
	}
	return nil
}

// isUnused looks whether there is a leader all the same that refers to a PodGroup which
// none is known to refer to: the answer to the request that made it may have been lost.
func (x *execution) isUnused(ctx context.Context, gone rollout.GangGone) (bool, error) {
	leader, err := x.API.GetPod(ctx, x.key(topology.LeaderName(x.m.key.Name, gone.Index)))
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking for the leader of podgroup %s: %w", gone.Name, err)
	case group.ObservePod(leader, 0).Gang != gone.Name || !metav1.IsControlledBy(leader, x.m.set) || leader.Labels[v1.LabelName] != x.m.key.Name:
		return true, nil
	}
	x.behind(gone.Index)
	return false, nil
}

// deletePodGroup reads it live first, as its deletion lasts: the cache may not know yet
// that it has begun.
func (x *execution) deletePodGroup(ctx context.Context, gone rollout.GangGone) error {
	if ok, err := x.isUnused(ctx, gone); err != nil || !ok {
		return err
	}
	name := gone.Name
	if volcano, is := isVolcano(name); is {
		return x.deleteVolcanoGroup(ctx, volcano)
	}
	stored, err := x.API.GetPodGroup(ctx, x.key(name))
	if err == nil && metav1.IsControlledBy(stored, x.m.set) && stored.DeletionTimestamp == nil {
		if err = x.API.DeletePodGroup(ctx, x.key(name), stored.UID); err == nil {
			klog.FromContext(ctx).V(2).Info("Deleted pod group", "podGroup", klog.KObj(stored))
		}
	}
	return deletion("podgroup", name, err)
}

func (x *execution) deleteWorkload(ctx context.Context, name string) error {
	stored, err := x.API.GetWorkload(ctx, x.key(name))
	if err == nil && metav1.IsControlledBy(stored, x.m.set) {
		if err = x.API.DeleteWorkload(ctx, x.key(name), stored.UID); err == nil {
			klog.FromContext(ctx).V(2).Info("Deleted workload", "workload", klog.KObj(stored))
		}
	}
	return deletion("workload", name, err)
}

// deletion is what comes of one: what somebody else has deleted is gone, and
// what has changed meanwhile is planned for again.
func deletion(kind, name string, err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return errRefused
	default:
		return fmt.Errorf("%s %s: %w", kind, name, err)
	}
}

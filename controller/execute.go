package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// execution carries out one plan. Requests of one kind run in parallel; the first
// error of a kind stops that kind only. Answers are folded as they come.
type execution struct {
	*Controller
	m     *memory
	start time.Time
	wait  *Wait

	// mu is the memory's: the sync gives it up while requests are under way, and
	// each of them takes it to fold its answer. It guards wait, failed and made too.
	mu *sync.Mutex
	// failed are groups that get nothing more from this plan, made the numbers of
	// pods that were accepted.
	failed map[int32]bool
	made   map[int32]int
	// noGang are PodGroups that could not be created yet, failedWorkloads are Workloads
	// that cannot be.
	noGang          map[string]bool
	failedWorkloads map[string]error
}

// errRefused stops a kind without being an error of the sync: the group is held
// and tried again when its hold ends.
var errRefused = errors.New("refused by the API server")

// errHeld is errRefused where other groups have to expect the same.
var errHeld = fmt.Errorf("%w, as others would be", errRefused)

func (c *Controller) execute(ctx context.Context, m *memory, plan *rollout.Plan, wait *Wait) []error {
	x := &execution{Controller: c, m: m, start: c.Clock.Now(), wait: wait, mu: &m.mu,
		failed: map[int32]bool{}, made: map[int32]int{}, noGang: map[string]bool{}, failedWorkloads: map[string]error{}}
	m.mu.Unlock()
	defer m.mu.Lock()
	var errs []error
	note := func(what string, err error) {
		switch {
		case errors.Is(err, errHeld):
			// The next group would be refused too, most likely: one try at a time.
			x.mu.Lock()
			wait.sooner(firstHold)
			x.mu.Unlock()
		case errors.Is(err, errRefused):
			x.mu.Lock()
			wait.Again = true
			x.mu.Unlock()
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	note("deleting pods", x.deletePods(ctx, plan.Delete))
	note("deleting pods by force", x.forceDelete(ctx, plan.Force))
	note("deleting services", x.each(&pace{}, len(plan.DeleteServices), func(i int) error { return x.deleteService(ctx, plan.DeleteServices[i]) }))
	note("creating services", x.each(&pace{}, len(plan.CreateServices), func(i int) error { return x.createService(ctx, plan.CreateServices[i]) }))
	note("deleting pod groups", x.each(&pace{}, len(plan.DeletePodGroups), func(i int) error { return x.deletePodGroup(ctx, plan.DeletePodGroups[i]) }))
	note("deleting workloads", x.each(&pace{}, len(plan.DeleteWorkloads), func(i int) error { return x.deleteWorkload(ctx, plan.DeleteWorkloads[i]) }))
	note("creating workloads", x.each(&pace{}, len(plan.CreateWorkloads), func(i int) error { return x.createWorkload(ctx, plan.CreateWorkloads[i]) }))
	note("creating pod groups", x.createPodGroups(ctx, plan.CreatePodGroups))
	note("updating pod groups", x.each(&pace{}, len(plan.UpdatePodGroups), func(i int) error { return x.updatePodGroup(ctx, plan.UpdatePodGroups[i]) }))
	note("creating pods", x.createPods(ctx, plan.Create))
	note("marking leaders", x.each(&pace{}, len(plan.Mark), func(i int) error { return x.markLeader(ctx, plan.Mark[i]) }))
	note("noting starts", x.each(&pace{}, len(plan.Start), func(i int) error { return x.noteStart(ctx, plan.Start[i]) }))
	return errs
}

func (x *execution) fold(index int32, e group.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Controller.fold(x.m, index, e, x.Clock.Now())
}

// rejected notes a request that failed in the journal of its group.
func (x *execution) rejected(index, worker int32, what string, err error) {
	x.fold(index, group.Event{Kind: group.WriteRejected, Worker: worker, Cause: what + ": " + err.Error()})
}

func (x *execution) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: x.m.key.Namespace, Name: name}
}

// batchPods is how many pods are created together, in whole groups: where there
// is room for some of them only, as many groups as possible are to be whole.
const batchPods = 64

// createPods creates the pods of some groups at a time.
func (x *execution) createPods(ctx context.Context, creations []rollout.Creation) error {
	var p pace
	for len(creations) > 0 && !x.late() {
		n, pods := 0, 0
		for n < len(creations) && pods < batchPods {
			pods += len(creations[n].Workers)
			n++
		}
		if err := x.createBatch(ctx, &p, creations[:n]); err != nil {
			return err
		}
		creations = creations[n:]
	}
	return nil
}

// one is one pod to be created.
type one struct {
	*rollout.Creation
	worker int32
}

// createBatch creates what comes first in each group, then the rest of those
// whose first was accepted.
func (x *execution) createBatch(ctx context.Context, p *pace, creations []rollout.Creation) error {
	var verify []*rollout.Creation
	var leaders, workers []one
	for i := range creations {
		c := &creations[i]
		if c.Verify {
			verify = append(verify, c)
		}
		for _, w := range c.Workers {
			if w == 0 {
				leaders = append(leaders, one{c, w})
			} else {
				workers = append(workers, one{c, w})
			}
		}
	}
	if err := x.each(&pace{}, len(verify), func(i int) error { return x.verifyNames(ctx, verify[i]) }); err != nil {
		return err
	}
	first := x.each(p, len(leaders), func(i int) error { return x.create(ctx, leaders[i]) })
	if first != nil && !errors.Is(first, errRefused) {
		return first
	}
	// Where creating leaders ended early, the workers of those that were accepted
	// need not wait for the next sync, but those of the others must.
	ready := workers[:0]
	for _, o := range workers {
		if o.Workers[0] != 0 || x.made[o.Index] > 0 {
			ready = append(ready, o)
		}
	}
	if err := x.each(p, len(ready), func(i int) error { return x.create(ctx, ready[i]) }); err != nil {
		return err
	}
	return first
}

func (x *execution) create(ctx context.Context, o one) error {
	if x.skip(o.Creation) {
		return nil
	}
	err := x.createPod(ctx, o.Creation, o.worker)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.failed[o.Index] = true
		return err
	case x.failed[o.Index]:
		return nil // it waits for a name, which says nothing of the others
	}
	if x.made[o.Index]++; x.made[o.Index] == len(o.Workers) {
		delete(x.m.held, o.Index)
	}
	return nil
}

// skip says that the group gets nothing from this plan any more.
func (x *execution) skip(c *rollout.Creation) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, held := x.m.heldServices[c.Service]; held {
		x.failed[c.Index] = true
		// Its turn has come: what it waited for before is over, or said again later.
		delete(x.m.held, c.Index)
	}
	if x.noGang[c.Gang] {
		x.failed[c.Index] = true
	}
	return x.failed[c.Index]
}

func (x *execution) createPod(ctx context.Context, c *rollout.Creation, worker int32) error {
	r := x.m.history.ByKey(c.Revision)
	if r == nil {
		return fmt.Errorf("revision %s is not in the history", c.Revision)
	}
	g := x.m.groupOf(r, c.Index, c.Incarnation)
	g.RecycledAt, g.Domain, g.Gang, g.Avoids = c.RecycledAt, c.Domain, c.Gang, c.Avoids
	if err := x.ensureClaims(ctx, g, worker); errors.Is(err, errWaits) {
		return nil
	} else if err != nil {
		return err
	}
	pod := g.Pod(worker)
	created, err := x.API.CreatePod(ctx, pod)
	switch {
	case err == nil:
		seen := group.ObservePod(created, worker)
		x.fold(c.Index, group.Accepted(seen, "created"))
		if worker == 0 && c.Lost != "" {
			x.event(x.m, created, corev1.EventTypeWarning, "RevisionLost", "CreatePod", "Group %d is rebuilt at revision %s, "+
				"which is the present spec: the ControllerRevision of its own revision %s is gone", c.Index, c.Revision, c.Lost)
		}
		if seen.Incarnation != c.Incarnation || seen.Revision != c.Revision {
			return x.hold(c.Index, "PodAltered", fmt.Sprintf("pod %s was created with other labels or annotations than asked for: "+
				"admission changes %s or %s", pod.Name, v1.AnnotationIncarnation, v1.LabelRevision))
		}
		if seen.Gang != c.Gang && c.Gang != "" {
			return x.hold(c.Index, "PodAltered", fmt.Sprintf("pod %s was created without %s: the cluster drops it", pod.Name, gangField(c.Gang)))
		}
		return nil
	case apierrors.IsAlreadyExists(err):
		return x.nameTaken(ctx, c.Index, pod.Name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return x.hold(c.Index, "NamespaceTerminating", fmt.Sprintf("namespace %s is being deleted", x.m.key.Namespace))
	case refused(err):
		x.rejected(c.Index, worker, "create", err)
		x.event(x.m, nil, corev1.EventTypeWarning, "FailedCreate", "CreatePod",
			"Creating pod %s of group %d: %s", pod.Name, c.Index, err.Error())
		_ = x.hold(c.Index, "FailedCreate", err.Error())
		return errHeld
	default:
		x.rejected(c.Index, worker, "create", err)
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
}

// refused says that the API server looked at the request and said no, so that
// the same request will fail until somebody changes something.
func refused(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		// 500 is what a failing admission webhook looks like.
		return code >= 400 && code <= http.StatusInternalServerError
	}
}

// hold keeps the group from getting pods for a while.
func (x *execution) hold(index int32, reason, message string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if h := x.m.held[index]; !x.failed[index] {
		x.m.held[index] = h.next(reason, message, x.Clock.Now())
	}
	x.failed[index] = true
	return errRefused
}

// markLeader writes the GroupReady condition. The UID is the precondition: other
// parties write the status of the pod all the time.
func (x *execution) markLeader(ctx context.Context, mark rollout.Mark) error {
	condition := map[string]any{"type": v1.ConditionGroupReady, "lastTransitionTime": metav1.NewTime(x.Clock.Now())}
	if mark.Ready {
		condition["status"], condition["reason"], condition["message"] = corev1.ConditionTrue, "AllPodsReady", "All pods of the group are ready"
	} else {
		condition["status"], condition["reason"], condition["message"] = corev1.ConditionFalse, "PodsNotReady", "Some pods of the group are missing or not ready"
	}
	patch := mustJSON(map[string]any{
		"metadata": map[string]any{"uid": mark.Leader.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	})
	return x.patchLeader(ctx, mark.Index, mark.Leader, "mark", patch, "status")
}

// noteStart writes how many restarts there were when the group had started.
func (x *execution) noteStart(ctx context.Context, s rollout.Start) error {
	patch := mustJSON(map[string]any{"metadata": map[string]any{"uid": s.Leader.UID, "resourceVersion": s.Version,
		"annotations": map[string]string{v1.AnnotationRestartsSeen: strconv.FormatInt(s.Restarts, 10)}}})
	return x.patchLeader(ctx, s.Index, s.Leader, "note start", patch)
}

func (x *execution) patchLeader(ctx context.Context, index int32, leader group.PodRef, what string, patch []byte, subresources ...string) error {
	patched, err := x.API.PatchPod(ctx, x.key(leader.Name), patch, subresources...)
	switch {
	case err == nil:
		x.fold(index, group.Accepted(group.ObservePod(patched, 0), what))
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // the leader is gone or another one: nothing is to be said of that
	default:
		x.rejected(index, 0, what, err)
		return fmt.Errorf("pod %s: %w", leader.Name, err)
	}
}

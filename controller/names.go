package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

// reasonNameTaken is the reason of events and conditions about names that
// something else holds.
const reasonNameTaken = "NameTaken"

// nameTaken looks at the pod that holds a name we wanted. It may be ours, made by
// a request whose answer was lost; ours without its label, which somebody took
// off to debug it; or somebody else's.
func (x *execution) nameTaken(ctx context.Context, index int32, name string) error {
	pod, err := x.API.GetPod(ctx, x.key(name))
	switch {
	case apierrors.IsNotFound(err):
		return errRefused // gone meanwhile: plan again
	case err != nil:
		return fmt.Errorf("looking at pod %s, which exists already: %w", name, err)
	case metav1.IsControlledBy(pod, x.m.set) && pod.Labels[v1.LabelName] == x.m.key.Name:
		x.behind(index)
		return nil
	case metav1.IsControlledBy(pod, x.m.set):
		return x.release(ctx, index, pod)
	default:
		x.waitForName(index, name)
		return nil
	}
}

// behind has another look at the pods: one of ours has turned up that should have
// been known, so that the cache is behind, or an answer was lost.
func (x *execution) behind(index int32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.m.look = nil
	x.failed[index] = true
	x.wait.sooner(staleDelay)
}

// waitForName holds a group until something foreign gives a pod's name free. Other
// groups go on: after one sync all that wait are known.
func (x *execution) waitForName(index int32, name string) {
	b := rollout.Blocked{Index: index, Kind: "pod", Name: name, Why: rollout.NotOurs}
	x.mu.Lock()
	x.warnBlocked(x.m, b)
	x.mu.Unlock()
	_ = x.hold(index, reasonNameTaken, blockedMessage(b))
}

// release gives up a pod that no longer carries the set's label, and waits for
// its name. One that is going anyway is only waited for.
func (x *execution) release(ctx context.Context, index int32, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		_ = x.hold(index, reasonNameTaken, fmt.Sprintf("pod %s is being deleted", pod.Name))
		return nil
	}
	patch := mustJSON(map[string]any{"metadata": map[string]any{
		"uid":             pod.UID,
		"resourceVersion": pod.ResourceVersion,
		"ownerReferences": []any{map[string]any{"$patch": "delete", "uid": x.m.set.UID}},
	}})
	_, err := x.API.PatchPod(ctx, x.key(pod.Name), patch)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("releasing pod %s: %w", pod.Name, err)
	}
	if err == nil {
		x.event(x.m, pod, corev1.EventTypeNormal, "ReleasedPod", "ReleasePod",
			"Released pod %s of group %d, which no longer has the label %s", pod.Name, index, v1.LabelName)
	}
	x.waitForName(index, pod.Name)
	return nil
}

// verifyNames reads every name of a group live before the first pod of its next
// incarnation is made: a pod that lost its label is unseen and may still run. The
// last incarnation may have been larger.
func (x *execution) verifyNames(ctx context.Context, c *rollout.Creation) error {
	r := x.m.history.ByKey(c.Revision)
	if r == nil {
		return nil // createPod says so
	}
	g, size := x.m.groupOf(r, c.Index, c.Incarnation), int32(1)
	for _, s := range x.m.sizes() {
		size = max(size, s)
	}
	for worker := range size {
		name := g.PodName(worker)
		pod, err := x.API.GetPod(ctx, x.key(name))
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("looking for pod %s: %w", name, err)
		case !metav1.IsControlledBy(pod, x.m.set):
			continue // in the way, if it is, but no danger
		case pod.Labels[v1.LabelName] != x.m.key.Name:
			return x.release(ctx, c.Index, pod)
		}
		// Ours after all: plan again when it is known.
		x.behind(c.Index)
	}
	return nil
}

func (x *execution) deleteService(ctx context.Context, name string) error {
	service, err := x.API.GetService(ctx, x.key(name))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("service %s: %w", name, err)
	}
	if !metav1.IsControlledBy(service, x.m.set) || service.DeletionTimestamp != nil {
		return nil
	}
	err = x.API.DeleteService(ctx, x.key(name), service.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("service %s: %w", name, err)
	}
	return nil
}

// createService creates a headless Service. A foreign one under its name is left
// alone, and the pods that rely on it wait.
func (x *execution) createService(ctx context.Context, want rollout.ServiceWanted) error {
	created, err := x.API.CreateService(ctx, x.m.service(want.Policy, want.Index))
	if apierrors.IsAlreadyExists(err) {
		if created, err = x.API.GetService(ctx, x.key(want.Name)); apierrors.IsNotFound(err) {
			return errRefused
		}
		if err == nil && !metav1.IsControlledBy(created, x.m.set) {
			x.holdService(want.Name, reasonNameTaken,
				fmt.Sprintf("service %s %s", want.Name, rollout.NotOurs))
			return nil
		}
	}
	switch {
	case err == nil:
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.m.heldServices, want.Name)
		x.m.made[want.Name] = created
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		x.holdService(want.Name, "NamespaceTerminating", fmt.Sprintf("namespace %s is being deleted", x.m.key.Namespace))
		return nil
	case refused(err):
		x.holdService(want.Name, "FailedCreate", err.Error())
		return nil
	default:
		x.holdService(want.Name, "FailedCreate", err.Error())
		return fmt.Errorf("service %s: %w", want.Name, err)
	}
}

// holdService has the pods wait that rely on a Service, and tries again later.
func (x *execution) holdService(name, reason, message string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.m.heldServices[name] = x.m.heldServices[name].next(reason, message, x.Clock.Now())
	x.warn(x.m, "service/"+name, reason, "CreateService", "Pods wait for their Service: %s", message)
}

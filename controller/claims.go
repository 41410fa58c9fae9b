package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// Claims are read live when a pod is made, and when one goes for good: both are rare
// for one pod, whereas a cache would hold the claims of all sets all the time. A set
// without volumeClaimTemplates makes no request.

// errWaits says that a pod waits for a claim, which says nothing of other groups.
var errWaits = errors.New("waits for a claim")

// ensureClaims has the claims of a pod exist before the pod does.
func (x *execution) ensureClaims(ctx context.Context, g *topology.Group, worker int32) error {
	for _, want := range g.Claims(worker) {
		if err := x.ensureClaim(ctx, g, worker, want); err != nil {
			return err
		}
	}
	return nil
}

// ensureClaim creates a claim, or uses the one that is there, whoever made it, unless
// that is another's or about to go.
func (x *execution) ensureClaim(ctx context.Context, g *topology.Group, worker int32, want *corev1.PersistentVolumeClaim) error {
	claim, err := x.API.GetClaim(ctx, x.key(want.Name))
	switch {
	case apierrors.IsNotFound(err):
		return x.createClaim(ctx, g.Index, worker, want)
	case err != nil && refused(err): // such as without the right to read claims
		x.event(x.m, nil, corev1.EventTypeWarning, "FailedCreate", "CreateClaim",
			"Looking at claim %s of group %d: %s", want.Name, g.Index, err.Error())
		_ = x.hold(g.Index, "FailedCreate", err.Error())
		return errHeld
	case err != nil:
		return fmt.Errorf("looking at claim %s: %w", want.Name, err)
	}
	owner := metav1.GetControllerOfNoCopy(claim)
	switch {
	case claim.DeletionTimestamp != nil:
		return x.waitForClaim(g.Index, want.Name, "is being deleted")
	case owner != nil && owner.Kind == "Pod" && owner.Name == g.PodName(worker):
		return x.waitForClaim(g.Index, want.Name, "goes with the pod of that name that was scaled down")
	case owner != nil && owner.UID != x.m.set.UID:
		return x.waitForClaim(g.Index, want.Name, rollout.NotOurs)
	}
	return x.ownClaim(ctx, g.Index, worker, claim, want.OwnerReferences)
}

func (x *execution) createClaim(ctx context.Context, index, worker int32, want *corev1.PersistentVolumeClaim) error {
	_, err := x.API.CreateClaim(ctx, want)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return errRefused // somebody made it meanwhile: plan again
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return x.hold(index, "NamespaceTerminating", fmt.Sprintf("namespace %s is being deleted", x.m.key.Namespace))
	case refused(err):
		x.rejected(index, worker, "create claim", err)
		x.event(x.m, nil, corev1.EventTypeWarning, "FailedCreate", "CreateClaim",
			"Creating claim %s of group %d: %s", want.Name, index, err.Error())
		_ = x.hold(index, "FailedCreate", err.Error())
		return errHeld
	default:
		x.rejected(index, worker, "create claim", err)
		return fmt.Errorf("claim %s: %w", want.Name, err)
	}
}

// waitForClaim holds a group whose claim cannot be used.
func (x *execution) waitForClaim(index int32, name, why string) error {
	b := rollout.Blocked{Index: index, Kind: "claim", Name: name, Why: why}
	x.mu.Lock()
	x.warnBlocked(x.m, b)
	x.mu.Unlock()
	_ = x.hold(index, reasonNameTaken, blockedMessage(b))
	return errWaits
}

// ownClaim makes the set an owner of a claim or has it no longer be one, as the group's
// revision wants it when the set is deleted. Other owners stay.
func (x *execution) ownClaim(ctx context.Context, index, worker int32, claim *corev1.PersistentVolumeClaim, want []metav1.OwnerReference) error {
	isSet := func(r metav1.OwnerReference) bool { return r.UID == x.m.set.UID }
	if slices.ContainsFunc(claim.OwnerReferences, isSet) == (len(want) > 0) {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), isSet)
	err := x.patchOwners(ctx, index, worker, claim, append(others, want...))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errRefused // it has changed meanwhile: plan again
	case err != nil && refused(err):
		x.event(x.m, nil, corev1.EventTypeWarning, "FailedUpdate", "UpdateClaim",
			"Changing the owners of claim %s of group %d: %s", claim.Name, index, err.Error())
		_ = x.hold(index, "FailedUpdate", err.Error())
		return errHeld
	}
	return err
}

// condemnClaims has the claims of a pod go with it, if it goes for good and its
// revision wants that. The pod becomes their owner instead of the set, as with a
// StatefulSet: the garbage collector deletes only what has no owner left.
func (x *execution) condemnClaims(ctx context.Context, d rollout.Deletion) error {
	names := x.condemned(d)
	if len(names) == 0 {
		return x.keepClaims(ctx, d)
	}
	for _, name := range names {
		claim, err := x.API.GetClaim(ctx, x.key(name))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking at claim %s: %w", name, err)
		}
		if owner := metav1.GetControllerOfNoCopy(claim); claim.DeletionTimestamp != nil || owner != nil && owner.UID != x.m.set.UID {
			continue // goes already, or is another's
		}
		others := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == x.m.set.UID })
		err = x.patchOwners(ctx, d.Index, d.Pod.Worker, claim, append(others, podOwner(d.Pod)))
		if err != nil && refused(err) {
			x.mu.Lock()
			x.warn(x.m, "claim/"+name, "FailedUpdate", "UpdateClaim", "Pod %s stays, since its claim would outlive it: %s", d.Pod.Name, err.Error())
			x.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// podOwner does not block the deletion of the pod, which needs no rights on its
// finalizers.
func podOwner(p group.PodRef) metav1.OwnerReference {
	controller := true
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: &controller}
}

func (x *execution) condemned(d rollout.Deletion) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Condemned(x.m.set, x.m.history, x.m.group(d.Index).view.Revision, d)
}

// Condemned names the claims that are to go with a pod of a group of this revision: those
// of a group that is scaled down, and of a worker that the group will not have again at
// its next size.
func Condemned(set *v1.LeaderWorkerSet, history *revision.History, key string, d rollout.Deletion) []string {
	r := history.ByKey(key)
	if r == nil || !claimsGo(r) {
		return nil
	}
	recycling := set.Status.Recycling
	i := slices.IndexFunc(recycling, func(e v1.RecyclingGroup) bool { return e.Index == d.Index })
	if i < 0 {
		return nil
	}
	if entry := recycling[i]; entry.Cause != v1.RecycleScaleDown {
		next := history.ByKey(entry.Revision)
		if next == nil || d.Pod.Worker < GroupOf(set, next, d.Index, 0).Size() {
			return nil
		}
	}
	return claimsOf(r, d.Pod.Name)
}

// claimsGo says that claims of groups at a revision go with pods that are scaled down.
func claimsGo(r *revision.Revision) bool {
	policy := r.Template.PersistentVolumeClaimRetentionPolicy
	return len(r.Template.VolumeClaimTemplates) > 0 && policy != nil && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

// claimsOf names the claims of a pod.
func claimsOf(r *revision.Revision, pod string) []string {
	var names []string
	for i := range r.Template.VolumeClaimTemplates {
		names = append(names, topology.ClaimName(r.Template.VolumeClaimTemplates[i].Name, pod))
	}
	return names
}

// keepClaims has the set, or nobody, own the claims of a pod again that were to go with
// it, when it comes back after all: somebody has changed his mind meanwhile.
func (x *execution) keepClaims(ctx context.Context, d rollout.Deletion) error {
	x.mu.Lock()
	r := x.m.history.ByKey(x.m.group(d.Index).view.Revision)
	x.mu.Unlock()
	if r == nil || !claimsGo(r) {
		return nil
	}
	for _, want := range x.m.groupOf(r, d.Index, 0).Claims(d.Pod.Worker) {
		claim, err := x.API.GetClaim(ctx, x.key(want.Name))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking at claim %s: %w", want.Name, err)
		}
		goes := func(r metav1.OwnerReference) bool { return r.UID == d.Pod.UID }
		if claim.DeletionTimestamp != nil || !slices.ContainsFunc(claim.OwnerReferences, goes) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), goes)
		if err := x.patchOwners(ctx, d.Index, d.Pod.Worker, claim, append(others, want.OwnerReferences...)); err != nil {
			return err
		}
	}
	return nil
}

// patchOwners writes the owners of a claim as it was read, and fails if it has changed.
func (x *execution) patchOwners(ctx context.Context, index, worker int32, claim *corev1.PersistentVolumeClaim, owners []metav1.OwnerReference) error {
	patch := mustJSON(map[string]any{"metadata": map[string]any{
		"uid": claim.UID, "resourceVersion": claim.ResourceVersion, "ownerReferences": owners}})
	if err := x.API.PatchClaim(ctx, x.key(claim.Name), patch); err != nil {
		x.rejected(index, worker, "patch claim", err)
		return fmt.Errorf("claim %s: %w", claim.Name, err)
	}
	return nil
}

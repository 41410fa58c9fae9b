package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// countedAPI counts the writes among the requests.
type countedAPI struct {
	API
	c *Controller
}

// Kinds of what is written, and verbs, as metrics name them.
const (
	kindSet      = v1.Kind
	kindPod      = "Pod"
	kindService  = "Service"
	kindClaim    = "PersistentVolumeClaim"
	kindBudget   = "PodDisruptionBudget"
	kindPodGroup = "PodGroup"
	kindWorkload = "Workload"
	kindRevision = "ControllerRevision"

	verbCreate = "create"
	verbUpdate = "update"
	verbPatch  = "patch"
	verbStatus = "patch_status"
	verbDelete = "delete"
	verbForce  = "force_delete"
)

func (a countedAPI) PatchSetStatus(ctx context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	out, err := a.API.PatchSetStatus(ctx, key, patch)
	a.c.wrote(ctx, kindSet, verbStatus, err)
	return out, err
}

func (a countedAPI) PatchSet(ctx context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	out, err := a.API.PatchSet(ctx, key, patch)
	a.c.wrote(ctx, kindSet, verbPatch, err)
	return out, err
}

func (a countedAPI) CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	out, err := a.API.CreatePod(ctx, pod)
	a.c.wrote(ctx, kindPod, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchPod(ctx context.Context, key types.NamespacedName, patch []byte, subresources ...string) (*corev1.Pod, error) {
	out, err := a.API.PatchPod(ctx, key, patch, subresources...)
	verb := verbPatch
	if len(subresources) > 0 {
		verb = verbStatus // the only one that is patched
	}
	a.c.wrote(ctx, kindPod, verb, err)
	return out, err
}

func (a countedAPI) DeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeletePod(ctx, key, uid)
	a.c.wrote(ctx, kindPod, verbDelete, err)
	return err
}

func (a countedAPI) ForceDeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.ForceDeletePod(ctx, key, uid)
	a.c.wrote(ctx, kindPod, verbForce, err)
	return err
}

func (a countedAPI) CreateService(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	out, err := a.API.CreateService(ctx, service)
	a.c.wrote(ctx, kindService, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchService(ctx context.Context, key types.NamespacedName, patch []byte) (*corev1.Service, error) {
	out, err := a.API.PatchService(ctx, key, patch)
	a.c.wrote(ctx, kindService, verbPatch, err)
	return out, err
}

func (a countedAPI) DeleteService(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeleteService(ctx, key, uid)
	a.c.wrote(ctx, kindService, verbDelete, err)
	return err
}

func (a countedAPI) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	out, err := a.API.CreateClaim(ctx, claim)
	a.c.wrote(ctx, kindClaim, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchClaim(ctx context.Context, key types.NamespacedName, patch []byte) error {
	err := a.API.PatchClaim(ctx, key, patch)
	a.c.wrote(ctx, kindClaim, verbPatch, err)
	return err
}

func (a countedAPI) CreateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	out, err := a.API.CreateBudget(ctx, budget)
	a.c.wrote(ctx, kindBudget, verbCreate, err)
	return out, err
}

func (a countedAPI) UpdateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	out, err := a.API.UpdateBudget(ctx, budget)
	a.c.wrote(ctx, kindBudget, verbUpdate, err)
	return out, err
}

func (a countedAPI) DeleteBudget(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeleteBudget(ctx, key, uid)
	a.c.wrote(ctx, kindBudget, verbDelete, err)
	return err
}

func (a countedAPI) CreateWorkload(ctx context.Context, workload *schedulingv1beta1.Workload) (*schedulingv1beta1.Workload, error) {
	out, err := a.API.CreateWorkload(ctx, workload)
	a.c.wrote(ctx, kindWorkload, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchWorkload(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.Workload, error) {
	out, err := a.API.PatchWorkload(ctx, key, patch)
	a.c.wrote(ctx, kindWorkload, verbPatch, err)
	return out, err
}

func (a countedAPI) DeleteWorkload(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeleteWorkload(ctx, key, uid)
	a.c.wrote(ctx, kindWorkload, verbDelete, err)
	return err
}

func (a countedAPI) CreatePodGroup(ctx context.Context, podGroup *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	out, err := a.API.CreatePodGroup(ctx, podGroup)
	a.c.wrote(ctx, kindPodGroup, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchPodGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	out, err := a.API.PatchPodGroup(ctx, key, patch)
	a.c.wrote(ctx, kindPodGroup, verbPatch, err)
	return out, err
}

func (a countedAPI) DeletePodGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeletePodGroup(ctx, key, uid)
	a.c.wrote(ctx, kindPodGroup, verbDelete, err)
	return err
}

func (a countedAPI) CreateVolcanoGroup(ctx context.Context, podGroup *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out, err := a.API.CreateVolcanoGroup(ctx, podGroup)
	a.c.wrote(ctx, kindPodGroup, verbCreate, err)
	return out, err
}

func (a countedAPI) PatchVolcanoGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*unstructured.Unstructured, error) {
	out, err := a.API.PatchVolcanoGroup(ctx, key, patch)
	a.c.wrote(ctx, kindPodGroup, verbPatch, err)
	return out, err
}

func (a countedAPI) DeleteVolcanoGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := a.API.DeleteVolcanoGroup(ctx, key, uid)
	a.c.wrote(ctx, kindPodGroup, verbDelete, err)
	return err
}

// countedRevisions counts the writes among the requests for revisions.
type countedRevisions struct {
	RevisionStore
	c *Controller
}

func (s countedRevisions) Create(ctx context.Context, r *revision.Revision) (*revision.Revision, error) {
	out, err := s.RevisionStore.Create(ctx, r)
	s.c.wrote(ctx, kindRevision, verbCreate, err)
	return out, err
}

func (s countedRevisions) Adopt(ctx context.Context, set *v1.LeaderWorkerSet, r *revision.Revision) (*revision.Revision, error) {
	out, err := s.RevisionStore.Adopt(ctx, set, r)
	s.c.wrote(ctx, kindRevision, verbPatch, err)
	return out, err
}

func (s countedRevisions) SetNumber(ctx context.Context, r *revision.Revision, number int64) (*revision.Revision, error) {
	out, err := s.RevisionStore.SetNumber(ctx, r, number)
	s.c.wrote(ctx, kindRevision, verbPatch, err)
	return out, err
}

func (s countedRevisions) Delete(ctx context.Context, r *revision.Revision) error {
	err := s.RevisionStore.Delete(ctx, r)
	s.c.wrote(ctx, kindRevision, verbDelete, err)
	return err
}

package controller

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/informers"
	"lws-controller/revision"
)

// requestTimeout bounds every single request.
const requestTimeout = 10 * time.Second

// API is every request that the controller makes to the API server, revisions
// aside. Deletions carry the UID as precondition.
type API interface {
	GetSet(ctx context.Context, key types.NamespacedName) (*v1.LeaderWorkerSet, error)
	PatchSetStatus(ctx context.Context, key types.NamespacedName, mergePatch []byte) (*v1.LeaderWorkerSet, error)
	// PatchSet applies a JSON patch (RFC 6902).
	PatchSet(ctx context.Context, key types.NamespacedName, jsonPatch []byte) (*v1.LeaderWorkerSet, error)

	GetPod(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error)
	// ListPods lists the pods with the label of a set, as they are now.
	ListPods(ctx context.Context, set types.NamespacedName) (*corev1.PodList, error)
	CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	// PatchPod applies a strategic merge patch.
	PatchPod(ctx context.Context, key types.NamespacedName, patch []byte, subresources ...string) (*corev1.Pod, error)
	DeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error
	// ForceDeletePod deletes it with no grace, whether its kubelet knows or not.
	ForceDeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error
	GetNode(ctx context.Context, name string) (*corev1.Node, error)

	GetService(ctx context.Context, key types.NamespacedName) (*corev1.Service, error)
	CreateService(ctx context.Context, service *corev1.Service) (*corev1.Service, error)
	PatchService(ctx context.Context, key types.NamespacedName, patch []byte) (*corev1.Service, error)
	DeleteService(ctx context.Context, key types.NamespacedName, uid types.UID) error

	GetClaim(ctx context.Context, key types.NamespacedName) (*corev1.PersistentVolumeClaim, error)
	CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
	// PatchClaim applies a JSON merge patch (RFC 7386).
	PatchClaim(ctx context.Context, key types.NamespacedName, patch []byte) error

	CreateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error)
	// UpdateBudget has the resource version as precondition.
	UpdateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error)
	DeleteBudget(ctx context.Context, key types.NamespacedName, uid types.UID) error

	CreateWorkload(ctx context.Context, workload *schedulingv1beta1.Workload) (*schedulingv1beta1.Workload, error)
	GetWorkload(ctx context.Context, key types.NamespacedName) (*schedulingv1beta1.Workload, error)
	// PatchWorkload and PatchPodGroup apply a JSON merge patch.
	PatchWorkload(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.Workload, error)
	PatchPodGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.PodGroup, error)
	DeleteWorkload(ctx context.Context, key types.NamespacedName, uid types.UID) error
	CreatePodGroup(ctx context.Context, podGroup *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error)
	GetPodGroup(ctx context.Context, key types.NamespacedName) (*schedulingv1beta1.PodGroup, error)
	DeletePodGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error

	// What follows is of Volcano's PodGroups.
	CreateVolcanoGroup(ctx context.Context, podGroup *unstructured.Unstructured) (*unstructured.Unstructured, error)
	GetVolcanoGroup(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error)
	// PatchVolcanoGroup applies a JSON merge patch (RFC 7386).
	PatchVolcanoGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*unstructured.Unstructured, error)
	DeleteVolcanoGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error
}

// RevisionStore reads and writes ControllerRevisions; see revision.Store.
type RevisionStore interface {
	List(ctx context.Context, set *v1.LeaderWorkerSet) ([]*appsv1.ControllerRevision, error)
	Labelled(ctx context.Context, set *v1.LeaderWorkerSet, name string) (bool, error)
	Create(ctx context.Context, r *revision.Revision) (*revision.Revision, error)
	Adopt(ctx context.Context, set *v1.LeaderWorkerSet, r *revision.Revision) (*revision.Revision, error)
	SetNumber(ctx context.Context, r *revision.Revision, number int64) (*revision.Revision, error)
	Delete(ctx context.Context, r *revision.Revision) error
}

// Cache is what the controller reads without asking the API server; see
// informers.Informers.
type Cache interface {
	Set(key types.NamespacedName) (*v1.LeaderWorkerSet, bool)
	Pod(key types.NamespacedName) (*corev1.Pod, bool)
	Events(set types.NamespacedName, each func(index int32, e group.Event))
	Services(set types.NamespacedName) []*corev1.Service
	Revisions(set types.NamespacedName) []*appsv1.ControllerRevision
	Budget(key types.NamespacedName) (*policyv1.PodDisruptionBudget, bool)
	Budgets(namespace string) []*policyv1.PodDisruptionBudget
	PodGroups(set types.NamespacedName) []*schedulingv1beta1.PodGroup
	Workloads(set types.NamespacedName) []*schedulingv1beta1.Workload
	// NoGangs is why PodGroups cannot be used, empty if they can.
	NoGangs() string
	// VolcanoGroups are PodGroups of Volcano, NoVolcano is why they cannot be used.
	VolcanoGroups(set types.NamespacedName) []*unstructured.Unstructured
	NoVolcano() string
	Passed(kind informers.Kind, version string) bool
	// Node is nil where there is none of that name. Without rights on nodes, none is
	// known.
	Node(name string) (n *corev1.Node, known bool)
}

// liveAPI makes the requests with typed clients.
type liveAPI struct {
	kube kubernetes.Interface
	sets *client.Client
	// volcano is nil where Volcano's API is not asked for.
	volcano dynamic.Interface
}

// NewAPI returns the API on the given clients. volcano may be nil.
func NewAPI(kube kubernetes.Interface, sets *client.Client, volcano dynamic.Interface) API {
	return liveAPI{kube, sets, volcano}
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("no answer within %s", requestTimeout))
}

func onlyUID(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))}
}

func (a liveAPI) GetSet(ctx context.Context, key types.NamespacedName) (*v1.LeaderWorkerSet, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.sets.LeaderWorkerSets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) PatchSet(ctx context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.sets.LeaderWorkerSets(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
}

func (a liveAPI) PatchSetStatus(ctx context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.sets.LeaderWorkerSets(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}

func (a liveAPI) GetPod(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) ListPods(ctx context.Context, set types.NamespacedName) (*corev1.PodList, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Pods(set.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{v1.LabelName: set.Name}.String(),
	})
}

func (a liveAPI) CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

func (a liveAPI) PatchPod(ctx context.Context, key types.NamespacedName, patch []byte, subresources ...string) (*corev1.Pod, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresources...)
}

func (a liveAPI) DeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Pods(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

func (a liveAPI) ForceDeletePod(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	options, none := onlyUID(uid), int64(0)
	options.GracePeriodSeconds = &none
	return a.kube.CoreV1().Pods(key.Namespace).Delete(ctx, key.Name, options)
}

func (a liveAPI) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

func (a liveAPI) GetService(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) CreateService(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Services(service.Namespace).Create(ctx, service, metav1.CreateOptions{})
}

func (a liveAPI) PatchService(ctx context.Context, key types.NamespacedName, patch []byte) (*corev1.Service, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Services(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

func (a liveAPI) DeleteService(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().Services(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

func (a liveAPI) GetClaim(ctx context.Context, key types.NamespacedName) (*corev1.PersistentVolumeClaim, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().PersistentVolumeClaims(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (a liveAPI) PatchClaim(ctx context.Context, key types.NamespacedName, patch []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := a.kube.CoreV1().PersistentVolumeClaims(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (a liveAPI) CreateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.PolicyV1().PodDisruptionBudgets(budget.Namespace).Create(ctx, budget, metav1.CreateOptions{})
}

func (a liveAPI) UpdateBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.PolicyV1().PodDisruptionBudgets(budget.Namespace).Update(ctx, budget, metav1.UpdateOptions{})
}

func (a liveAPI) DeleteBudget(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.PolicyV1().PodDisruptionBudgets(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

func (a liveAPI) CreateWorkload(ctx context.Context, workload *schedulingv1beta1.Workload) (*schedulingv1beta1.Workload, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().Workloads(workload.Namespace).Create(ctx, workload, metav1.CreateOptions{})
}

func (a liveAPI) GetWorkload(ctx context.Context, key types.NamespacedName) (*schedulingv1beta1.Workload, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().Workloads(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) DeleteWorkload(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().Workloads(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

func (a liveAPI) CreatePodGroup(ctx context.Context, podGroup *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().PodGroups(podGroup.Namespace).Create(ctx, podGroup, metav1.CreateOptions{})
}

func (a liveAPI) GetPodGroup(ctx context.Context, key types.NamespacedName) (*schedulingv1beta1.PodGroup, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().PodGroups(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) DeletePodGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().PodGroups(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

func (a liveAPI) PatchWorkload(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.Workload, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().Workloads(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

func (a liveAPI) PatchPodGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.kube.SchedulingV1beta1().PodGroups(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

package v1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// LeaderWorkerSet runs groups of pods as units: each replica is a group of one
// leader and size-1 workers that is created, placed, updated and recreated as
// a whole.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=lws
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.hpaPodSelector
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LeaderWorkerSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec LeaderWorkerSetSpec `json:"spec,omitempty"`
	// status is the observed state. It is written by the controller only.
	// +optional
	Status LeaderWorkerSetStatus `json:"status,omitempty"`
}

// LeaderWorkerSetList is a list of LeaderWorkerSets.
//
// +kubebuilder:object:root=true
type LeaderWorkerSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LeaderWorkerSet `json:"items"`
}

// LeaderWorkerSetSpec is the desired state of a LeaderWorkerSet.
type LeaderWorkerSetSpec struct {
	// replicas is the number of groups. Each group has leaderWorkerTemplate.size
	// pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Replicas *int32 `json:"replicas,omitempty"`

	// leaderWorkerTemplate describes the pods of one group.
	LeaderWorkerTemplate LeaderWorkerTemplate `json:"leaderWorkerTemplate"`

	// rolloutStrategy says how groups are taken to a new revision.
	// +optional
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy,omitempty"`

	// startupPolicy says when the workers of a group are created:
	// LeaderCreated (default), right after the leader object exists;
	// LeaderReady, once the leader pod is Ready.
	// +optional
	// +kubebuilder:default=LeaderCreated
	// +kubebuilder:validation:Enum=LeaderCreated;LeaderReady;""
	StartupPolicy StartupPolicyType `json:"startupPolicy"`

	// networkConfig says how the pods of a group find each other.
	// +optional
	NetworkConfig *NetworkConfig `json:"networkConfig,omitempty"`

	// scheduling asks the Kubernetes scheduler to place each group by the native
	// Workload API (scheduling.k8s.io/v1beta1, Kubernetes 1.37 or later). An
	// empty object means gang scheduling: all pods of a group or none.
	// A change holds for groups created afterwards and rolls nothing.
	// +optional
	Scheduling *Scheduling `json:"scheduling,omitempty"`
}

// LeaderWorkerTemplate describes the pods of one group. Together with
// networkConfig it is what a revision records.
type LeaderWorkerTemplate struct {
	// leaderTemplate is the template of the leader pod (worker index 0). When
	// absent, workerTemplate serves for the leader too.
	// +optional
	LeaderTemplate *corev1.PodTemplateSpec `json:"leaderTemplate,omitempty"`

	// workerTemplate is the template of the worker pods (1 to size-1).
	WorkerTemplate corev1.PodTemplateSpec `json:"workerTemplate"`

	// size is the number of pods in each group, the leader included.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Size *int32 `json:"size,omitempty"`

	// restartPolicy says what happens when a pod of a group fails, is deleted by
	// others, or one of its containers restarts. RecreateGroupOnPodRestart
	// (default): the whole group is deleted and created anew.
	// RecreateGroupAfterStart: the same, but restarts before all containers of
	// the group have started do not count. None: only the failed pod is
	// replaced. Default is an old name of None.
	// +optional
	// +kubebuilder:default=RecreateGroupOnPodRestart
	// +kubebuilder:validation:Enum=Default;RecreateGroupOnPodRestart;RecreateGroupAfterStart;None
	RestartPolicy RestartPolicyType `json:"restartPolicy,omitempty"`

	// maxGroupRestarts is how often a group of one revision may be recreated
	// because of failures before it is left as it is. Unlimited when absent.
	// Only with a restartPolicy that recreates groups.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxGroupRestarts *int32 `json:"maxGroupRestarts,omitempty"`

	// subGroupPolicy divides each group into subgroups, for placement and for
	// accelerators. It can be neither added nor removed later.
	// +optional
	SubGroupPolicy *SubGroupPolicy `json:"subGroupPolicy,omitempty"`

	// volumeClaimTemplates are claims that each pod of the group gets, named
	// <claim>-<pod name>, as a StatefulSet does. They cannot change later.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// persistentVolumeClaimRetentionPolicy says what becomes of the claims when
	// the set is deleted or scaled down.
	// +optional
	PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
}

// RestartPolicyType says what happens when a pod of a group fails.
type RestartPolicyType string

const (
	// RecreateGroupOnPodRestart recreates the whole group.
	RecreateGroupOnPodRestart RestartPolicyType = "RecreateGroupOnPodRestart"
	// RecreateGroupAfterStart recreates the whole group, but only once every
	// container of it has started.
	RecreateGroupAfterStart RestartPolicyType = "RecreateGroupAfterStart"
	// NoneRestartPolicy replaces only the failed pod.
	NoneRestartPolicy RestartPolicyType = "None"
	// DefaultRestartPolicy is the old name of None.
	DefaultRestartPolicy RestartPolicyType = "Default"
)

// SubGroupPolicy divides a group into subgroups.
type SubGroupPolicy struct {
	// subGroupPolicyType says whether the leader belongs to the first subgroup
	// (LeaderWorker, default) or to none (LeaderExcluded).
	// +optional
	// +kubebuilder:default=LeaderWorker
	// +kubebuilder:validation:Enum=LeaderWorker;LeaderExcluded
	Type *SubGroupPolicyType `json:"subGroupPolicyType,omitempty"`

	// subGroupSize is the number of pods per subgroup. size or size-1 must be
	// divisible by it; with LeaderExcluded, size-1. Immutable.
	// +kubebuilder:validation:Minimum=1
	SubGroupSize *int32 `json:"subGroupSize"`
}

// SubGroupPolicyType says where the leader belongs.
type SubGroupPolicyType string

const (
	// SubGroupPolicyLeaderWorker puts the leader into the first subgroup.
	SubGroupPolicyLeaderWorker SubGroupPolicyType = "LeaderWorker"
	// SubGroupPolicyLeaderExcluded keeps the leader out of the subgroups.
	SubGroupPolicyLeaderExcluded SubGroupPolicyType = "LeaderExcluded"
)

// RolloutStrategy says how groups are taken to a new revision.
type RolloutStrategy struct {
	// type is RollingUpdate, the only value. Empty means the same.
	// +kubebuilder:default=RollingUpdate
	// +kubebuilder:validation:Enum=RollingUpdate;""
	Type RolloutStrategyType `json:"type"`

	// rollingUpdateConfiguration holds the budgets of the update.
	// +optional
	RollingUpdateConfiguration *RollingUpdateConfiguration `json:"rollingUpdateConfiguration,omitempty"`
}

// RolloutStrategyType is the kind of a rollout.
type RolloutStrategyType string

// RollingUpdateStrategyType updates groups one after the other, within budgets.
const RollingUpdateStrategyType RolloutStrategyType = "RollingUpdate"

// RollingUpdateConfiguration holds the budgets of a rolling update, in groups.
type RollingUpdateConfiguration struct {
	// partition: groups with a lower index keep their revision.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`

	// maxUnavailable is how many groups may be unavailable during the update: a
	// number, or a percentage of replicas (rounded down).
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is how many groups may exist above replicas during the update: a
	// number, or a percentage of replicas (rounded up).
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	MaxSurge intstr.IntOrString `json:"maxSurge,omitempty"`
}

// StartupPolicyType says when workers are created.
type StartupPolicyType string

const (
	// LeaderCreatedStartupPolicy creates workers once the leader object exists.
	LeaderCreatedStartupPolicy StartupPolicyType = "LeaderCreated"
	// LeaderReadyStartupPolicy creates workers once the leader pod is Ready.
	LeaderReadyStartupPolicy StartupPolicyType = "LeaderReady"
)

// NetworkConfig says how the pods of a group find each other.
type NetworkConfig struct {
	// subdomainPolicy: Shared (default), all groups share one headless Service
	// named like the set; UniquePerReplica, each group has its own, named
	// <set>-<group index>.
	// +kubebuilder:default=Shared
	// +kubebuilder:validation:Enum=Shared;UniquePerReplica
	SubdomainPolicy *SubdomainPolicy `json:"subdomainPolicy"`
}

// SubdomainPolicy says which Service the pods of a group belong to.
type SubdomainPolicy string

const (
	// SubdomainShared is one headless Service for all groups.
	SubdomainShared SubdomainPolicy = "Shared"
	// SubdomainUniquePerReplica is one headless Service per group.
	SubdomainUniquePerReplica SubdomainPolicy = "UniquePerReplica"
)

// Scheduling asks for native placement of each group. Its parts are those of a
// scheduling.k8s.io/v1beta1 PodGroup.
type Scheduling struct {
	// schedulingPolicy is gang (default; all pods of a group or none) or basic.
	// +optional
	SchedulingPolicy *SchedulingPolicy `json:"schedulingPolicy,omitempty"`
	// schedulingConstraints keep the pods of a group within one topology domain.
	// +optional
	SchedulingConstraints *schedulingv1beta1.PodGroupSchedulingConstraints `json:"schedulingConstraints,omitempty"`
	// disruptionMode says whether the pods of a group are preempted one by one
	// (single) or together (all).
	// +optional
	DisruptionMode *schedulingv1beta1.DisruptionMode `json:"disruptionMode,omitempty"`
	// resourceClaims are shared by the pods of a group.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	ResourceClaims []schedulingv1beta1.PodGroupResourceClaim `json:"resourceClaims,omitempty"`
}

// SchedulingPolicy is how the pods of a group are scheduled. At most one of its
// fields is set; none means gang.
type SchedulingPolicy struct {
	// gang: all pods of a group are scheduled, or none.
	// +optional
	Gang *GangPolicy `json:"gang,omitempty"`
	// basic: pods are scheduled one by one.
	// +optional
	Basic *BasicPolicy `json:"basic,omitempty"`
}

// GangPolicy has no fields: the minimum count is the size of the group.
type GangPolicy struct{}

// BasicPolicy has no fields.
type BasicPolicy struct{}

// LeaderWorkerSetStatus is the observed state of a LeaderWorkerSet.
type LeaderWorkerSetStatus struct {
	// conditions: Available, Progressing, UpdateInProgress, Degraded,
	// RolloutPaused, Reconciling and Stalled. A condition is absent until it is
	// True for the first time.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// readyReplicas is the number of groups whose pods are all Ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of groups whose pods all exist and have the
	// update revision, ready or not.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// replicas is the number of groups that exist.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// hpaPodSelector selects the leader pods, for the scale subresource.
	// +optional
	HPAPodSelector string `json:"hpaPodSelector,omitempty"`

	// observedGeneration is the generation this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// currentRevision is the revision that all groups had when a rollout last
	// ended.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// updateRevision is the revision of the present spec.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// groups counts the groups by phase.
	// +optional
	Groups *GroupCounts `json:"groups,omitempty"`

	// establishedReplicas is the most groups that were ever available at one
	// time; it falls only with replicas. Updates never take the set below it by
	// more than maxUnavailable.
	// +optional
	EstablishedReplicas int32 `json:"establishedReplicas,omitempty"`

	// recycling lists the groups that are being torn down. It is written before
	// the first pod is deleted.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MaxItems=2000
	Recycling []RecyclingGroup `json:"recycling,omitempty"`

	// groupRestarts counts the recreations of groups because of failures.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MaxItems=2000
	GroupRestarts []GroupRestarts `json:"groupRestarts,omitempty"`
}

// GroupCounts counts groups by phase.
type GroupCounts struct {
	// pending: the leader is missing or not Ready.
	Pending int32 `json:"pending"`
	// leaderReady: the leader is Ready, some worker does not exist yet.
	LeaderReady int32 `json:"leaderReady"`
	// workersStarting: all pods exist, some worker is not Ready.
	WorkersStarting int32 `json:"workersStarting"`
	// ready: all pods are Ready.
	Ready int32 `json:"ready"`
	// recycling: being torn down.
	Recycling int32 `json:"recycling"`
	// failed: the restart budget is spent.
	Failed int32 `json:"failed"`
}

// RecycleCause is why a group is torn down.
type RecycleCause string

const (
	// RecycleFailure: a pod failed, restarted or was deleted by others.
	RecycleFailure RecycleCause = "Failure"
	// RecycleUpdate: the group is taken to another revision.
	RecycleUpdate RecycleCause = "Update"
	// RecycleRequested: a person asked for it.
	RecycleRequested RecycleCause = "Recycle"
	// RecycleScaleDown: the group is no longer wanted.
	RecycleScaleDown RecycleCause = "ScaleDown"
)

// RecyclingGroup is a teardown under way.
type RecyclingGroup struct {
	// index of the group.
	Index int32 `json:"index"`
	// incarnation that is being torn down.
	Incarnation int64 `json:"incarnation"`
	// cause of the teardown: Failure, Update, Recycle or ScaleDown.
	Cause RecycleCause `json:"cause"`
	// revision at which the group is built again.
	Revision string `json:"revision"`
	// startedAt is when the teardown was decided.
	StartedAt metav1.Time `json:"startedAt"`
}

// GroupRestarts counts the recreations of one group at one revision.
type GroupRestarts struct {
	// index of the group.
	Index int32 `json:"index"`
	// revision that the count belongs to.
	Revision string `json:"revision"`
	// count of recreations because of failures.
	Count int32 `json:"count"`
	// lastAt is when the last recreation started.
	LastAt metav1.Time `json:"lastAt"`
	// reason of the last recreation.
	// +optional
	Reason string `json:"reason,omitempty"`
}

package v1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// LeaderWorkerSetSpec is the desired state of a LeaderWorkerSet.
//
// ---
// A rule below the root is skipped while the value it stands on is unchanged.
// That is not enough here: a rule about two fields of the spec would run again
// when a third one changes. So each says itself which inputs it looks at, and
// lets pass what the stored object already broke by the same inputs.
//
// +kubebuilder:validation:XValidation:rule="self.replicas * self.leaderWorkerTemplate.size <= 2147483647 || (oldSelf.hasValue() && self.replicas * self.leaderWorkerTemplate.size <= oldSelf.value().replicas * oldSelf.value().leaderWorkerTemplate.size)",message="replicas * leaderWorkerTemplate.size, the number of pods, must not exceed 2147483647",fieldPath=".replicas",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.scheduling) || self.scheduling.?schedulingPolicy.?basic.hasValue() || self.startupPolicy != 'LeaderReady' || (oldSelf.?scheduling.hasValue() && !oldSelf.?scheduling.?schedulingPolicy.?basic.hasValue() && oldSelf.value().startupPolicy == 'LeaderReady')",message="startupPolicy LeaderReady cannot be used with gang scheduling, which waits for all pods of a group to exist: use LeaderCreated, or scheduling.schedulingPolicy.basic",fieldPath=".startupPolicy",optionalOldSelf=true
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
	// +kubebuilder:default={type: RollingUpdate, rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 0, partition: 0}}
	RolloutStrategy RolloutStrategy `json:"rolloutStrategy,omitempty"`

	// startupPolicy says when the workers of a group are created:
	// LeaderCreated (default), right after the leader object exists;
	// LeaderReady, once the leader pod is Ready. Empty means the default.
	// +optional
	// +kubebuilder:default=LeaderCreated
	// +kubebuilder:validation:Enum=LeaderCreated;LeaderReady;""
	StartupPolicy StartupPolicyType `json:"startupPolicy"`

	// networkConfig says how the pods of a group find each other.
	// +optional
	// +kubebuilder:default={subdomainPolicy: Shared}
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
//
// ---
// Rules about subgroups look at size and subGroupPolicy only, as above. They
// read through optionals, since a stored policy may lack its size or have 0.
//
// +kubebuilder:validation:XValidation:rule="!has(self.subGroupPolicy) || self.subGroupPolicy.?subGroupSize.orValue(1) <= self.size || (oldSelf.?subGroupPolicy.hasValue() && oldSelf.value().size == self.size && oldSelf.value().subGroupPolicy == self.subGroupPolicy)",message="subGroupPolicy.subGroupSize must not exceed size",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.subGroupPolicy) || [self.subGroupPolicy.?subGroupSize.orValue(1)].all(n, n < 1 || n > self.size || self.size % n == 0 || (self.size - 1) % n == 0) || (oldSelf.?subGroupPolicy.hasValue() && oldSelf.value().size == self.size && oldSelf.value().subGroupPolicy == self.subGroupPolicy)",message="size or size-1 must be divisible by subGroupPolicy.subGroupSize",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.subGroupPolicy) || self.subGroupPolicy.?subGroupPolicyType.orValue('LeaderWorker') != 'LeaderExcluded' || [self.subGroupPolicy.?subGroupSize.orValue(1)].all(n, n < 1 || n > self.size || (self.size - 1) % n == 0) || (oldSelf.?subGroupPolicy.hasValue() && oldSelf.value().size == self.size && oldSelf.value().subGroupPolicy == self.subGroupPolicy)",message="size-1 must be divisible by subGroupPolicy.subGroupSize when subGroupPolicyType is LeaderExcluded",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.subGroupPolicy) == has(oldSelf.subGroupPolicy)",message="subGroupPolicy can be neither added nor removed after creation"
// +kubebuilder:validation:XValidation:rule="!has(self.subGroupPolicy) || !has(oldSelf.subGroupPolicy) || self.subGroupPolicy.?subGroupSize.orValue(0) == oldSelf.subGroupPolicy.?subGroupSize.orValue(0)",message="subGroupPolicy.subGroupSize is immutable"
// +kubebuilder:validation:XValidation:rule="!has(self.maxGroupRestarts) || self.restartPolicy in ['RecreateGroupOnPodRestart', 'RecreateGroupAfterStart'] || (oldSelf.?maxGroupRestarts.orValue(-1) == self.maxGroupRestarts && oldSelf.value().restartPolicy == self.restartPolicy)",message="maxGroupRestarts needs a restartPolicy that recreates groups: RecreateGroupOnPodRestart or RecreateGroupAfterStart",fieldPath=".maxGroupRestarts",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="size(self.?volumeClaimTemplates.orValue([])) == size(oldSelf.?volumeClaimTemplates.orValue([])) && (!has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)",message="volumeClaimTemplates cannot change after creation",fieldPath=".volumeClaimTemplates"
type LeaderWorkerTemplate struct {
	// leaderTemplate is the template of the leader pod (worker index 0). When
	// absent, workerTemplate serves for the leader too.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy in ['Always', ''] || oldSelf.?spec.?restartPolicy.orValue('') == self.spec.restartPolicy",message="restartPolicy must be Always or unset: leaderWorkerTemplate.restartPolicy says what happens when a pod fails",fieldPath=".spec.restartPolicy",optionalOldSelf=true
	LeaderTemplate *corev1.PodTemplateSpec `json:"leaderTemplate,omitempty"`

	// workerTemplate is the template of the worker pods (1 to size-1).
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy in ['Always', ''] || oldSelf.?spec.?restartPolicy.orValue('') == self.spec.restartPolicy",message="restartPolicy must be Always or unset: leaderWorkerTemplate.restartPolicy says what happens when a pod fails",fieldPath=".spec.restartPolicy",optionalOldSelf=true
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
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// persistentVolumeClaimRetentionPolicy says what becomes of the claims when
	// the set is deleted (whenDeleted) or scaled down (whenScaled): Retain
	// (default) or Delete.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.?whenDeleted.orValue('Retain') in ['Retain', 'Delete', ''] && self.?whenScaled.orValue('Retain') in ['Retain', 'Delete', '']",message="whenDeleted and whenScaled must be Retain or Delete"
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
	// +kubebuilder:default={maxUnavailable: 1, maxSurge: 0, partition: 0}
	RollingUpdateConfiguration *RollingUpdateConfiguration `json:"rollingUpdateConfiguration,omitempty"`
}

// RolloutStrategyType is the kind of a rollout.
type RolloutStrategyType string

// RollingUpdateStrategyType updates groups one after the other, within budgets.
const RollingUpdateStrategyType RolloutStrategyType = "RollingUpdate"

// RollingUpdateConfiguration holds the budgets of a rolling update, in groups.
//
// +kubebuilder:validation:XValidation:rule="![self.maxUnavailable, self.maxSurge].all(n, type(n) == int ? n == 0 : n.matches('^0+%$')) || (oldSelf.hasValue() && [oldSelf.value().maxUnavailable, oldSelf.value().maxSurge].all(n, type(n) == int ? n == 0 : n.matches('^0+%$')))",message="maxUnavailable and maxSurge must not both be 0: no group could ever be updated",optionalOldSelf=true
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
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^0*(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of groups, 0 or more, or a percentage from 0% to 100%, like 25%"
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is how many groups may exist above replicas during the update: a
	// number, or a percentage of replicas (rounded up).
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^0*(100|[1-9]?[0-9])%$')",message="maxSurge must be a number of groups, 0 or more, or a percentage from 0% to 100%, like 25%"
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
	// +kubebuilder:validation:XValidation:rule="has(self.single) != has(self.all)",message="disruptionMode must have either single or all"
	DisruptionMode *schedulingv1beta1.DisruptionMode `json:"disruptionMode,omitempty"`
	// resourceClaims are shared by the pods of a group.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(c, has(c.resourceClaimName) != has(c.resourceClaimTemplateName))",message="each of resourceClaims must have either resourceClaimName or resourceClaimTemplateName"
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	ResourceClaims []schedulingv1beta1.PodGroupResourceClaim `json:"resourceClaims,omitempty"`
}

// SchedulingPolicy is how the pods of a group are scheduled. At most one of its
// fields is set; none means gang.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.gang) && has(self.basic))",message="schedulingPolicy must not have both gang and basic"
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

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of groups whose pods all exist and have the
	// update revision, ready or not.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// replicas is the number of groups that exist.
	// +optional
	Replicas int32 `json:"replicas"`

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

	// establishedReplicas is the most groups that ever served at one time:
	// available, or Ready and waiting for their turn of an update. It falls only
	// with replicas. Updates never take the set below it by more than
	// maxUnavailable.
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
	// +optional
	Pending int32 `json:"pending"`
	// leaderReady: the leader is Ready, some worker does not exist yet.
	// +optional
	LeaderReady int32 `json:"leaderReady"`
	// workersStarting: all pods exist, some worker is not Ready.
	// +optional
	WorkersStarting int32 `json:"workersStarting"`
	// ready: all pods are Ready.
	// +optional
	Ready int32 `json:"ready"`
	// recycling: being torn down.
	// +optional
	Recycling int32 `json:"recycling"`
	// failed: the restart budget is spent.
	// +optional
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
	// RecycleReplace: its pods found no node where the group was placed.
	RecycleReplace RecycleCause = "Replace"
	// RecycleScaleDown: the group is no longer wanted.
	RecycleScaleDown RecycleCause = "ScaleDown"
)

// RecyclingGroup is a teardown under way.
type RecyclingGroup struct {
	// index of the group.
	Index int32 `json:"index"`
	// incarnation that is being torn down.
	Incarnation int64 `json:"incarnation"`
	// cause of the teardown: Failure, Update, Recycle, Replace or ScaleDown.
	Cause RecycleCause `json:"cause"`
	// revision at which the group is built again.
	Revision string `json:"revision"`
	// startedAt is when the teardown was decided.
	StartedAt metav1.Time `json:"startedAt"`
	// avoids are topology domains, as <key>=<value>, that the next leader keeps away from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Avoids []string `json:"avoids,omitempty"`
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
	// settled is how many of the count no longer delay the next recreation, since the
	// group has been Ready for long. Where there is no budget, the count is dropped
	// instead.
	// +optional
	Settled int32 `json:"settled,omitempty"`
	// reason of the last recreation.
	// +optional
	Reason string `json:"reason,omitempty"`
}

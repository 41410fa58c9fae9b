package v1

// Labels and annotations with the prefix of the published API. They are read
// by Services, autoscalers and platforms: neither keys nor values may change.
const (
	prefix = "leaderworkerset.sigs.k8s.io/"

	// LabelName: name of the set, on everything the controller makes.
	LabelName = prefix + "name"
	// LabelGroupIndex: index of the group, 0 for the first.
	LabelGroupIndex = prefix + "group-index"
	// LabelWorkerIndex: 0 for the leader, else the worker's index in its group.
	LabelWorkerIndex = prefix + "worker-index"
	// LabelGroupKey: SHA-1 of namespace and leader name, unique to a group.
	LabelGroupKey = prefix + "group-key"
	// LabelRevision: key of the revision that the object was made from.
	LabelRevision = prefix + "template-revision-hash"
	// LabelSubGroupIndex: index of the pod's subgroup.
	LabelSubGroupIndex = prefix + "subgroup-index"
	// LabelSubGroupKey: SHA-1 of leader name and subgroup index.
	LabelSubGroupKey = prefix + "subgroup-key"

	// AnnotationSize: pods per group, leader included, of the group's revision.
	AnnotationSize = prefix + "size"
	// AnnotationLeaderName: name of the leader pod, on workers only.
	AnnotationLeaderName = prefix + "leader-name"
	// AnnotationExclusiveTopology: node label key of the one-to-one placement
	// of groups and topology domains.
	AnnotationExclusiveTopology = prefix + "exclusive-topology"
	// AnnotationSubGroupSize: pods per subgroup.
	AnnotationSubGroupSize = prefix + "subgroup-size"
	// AnnotationSubGroupPolicyType: LeaderWorker or LeaderExcluded.
	AnnotationSubGroupPolicyType = prefix + "subgroup-policy-type"
	// AnnotationSubGroupExclusiveTopology: as exclusive-topology, per subgroup.
	AnnotationSubGroupExclusiveTopology = prefix + "subgroup-exclusive-topology"
	// AnnotationSubdomainPolicy: on leaders of sets with UniquePerReplica.
	AnnotationSubdomainPolicy = prefix + "subdomainPolicy"
	// AnnotationLeaderRequestsTPUs: "true" on workers whose leader holds TPUs.
	AnnotationLeaderRequestsTPUs = prefix + "leader-requests-tpus"
	// AnnotationRecreateAfterStart is the old spelling of the restart policy
	// RecreateGroupAfterStart, on the set.
	AnnotationRecreateAfterStart = prefix + "experimental-recreate-group-after-start"
	// AnnotationRecover: "true" on the set resets restart budgets.
	AnnotationRecover = prefix + "recover"
)

// Labels and annotations that are this project's own.
const (
	ownPrefix = "leaderworkerset.x-k8s.io/"

	// AnnotationIncarnation counts how often a group was built, on its pods.
	// Pods without it were adopted and count as incarnation 0.
	AnnotationIncarnation = ownPrefix + "incarnation"
	// AnnotationRestartsSeen is on leader pods of groups with the restart policy
	// RecreateGroupAfterStart, once every container of the group has started: how
	// many restarts of containers there were until then.
	AnnotationRestartsSeen = ownPrefix + "restarts-seen"
	// ConditionGroupReady is a condition on leader pods. It is absent until
	// the group has been Ready for the first time in its incarnation; from
	// then on its status says whether all pods of the group are Ready.
	ConditionGroupReady = ownPrefix + "GroupReady"

	topologyPrefix = "topology." + ownPrefix
	// AnnotationExclusiveScope: Namespace, Set or Cluster.
	AnnotationExclusiveScope = topologyPrefix + "exclusive-scope"
	// AnnotationColocate: node label key; a group stays inside one domain.
	AnnotationColocate = topologyPrefix + "colocate"
	// AnnotationReplaceAfter: duration of at least 30s; how long workers may stay without a
	// node before their group is recreated elsewhere. Absent: for ever.
	AnnotationReplaceAfter = topologyPrefix + "replace-after"
	// AnnotationAvoids is on leaders: the domains, as <key>=<value>, that they keep away
	// from since workers found no node there; separated by commas.
	AnnotationAvoids = topologyPrefix + "avoids"
)

// What Kueue marks that it manages.
const (
	// LabelKueueQueue is on sets.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// KueuePodSuspendingParent is a label or an annotation of pod templates.
	KueuePodSuspendingParent = "kueue.x-k8s.io/pod-suspending-parent"
)

// What Volcano goes by (https://volcano.sh/en/docs/podgroup/).
const (
	// VolcanoScheduler is the scheduler of pods that Volcano places.
	VolcanoScheduler = "volcano"
	// AnnotationVolcanoGroup is the PodGroup of a pod, on pods; Volcano reads its other
	// spelling too.
	AnnotationVolcanoGroup      = "scheduling.k8s.io/group-name"
	AnnotationVolcanoGroupOther = "scheduling.volcano.sh/group-name"
	// AnnotationVolcanoQueue is the queue of the groups, on sets.
	AnnotationVolcanoQueue = "scheduling.volcano.sh/queue-name"
	// VolcanoPrefix is that of annotations which PodGroups have from their set.
	VolcanoPrefix = "volcano.sh/"
	// VolcanoGang precedes the name of a PodGroup of Volcano where there may be native
	// ones too: the names of the two may meet.
	VolcanoGang = "volcano/"
)

// Values of AnnotationExclusiveScope: whose pods an exclusive placement keeps away.
// Anything else is as ExclusiveScopeNamespace.
const (
	// ExclusiveScopeNamespace: those of all LeaderWorkerSets of the namespace.
	ExclusiveScopeNamespace = "Namespace"
	// ExclusiveScopeSet: those of other groups of the same set.
	ExclusiveScopeSet = "Set"
	// ExclusiveScopeCluster: those of all LeaderWorkerSets.
	ExclusiveScopeCluster = "Cluster"
)

// Annotations on the set by which people steer its rollout.
const (
	rolloutPrefix = "rollout." + ownPrefix
	// AnnotationPaused: "true"; no further group is updated.
	AnnotationPaused = rolloutPrefix + "paused"
	// AnnotationPartition, AnnotationMaxUnavailable and AnnotationMaxSurge hold
	// instead of the fields of spec.rolloutStrategy: a number of groups or a
	// percentage of replicas.
	AnnotationPartition      = rolloutPrefix + "partition"
	AnnotationMaxUnavailable = rolloutPrefix + "max-unavailable"
	AnnotationMaxSurge       = rolloutPrefix + "max-surge"
	// AnnotationMinReady: duration; how long a group must have been Ready to
	// count as available.
	AnnotationMinReady = rolloutPrefix + "min-ready"
	// AnnotationProgressDeadline: duration; after so long without any move the
	// rollout is Stalled.
	AnnotationProgressDeadline = rolloutPrefix + "progress-deadline"
	// AnnotationRestartedAt: RFC 3339 time; all groups are restarted once. It is
	// also on the ControllerRevisions that were made since.
	AnnotationRestartedAt = rolloutPrefix + "restarted-at"
	// AnnotationUndo: "previous" or the number of a revision to go back to.
	AnnotationUndo = rolloutPrefix + "undo"
	// AnnotationRecycle: group indices and an RFC 3339 time, as in
	// 3,5-7@2026-12-01T10:00:00Z; these groups are recreated once.
	AnnotationRecycle = rolloutPrefix + "recycle"
	// AnnotationForceDeleteAfter: duration of at least 30s; how long after its
	// deletionTimestamp a pod is deleted by force whose node is not Ready.
	AnnotationForceDeleteAfter = rolloutPrefix + "force-delete-after"
	// AnnotationDisruptionBudget: how many whole groups a drain may take at a time.
	AnnotationDisruptionBudget = rolloutPrefix + "disruption-budget"
	// AnnotationHistoryLimit: how many revisions are kept besides those in use.
	AnnotationHistoryLimit = rolloutPrefix + "revision-history-limit"

	// AnnotationRecycledAt is the time of the recycle request that a pod was made
	// after, on pods.
	AnnotationRecycledAt = ownPrefix + "recycled-at"
	// AnnotationTemplateRestartedAt is where kubectl and Deployments record a
	// restart, in pod templates.
	AnnotationTemplateRestartedAt = "kubectl.kubernetes.io/restartedAt"
)

// Labels that StatefulSet pods carry and that consumers read.
const (
	LabelPodIndex           = "apps.kubernetes.io/pod-index"
	LabelPodName            = "statefulset.kubernetes.io/pod-name"
	LabelControllerRevision = "controller-revision-hash"
)

// Environment of every container. The first three come first, in this order.
const (
	EnvLeaderAddress = "LWS_LEADER_ADDRESS"
	EnvGroupSize     = "LWS_GROUP_SIZE"
	EnvWorkerIndex   = "LWS_WORKER_INDEX"
)

// Types of the conditions of a set.
const (
	// ConditionAvailable: every desired group is Ready, no update in progress.
	ConditionAvailable = "Available"
	// ConditionProgressing: some group is on its way, or an update in progress.
	ConditionProgressing = "Progressing"
	// ConditionUpdateInProgress: some group that should have the update
	// revision lacks it.
	ConditionUpdateInProgress = "UpdateInProgress"
	// ConditionDegraded: something needs a person; reason and message say what.
	ConditionDegraded = "Degraded"
	// ConditionRolloutPaused: an annotation holds the rollout.
	ConditionRolloutPaused = "RolloutPaused"
	// ConditionReconciling is kstatus' name for Progressing.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is kstatus' name for a rollout that is stuck.
	ConditionStalled = "Stalled"
)

// Reasons of conditions.
const (
	ReasonAllGroupsReady    = "AllGroupsReady"
	ReasonGroupsProgressing = "GroupsProgressing"
	ReasonGroupsUpdating    = "GroupsUpdating"
	// ReasonPaused: an annotation says so.
	ReasonPaused = "PausedByAnnotation"
	// ReasonBudgetExceeded: a group has failed more often than maxGroupRestarts allows.
	ReasonBudgetExceeded = "ReplicaRestartBudgetExceeded"
	// ReasonProgressDeadline: nothing has moved for as long as an annotation allows.
	ReasonProgressDeadline = "ProgressDeadlineExceeded"
	// ReasonNoDomain: workers cannot be bound to the topology domain of their leader.
	ReasonNoDomain = "NoTopologyDomain"
	// ReasonKueueUnsupported: Kueue is to admit the pods, which are therefore not created.
	ReasonKueueUnsupported = "KueueUnsupported"
	// ReasonSchedulingUnavailable: the set asks for a scheduling that the cluster lacks.
	ReasonSchedulingUnavailable = "SchedulingUnavailable"
	// ReasonSchedulingConflict: what the set says of scheduling cannot be together.
	ReasonSchedulingConflict = "SchedulingConflict"
	// ReasonPodsStuck: pods that are being deleted do not go.
	ReasonPodsStuck = "PodsStuckTerminating"
)

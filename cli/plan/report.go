package plan

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	v1 "lws-controller/api/v1"
)

// Snapshot is what a change is planned from.
type Snapshot struct {
	Now time.Time
	// Before is the set as it is stored, nil if there is none; After what the API
	// server would store.
	Before, After *v1.LeaderWorkerSet
	// Revisions, Pods and Services are those with the set's label.
	Revisions []*appsv1.ControllerRevision
	Pods      []corev1.Pod
	Services  []corev1.Service
	// PodGroups and Workloads are those with the set's label, NoGangs why there can be none.
	PodGroups []schedulingv1beta1.PodGroup
	Workloads []schedulingv1beta1.Workload
	NoGangs   string
	// Claims are all of the namespace; nil: not known.
	Claims []corev1.PersistentVolumeClaim
	// Nodes, and what Others run on them; nil Nodes: not known.
	Nodes  []corev1.Node
	Others []corev1.Pod
	Quotas []corev1.ResourceQuota
	// Notes are about what could not be read, or was not carried out.
	Notes []string
}

// Options are assumptions.
type Options struct {
	// AssumeBroken: no group of a new revision ever becomes Ready.
	AssumeBroken bool
	// AssumeRecovery: groups that are not Ready now become so.
	AssumeRecovery bool
	// Stopped says that nobody waits for the plan any more; nil: never.
	Stopped func() bool
}

// Report is what a change would do. Groups are named by index.
type Report struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Changes of the spec and of the annotations that steer rollouts.
	Changes  []string `json:"changes"`
	Revision Revision `json:"revision"`
	Replicas int32    `json:"replicas"`
	// Unavailable, Surge and Partition are in groups.
	Unavailable int32  `json:"unavailable"`
	Surge       int32  `json:"surge"`
	Partition   int32  `json:"partition"`
	Steps       []Step `json:"steps"`
	// Ready is the number of Ready groups before and after, and the lowest on the way.
	Ready Ready `json:"ready"`
	// Recreated is how many groups are taken down and come back.
	Recreated int `json:"recreated"`
	// AtLeast is how long it takes if pods need no time to go and to become Ready.
	AtLeast Duration `json:"atLeast"`
	// Ends says that all groups are Ready and where they should be in the end.
	Ends bool `json:"ends"`
	// Attention is what could hold the change up, or should be known.
	Attention []string `json:"attention"`
}

// Revision is the one that the changed spec has.
type Revision struct {
	Key string `json:"key"`
	// State is New, Reused (of an older spec) or Unchanged.
	State string `json:"state"`
}

// States of a Revision.
const (
	RevisionNew       = "New"
	RevisionReused    = "Reused"
	RevisionUnchanged = "Unchanged"
)

// Ready counts Ready groups, surge included.
type Ready struct {
	Before int32 `json:"before"`
	Lowest int32 `json:"lowest"`
	After  int32 `json:"after"`
}

// Step is what happens at one moment to some groups.
type Step struct {
	// After is when, given that pods need no time.
	After  Duration `json:"after"`
	Action string   `json:"action"`
	// Groups in the order in which they have their turn; all at once.
	Groups []int32 `json:"groups"`
	// Revision is the key at which they are made or come back, empty for those that
	// do not.
	Revision string `json:"revision,omitempty"`
	// SurgeGroups is how many groups above the replicas exist then, Ready how many
	// groups are Ready.
	SurgeGroups int32 `json:"surgeGroups"`
	Ready       int32 `json:"ready"`
}

// Actions of a Step.
const (
	ActionUpdate   = "Update"   // taken down, and comes back at the new revision
	ActionRecreate = "Recreate" // taken down because an annotation asks for it
	ActionFailed   = "Failed"   // taken down because it failed
	ActionRemove   = "Remove"   // taken down for good
	ActionCreate   = "Create"
	ActionSurge    = "Surge" // created above the replicas
	ActionStalled  = "Stalled"
)

// Duration is written as Go writes it.
type Duration struct{ time.Duration }

// MarshalText makes it readable in JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads it back.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

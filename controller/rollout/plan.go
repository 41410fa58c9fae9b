package rollout

import (
	"sort"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Template is what the planner needs of a revision.
type Template struct {
	Size          int32
	RestartPolicy v1.RestartPolicyType
	// MaxGroupRestarts is how often a group is recreated at most because of failures
	// that count; nil: as often as it takes.
	MaxGroupRestarts *int32
	Subdomain        v1.SubdomainPolicy
	// NodeSelector is that of the workers' template.
	NodeSelector map[string]string `json:",omitempty"`
	// ClaimsGo: claims go with the pods that are scaled down, or that a smaller size drops.
	ClaimsGo bool `json:",omitempty"`
	// Conflict is why the pods cannot be scheduled by a PodGroup, empty if they can.
	Conflict string `json:",omitempty"`
	// Workload is the one that PodGroups of groups of this revision refer to; empty:
	// their pods are not scheduled by PodGroups.
	Workload string `json:",omitempty"`
	// Volcano: the pods are scheduled by PodGroups of Volcano.
	Volcano bool `json:",omitempty"`
}

// Input is all that a plan depends on.
type Input struct {
	// Now is the one clock reading of the sync.
	Now time.Time
	// Replicas is the number of groups wanted.
	Replicas int32
	// Partition: groups with a lower index keep their revision.
	Partition int32
	// Budget of the rollout.
	Budget Budget
	// MinReady is how long a group must have been Ready to be available.
	MinReady time.Duration
	// Paused: no further group is taken to the update revision.
	Paused bool
	// ProgressDeadline is how long nothing may move while the set is on its way,
	// which it is since ProgressingSince; zero: for ever.
	ProgressDeadline time.Duration
	ProgressingSince time.Time
	// Recycle are groups that somebody wants recreated once.
	Recycle RecycleRequest
	// Unrecorded: teardowns cannot be put on record, so that none begins which can wait.
	Unrecorded bool `json:",omitempty"`
	// Withheld: no pod may be created, so that nothing is taken down either that would
	// have to be made again.
	Withheld bool `json:",omitempty"`
	// ForceDeleteAfter is how long after its deadline a pod is deleted by force whose
	// node is not Ready; zero: never.
	ForceDeleteAfter time.Duration
	// ReplaceAfter is how long workers may have no node where their leader is, or a
	// leader that avoids domains none at all, before the group is made anew; zero: for
	// ever.
	ReplaceAfter time.Duration `json:",omitempty"`
	// Nodes are those of the pods that are overdue, and of the leaders whose workers are
	// to follow them, by name, as far as they are known: without rights on nodes, none.
	Nodes map[string]group.Node
	// NodeLabels are the labels of the nodes of these leaders, as far as workers go by
	// them.
	NodeLabels map[string]map[string]string `json:",omitempty"`
	// DisruptionBudget is how many groups evictions may take down at a time; 0: no
	// budget is kept.
	DisruptionBudget int32
	// Established is the most wanted groups that ever served at one time; see Tally.
	Established int32
	// LeaderFirst: workers are created once the leader is Ready.
	LeaderFirst bool
	// Placed: workers of new groups follow their leader to its topology domain, so that
	// they are created once it is bound to a node.
	Placed bool `json:",omitempty"`
	// Current and Update are revision keys (CONTRACT: currentRevision,
	// updateRevision). Templates has every known revision by key.
	Current, Update string
	Templates       map[string]Template

	// Groups are the groups of which anything is known, by ascending index.
	Groups []group.View
	// Recycling are the teardowns under way, as they stand in the status.
	Recycling []v1.RecyclingGroup
	// Restarts are the restart counts, as they stand in the status.
	Restarts []v1.GroupRestarts

	// Services are the headless Services of the set that exist, by name.
	Services map[string]Service
	// SharedService and GroupService name the wanted Services.
	SharedService string
	GroupService  func(index int32) string `json:"-"`

	// PodGroups are those with the labels of the set's, Workloads too, by name.
	PodGroups map[string]PodGroup `json:",omitempty"`
	Workloads map[string]Service  `json:",omitempty"`
	// PodGroupName and VolcanoName name the wanted PodGroups.
	PodGroupName func(index int32, incarnation int64) string `json:"-"`
	VolcanoName  func(index int32, revision string) string   `json:"-"`

	// Held says until when nothing is created for a group, because the API server
	// refused its pods or something foreign holds its names.
	Held map[int32]time.Time
	// MaxWrites is how many creates and deletes of pods a plan may hold.
	MaxWrites int
	// MaxEntries is how many teardowns may be under way at one time.
	MaxEntries int
}

// Plan is what to do now. The parts are carried out in the order of the fields;
// independent groups in parallel.
type Plan struct {
	// Recycling are all teardowns under way, new ones included, and Restarts all
	// restart counts. If Ahead is set, they must stand in the stored status
	// before anything below is carried out.
	Recycling []v1.RecyclingGroup
	Restarts  []v1.GroupRestarts
	Ahead     bool
	// Started are the teardowns that this plan begins, for events.
	Started []Recycle

	// Disruption is what the PodDisruptionBudget of the set is to say; nil: there is
	// to be none. It is written before the teardowns that this plan begins are put
	// on record, and those of our own choice wait for that.
	Disruption *DisruptionBudget

	// Delete are pods to be deleted, with their UID as precondition.
	Delete []Deletion
	// Force are pods to be deleted with no grace. Before each its node is read live, and
	// WhyForce has the last word.
	Force []Forced
	// DeleteServices are Services that no group needs any more.
	DeleteServices []string
	// CreateServices come before the pods of the groups that need them; where
	// one fails, those groups wait.
	CreateServices []ServiceWanted
	// DeletePodGroups are PodGroups of incarnations that have no pod left, DeleteWorkloads
	// those that no PodGroup refers to.
	DeletePodGroups []GangGone `json:",omitempty"`
	DeleteWorkloads []string   `json:",omitempty"`
	// CreateWorkloads come before the PodGroups that refer to them, CreatePodGroups before
	// the pods of their groups. Where one fails, those groups wait. One that exists may be
	// among them, when no pod refers to it yet: it has to be there really, and be right.
	CreateWorkloads []GangWanted `json:",omitempty"`
	CreatePodGroups []GangWanted `json:",omitempty"`
	// UpdatePodGroups are those that are not as they should be any more.
	UpdatePodGroups []GangWanted `json:",omitempty"`
	// Create are the groups that get pods. If the group's leader is among them,
	// it is created first and the workers only once it was accepted.
	Create []Creation
	// Mark are leaders whose GroupReady condition is to be written.
	Mark []Mark
	// Start are leaders that are to say that their group has started.
	Start []Start

	// Blocked are groups whose pods wait for an object that is not the set's.
	Blocked []Blocked
	// Stalled: nothing has moved for longer than the deadline allows.
	Stalled bool

	// Partial: there is more to do than fits one plan; plan again at once.
	Partial bool
	// WakeAt is when time alone changes the plan; zero: never.
	WakeAt time.Time
}

// Recycle is the decision to tear a group down.
type Recycle struct {
	Entry   v1.RecyclingGroup
	Failure *group.Failure
}

// Deletion is one pod to be deleted.
type Deletion struct {
	Index int32
	Pod   group.PodRef
	Why   string
}

// Creation is one group that gets pods.
type Creation struct {
	Index    int32
	Revision string
	// Lost is the revision at which the group should be built, and cannot be since
	// its object is gone; mostly empty.
	Lost        string
	Incarnation int64
	// Workers are the indices to create, 0 is the leader. They ascend.
	Workers []int32
	// Verify: pods of an earlier incarnation may live on unseen under one of the
	// names, having lost their labels: read each live before the first create.
	Verify bool
	// Service is the name of the Service the pods rely on.
	Service string
	// RecycledAt is the time of the request that names the group, which its pods
	// carry; zero without one.
	RecycledAt time.Time
	// Domain are the node labels that the nodes of the workers must have.
	Domain map[string]string `json:",omitempty"`
	// Gang is the PodGroup that the pods are scheduled by; mostly empty.
	Gang string `json:",omitempty"`
	// Avoids are the domains, as key=value, that the leader keeps away from.
	Avoids []string `json:",omitempty"`
}

// Mark is a GroupReady condition to be written.
type Mark struct {
	Index  int32
	Leader group.PodRef
	Ready  bool
}

// Start is the number of restarts to be written on a leader when every container of
// its group has started.
type Start struct {
	Index  int32
	Leader group.PodRef
	// Version of the leader: what stands on a newer one is newer.
	Version  string
	Restarts int64
}

// Blocked is a group that waits until an object that is not the set's gives a
// name free, or shows where workers are to go.
type Blocked struct {
	Index int32
	Kind  string // pod, service, claim, node, podgroup, workload or revision
	Name  string
	Why   string
}

// planner is the work in progress of one call of Make.
type planner struct {
	Input
	Plan
	// entries are the teardowns under way, recorded all that the status lists.
	entries  map[int32]*v1.RecyclingGroup
	recorded map[int32]*v1.RecyclingGroup
	restarts map[int32]*v1.GroupRestarts
	// frozen are groups whose entry is not understood: nothing is done to them.
	frozen map[int32]bool
	at     progress
	// podGroups are the names of the PodGroups of each group.
	podGroups map[int32][]string
	// surge are the indices above replicas that are wanted.
	surge  map[int32]bool
	alive  int32
	writes int
}

// Make plans. It is total and deterministic.
func Make(in Input) Plan {
	p := &planner{Input: in}
	p.settleEntries()
	p.addGone()
	p.settleRestarts()
	p.survey()
	p.setStalled()
	p.setSurge()
	p.recycle()
	p.replace()
	p.update()
	p.recreate()
	p.disrupt()
	p.deletePods()
	p.force()
	p.services()
	p.create()
	p.gangs()
	p.mark()
	p.collect()
	return p.Plan
}

// Settled is what stands in the status when nothing new is decided.
type Settled struct {
	Recycling []v1.RecyclingGroup
	Restarts  []v1.GroupRestarts
	Stalled   bool
	// Stuck are the groups with pods that should have ended.
	Stuck []Stuck
}

// Settle returns the teardowns and restart counts that are still to stand in the
// status, and whether the set is stalled, without deciding anything new.
func Settle(in Input) Settled {
	p := &planner{Input: in}
	p.settleEntries()
	p.settleRestarts()
	p.setStalled()
	p.collect()
	return Settled{p.Plan.Recycling, p.Plan.Restarts, p.Stalled, stuckGroups(&p.Input)}
}

// wanted says that the index is to exist, as one of the replicas or as surge.
func (p *planner) wanted(index int32) bool { return index < p.Replicas || p.surge[index] }

// end is the first index that no group may have, and how many groups may be alive.
func (p *planner) end() int32 { return p.Replicas + p.Budget.Surge }

// view is what is known of the pods of a group, nil if nothing is.
func (p *planner) view(index int32) *group.View {
	i := sort.Search(len(p.Groups), func(i int) bool { return p.Groups[i].Index >= index })
	if i == len(p.Groups) || p.Groups[i].Index != index {
		return nil
	}
	return &p.Groups[i]
}

// spend takes n writes from the plan's limit. A plan that is empty takes any
// number, since otherwise a group larger than the limit could never be deleted.
func (p *planner) spend(n int) bool {
	if p.writes > 0 && p.writes+n > p.MaxWrites {
		p.Partial = true
		return false
	}
	p.writes += n
	return true
}

// wake asks for another plan at the given time.
func (p *planner) wake(at time.Time) {
	if p.WakeAt.IsZero() || at.Before(p.WakeAt) {
		p.WakeAt = at
	}
}

// Service is an existing Service as the planner sees it.
type Service struct {
	// Unusable says why pods cannot rely on it, and why it is not the planner's
	// to remove; empty for one that is the set's.
	Unusable string
	// Leaving: it will be gone by itself, there is nothing to report.
	Leaving bool
	// Ours: it is the set's, though it cannot be used, and may be made anew.
	Ours bool `json:",omitempty"`
}

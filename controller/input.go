package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// Known is what is known of a set at one moment, in the form that plans are made from.
type Known struct {
	// Set is the set as it is stored, Steering what its annotations ask for.
	Set      *v1.LeaderWorkerSet
	Steering rollout.Steering
	// History are its revisions; Update and Current the keys of that of the present
	// spec and of that at which the last rollout ended.
	History         *revision.History
	Update, Current string
	// Unstored: there is no revision of the present spec, nor can there be. Update is
	// the last one there was, if any.
	Unstored bool
	// AllowKueueUnmanaged: pods of sets that Kueue manages are created like others.
	AllowKueueUnmanaged bool
	// NoGangs is why PodGroups cannot be used, empty if they can.
	NoGangs string
	// Volcano: sets that use it get PodGroups of it. NoVolcano is why these cannot be
	// used, empty if they can.
	Volcano   bool
	NoVolcano string
	// Groups are those of which anything is known, by ascending index.
	Groups []group.View
	// Services are those that exist or whose names are taken.
	Services map[string]rollout.Service
	// PodGroups and Workloads are those with the labels of the set's.
	PodGroups map[string]rollout.PodGroup
	Workloads map[string]rollout.Service
}

// Input is what the planner gets to know at the given time.
func (k *Known) Input(now time.Time) rollout.Input {
	r := k.Steering.Rolling(&k.Set.Spec, replicasOf(k.Set))
	in := rollout.Input{
		Now:       now,
		Replicas:  replicasOf(k.Set),
		Partition: *r.Partition,
		Budget:    rollout.NewBudget(replicasOf(k.Set), r.MaxUnavailable, r.MaxSurge),
		MinReady:  k.Steering.MinReady,
		Paused:    k.Steering.Paused || k.Unstored,
		Recycle:   k.Steering.Recycle,
		Withheld:  k.Withheld() != nil,

		ForceDeleteAfter: k.Steering.ForceDeleteAfter,
		ReplaceAfter:     k.Steering.ReplaceAfter,
		DisruptionBudget: k.Steering.DisruptionBudget,

		ProgressDeadline: k.Steering.ProgressDeadline,
		ProgressingSince: progressingSince(&k.Set.Status, k.Update, now),

		Established:   k.Set.Status.EstablishedReplicas,
		LeaderFirst:   k.Set.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy,
		Placed:        len(v1.DomainKeys(k.Set.Annotations)) > 0,
		Current:       k.Current,
		Update:        k.Update,
		Templates:     Templates(k.Set, k.History, k.Volcano),
		Groups:        k.Groups,
		Recycling:     k.Set.Status.Recycling,
		Restarts:      k.Set.Status.GroupRestarts,
		Services:      k.Services,
		SharedService: topology.ServiceName(k.Set.Name, 0, v1.SubdomainShared),
		GroupService: func(index int32) string {
			return topology.ServiceName(k.Set.Name, index, v1.SubdomainUniquePerReplica)
		},
		PodGroups: k.PodGroups,
		Workloads: k.Workloads,
		PodGroupName: func(index int32, incarnation int64) string {
			return topology.PodGroupName(k.Set.Name, index, incarnation)
		},
		VolcanoName: func(index int32, revision string) string { return topology.VolcanoName(k.Set.Name, index, revision) },
		Held:        map[int32]time.Time{},
		MaxWrites:   syncWrites,
		MaxEntries:  maxEntries,
	}
	return in
}

// Templates are what the planner needs of the revisions of a set, by key. volcano: sets
// that use Volcano get its PodGroups.
func Templates(set *v1.LeaderWorkerSet, history *revision.History, volcano bool) map[string]rollout.Template {
	out := map[string]rollout.Template{}
	for _, r := range history.Revisions() {
		g := GroupOf(set, r, 0, 0)
		out[r.Key] = rollout.Template{Size: g.Size(), RestartPolicy: restartPolicy(set, r),
			MaxGroupRestarts: r.Template.MaxGroupRestarts, Subdomain: g.SubdomainPolicy(),
			NodeSelector: r.Template.WorkerTemplate.Spec.NodeSelector, Workload: g.WorkloadName(), ClaimsGo: claimsGo(r),
			Volcano: volcano && g.UsesVolcano()}
		if set.Spec.Scheduling != nil {
			t := out[r.Key]
			t.Conflict = topology.GangConflict(&r.Template)
			out[r.Key] = t
		}
	}
	return out
}

// restartPolicy is that of a revision. The annotation that was the first spelling of
// RecreateGroupAfterStart is the set's, and so holds for all revisions whose policy
// is the default one: it makes that wait for the start, and recreates nothing under
// other policies.
func restartPolicy(set *v1.LeaderWorkerSet, r *revision.Revision) v1.RestartPolicyType {
	switch policy := r.Template.RestartPolicy; {
	case policy != "" && policy != v1.RecreateGroupOnPodRestart:
		return policy
	case set.Annotations[v1.AnnotationRecreateAfterStart] == "true":
		return v1.RecreateGroupAfterStart
	default:
		return v1.RecreateGroupOnPodRestart
	}
}

// GroupOf builds objects for a group at a revision.
func GroupOf(set *v1.LeaderWorkerSet, r *revision.Revision, index int32, incarnation int64) *topology.Group {
	return &topology.Group{Set: set, Template: &r.Template, Network: &r.Network, Revision: r.Key, Index: index, Incarnation: incarnation}
}

func replicasOf(set *v1.LeaderWorkerSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// progressingSince is from when on something should move, zero if the set is not on
// its way: it set out, got another revision, or went on after a pause. What has just
// changed shows in the status only once that is written.
func progressingSince(s *v1.LeaderWorkerSetStatus, update string, now time.Time) time.Time {
	progressing := isTrue(s, v1.ConditionProgressing)
	switch {
	case progressing == nil:
		return time.Time{}
	case s.UpdateRevision != update, isTrue(s, v1.ConditionRolloutPaused) != nil:
		return now
	}
	since := progressing.LastTransitionTime.Time
	for _, over := range []string{v1.ConditionStalled, v1.ConditionRolloutPaused} {
		if c := meta.FindStatusCondition(s.Conditions, over); c != nil && c.LastTransitionTime.After(since) && c.Status == metav1.ConditionFalse {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// known is what the planner needs of the memory.
func (m *memory) known() *Known {
	k := &Known{Set: m.set, Steering: m.steering, History: m.history, Update: m.update, Current: m.current, Unstored: m.unstored.tries > 0,
		Groups: make([]group.View, 0, len(m.groups))}
	for _, t := range m.groups {
		k.Groups = append(k.Groups, t.view)
	}
	return k
}

func (m *memory) replicas() int32 { return replicasOf(m.set) }

func (m *memory) budget() rollout.Budget {
	r := m.steering.Rolling(&m.set.Spec, m.replicas())
	return rollout.NewBudget(m.replicas(), r.MaxUnavailable, r.MaxSurge)
}

// entries are the teardowns on record, by group.
func (m *memory) entries() map[int32]*v1.RecyclingGroup {
	out := make(map[int32]*v1.RecyclingGroup, len(m.set.Status.Recycling))
	for i := range m.set.Status.Recycling {
		out[m.set.Status.Recycling[i].Index] = &m.set.Status.Recycling[i]
	}
	return out
}

// judged is what single groups are judged by.
func (m *memory) judged() rollout.Input {
	in := rollout.Input{Restarts: m.set.Status.GroupRestarts}
	if m.history != nil {
		in.Templates = Templates(m.set, m.history, false) // whoever places them
	}
	return in
}

func (m *memory) sizes() map[string]int32 {
	sizes := map[string]int32{}
	for _, r := range m.history.Revisions() {
		sizes[r.Key] = m.groupOf(r, 0, 0).Size()
	}
	return sizes
}

// input is what the planner gets to know.
func (c *Controller) input(m *memory, now time.Time) rollout.Input {
	k := m.known()
	k.Services, k.AllowKueueUnmanaged, k.NoGangs = c.services(m, now), c.AllowKueueUnmanaged, c.Cache.NoGangs()
	if c.Volcano {
		k.Volcano, k.NoVolcano = true, c.Cache.NoVolcano()
	}
	k.PodGroups, k.Workloads = c.podGroups(m), c.workloads(m)
	c.withhold(m, k.Withheld())
	in := k.Input(now)
	c.nodes(m, &in)
	in.Unrecorded = m.pruned != nil
	for index, h := range m.held {
		in.Held[index] = h.until
	}
	return in
}

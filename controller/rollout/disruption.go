package rollout

import (
	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// DisruptionBudget is what the PodDisruptionBudget of a set is to say: of the pods
// of these groups so many must stay.
type DisruptionBudget struct {
	// Groups are those whose pods the budget selects, ascending.
	Groups []int32
	// MinAvailable is the number of their pods, or one less where an eviction is let
	// through.
	MinAvailable int32
}

// disrupt decides what evictions may take. With d = the groups that they may take
// down at a time and E = established:
//
//	selected     = groups that are wanted, Ready, and not being torn down
//	down         = min(replicas, E) - selected with an index below replicas
//	minAvailable = pods of the selected - (1 if down < d, else 0)
//
//	replicas 4, size 3, E 4, d 1, all Ready:            0-3, 11
//	replicas 4, size 3, E 4, d 1, group 2 recreated:    0 1 3, 9
//	replicas 4, size 3, E 4, d 2, group 2 recreated:    0 1 3, 8
//	replicas 4, size 3, E 2, d 1, 2 and 3 never Ready:  0 1, 5
//
// So one eviction is open at a time. It condemns its group, which leaves the
// selector and is torn down; no budget selects what is left of it, and the drain
// goes on. Whatever makes a group go down counts, as under any disruption budget: a
// rollout, a failure, a node. A surge group is selected, but makes up for none that is
// down. A group that has never been there is not down: nobody relies on it yet.
//
// A budget that was right when it was written stays safe, however old it is: it lets
// an eviction through only while every pod that it selects is Ready, and then the
// groups that are down are among those that it does not select, of which there were
// fewer than d. Nor is there a moment between two budgets: the API server refuses
// every eviction while the budget's status is older than its spec (observedGeneration
// below generation), and kube-controller-manager computes both numbers of a status
// from one spec.
//
// Where the policy of a group is None, its pods are replaced one by one, and each is
// worth keeping by itself: the group stays selected, all its pods are counted as if
// they were there, and so no other is let go while one is missing or not Ready.
func (p *planner) disrupt() {
	if p.DisruptionBudget < 1 {
		return
	}
	b := &DisruptionBudget{}
	pods, standing, there := int32(0), int32(0), int32(0)
	for i := range p.Groups {
		v := &p.Groups[i]
		if p.ready(v) && v.Index < p.Replicas {
			there++ // also one that this plan takes down
		}
		if !v.HasPods || p.entries[v.Index] != nil || !p.wanted(v.Index) || !p.ready(v) && !p.podwise(v) {
			continue
		}
		b.Groups = append(b.Groups, v.Index)
		pods += v.Size
		if p.ready(v) && v.Index < p.Replicas {
			standing++
		}
	}
	down := min(p.Replicas, max(p.Established, there)) - standing
	b.MinAvailable = pods
	if down < p.DisruptionBudget && pods > 0 {
		b.MinAvailable--
	}
	p.Disruption = b
}

// podwise says that the pods of a group that has been Ready are replaced one by one.
func (p *planner) podwise(v *group.View) bool {
	policy := p.restartPolicy(v)
	return v.EverReady() && (policy == v1.NoneRestartPolicy || policy == v1.DefaultRestartPolicy)
}

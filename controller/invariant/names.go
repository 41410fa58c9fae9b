package invariant

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
	"lws-controller/topology"
)

// reasonNameTaken is the reason of Degraded where something else holds a name.
const reasonNameTaken = "NameTaken"

// theSet is the index that stands for what belongs to no group.
const theSet = -1

// waits says which groups of a set wait for names that something else holds, and
// for which. Surge groups are waited for only while there is something to update.
func (c *Checker) waits(s *v1.LeaderWorkerSet, update *revision.Revision, groups map[int32][]*corev1.Pod) map[int32]string {
	out := map[int32]string{}
	if subdomain(update) == v1.SubdomainShared && c.serviceTaken(s, s.Name) {
		out[theSet] = "service " + s.Name
	}
	end := replicas(s)
	for index, mates := range groups {
		if index >= partition(s) && revisionOf(mates[0]) != update.Key && !steering(s).Paused {
			_, surge := budget(s)
			end = replicas(s) + surge
		}
	}
	history, _ := revision.NewHistory(c.ownedRevisions(s))
	for index := range end {
		builtAt := update
		if current := history.ByKey(s.Status.CurrentRevision); current != nil && (index < partition(s) || steering(s).Paused) {
			builtAt = current
		}
		if taken := c.inTheWay(s, builtAt, index, groups[index]); taken != "" && !whollyReady(groups[index]) {
			out[index] = taken
		}
	}
	return out
}

// inTheWay names an object that the set does not control and that holds a name
// which the group lacks, or will lack once it is built: one of its pods, a claim of one, or its Service. Empty: there is none.
func (c *Checker) inTheWay(s *v1.LeaderWorkerSet, builtAt *revision.Revision, index int32, mates []*corev1.Pod) string {
	n, service := int(sizeAt(builtAt)), topology.ServiceName(s.Name, index, subdomain(builtAt))
	if len(mates) > 0 {
		n, service = size(mates), mates[0].Spec.Subdomain
		leader := c.pods[types.NamespacedName{Namespace: s.Namespace, Name: topology.LeaderName(s.Name, index)}]
		if s.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy && leader != nil && !isReady(leader) && groupReady(leader) == nil {
			n = 1 // the workers' turn has not come
		}
	}
	for worker := range int32(n) {
		name := topology.PodName(s.Name, index, worker)
		if p := c.pods[types.NamespacedName{Namespace: s.Namespace, Name: name}]; p != nil && owner(p) != s.UID {
			return "pod " + name
		}
		for _, template := range builtAt.Template.VolumeClaimTemplates {
			claim := topology.ClaimName(template.Name, name)
			if o := c.claims[types.NamespacedName{Namespace: s.Namespace, Name: claim}]; o != nil && owner(o) != "" && owner(o) != s.UID {
				return "claim " + claim
			}
		}
	}
	if c.serviceTaken(s, service) {
		return "service " + service
	}
	return ""
}

// serviceTaken says that a Service of this name exists which the set does not
// control.
func (c *Checker) serviceTaken(s *v1.LeaderWorkerSet, name string) bool {
	service := c.services[types.NamespacedName{Namespace: s.Namespace, Name: name}]
	return service != nil && owner(service) != s.UID
}

// serviceLost says that something else holds the name of a Service which Ready groups
// name: they go on, and the set says that it is Degraded.
func (c *Checker) serviceLost(s *v1.LeaderWorkerSet, groups map[int32][]*corev1.Pod) bool {
	for _, mates := range groups {
		if c.serviceTaken(s, mates[0].Spec.Subdomain) {
			return true
		}
	}
	return false
}

func sizeAt(r *revision.Revision) int32 {
	if r.Template.Size == nil {
		return 1
	}
	return *r.Template.Size
}

// restingBlocked checks that a set which waits for names says so, and does not
// look as if all were well.
func (c *Checker) restingBlocked(s *v1.LeaderWorkerSet, waits map[int32]string, add adder) {
	c.count("L1 blocked")
	d := meta.FindStatusCondition(s.Status.Conditions, v1.ConditionDegraded)
	if d == nil || d.Status != "True" || d.Reason != reasonNameTaken {
		add("S17", "set %s waits for %v, and does not say so: %+v", s.Name, waits, d)
	}
	if _, only := waits[theSet]; only && len(waits) == 1 {
		return // it has all the groups that it is to have
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1.ConditionAvailable) {
		add("S17", "set %s waits for %v and is Available", s.Name, waits)
	}
}

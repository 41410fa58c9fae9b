package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
	"lws-controller/topology"
)

// AtRest checks what must hold once nothing happens any more by itself: L1, L5
// and L6, and that the status is a recount (S17). bad says of a revision that its
// pods can never become Ready.
func (c *Checker) AtRest(bad func(*revision.Content) bool) []Violation {
	before := len(c.violations)
	add := c.adder()
	c.leftovers(add)
	for _, key := range slices.SortedFunc(maps.Keys(c.sets), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		c.converged(c.sets[key], bad, add)
	}
	return c.violations[before:]
}

type adder func(number, format string, args ...any)

// adder notes violations.
func (c *Checker) adder() adder {
	return func(number, format string, args ...any) {
		c.violations = append(c.violations, Violation{number, fmt.Sprintf(format, args...)})
	}
}

// leftovers checks that nothing is left that belongs to a set which is gone.
func (c *Checker) leftovers(add adder) {
	c.count("L5")
	c.count("L6")
	alive := map[types.UID]bool{}
	for _, s := range c.sets {
		alive[s.UID] = true
	}
	check := func(o Object) {
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == v1.Kind && !alive[ref.UID] {
			add("L5", "%T %s is left of a set that is gone", o, o.GetName())
		}
	}
	for _, p := range c.podsNow() {
		check(p)
	}
	for _, s := range c.services {
		check(s)
	}
	for _, b := range c.budgets {
		check(b)
	}
	for _, r := range c.revisions {
		check(r)
	}
}

// converged checks that a set is what its spec says.
func (c *Checker) converged(s *v1.LeaderWorkerSet, bad func(*revision.Content) bool, add adder) {
	if terminating(s) {
		add("L1", "set %s is still terminating", s.Name)
		return
	}
	c.count("L1")
	update := c.updateRevision(s)
	if update == nil {
		add("L1", "set %s has no revision of its spec", s.Name)
		return
	}
	stuck := bad(&update.Content)
	groups := groupsOf(c.podsNow(), s.UID)
	waits := c.waits(s, update, groups)
	first, paused := partition(s), steering(s).Paused
	ready, updated, stuckGroups := int32(0), int32(0), false
	spent := int32(0)
	for index, mates := range groups {
		if c.spent(s, index, mates) {
			spent++
		}
	}
	held := len(waits) > 0 || spent > 0 // some of the budget is taken for good
	for index := range replicas(s) {
		mates := groups[index]
		if c.spent(s, index, mates) {
			// It stays as it is.
		} else if whollyReady(mates) {
			ready++
			c.nothingOverlooked(s, index, mates, add)
		} else if waits[index] != "" {
			// It takes from the budget, and may keep others at an old revision.
		} else if stuck || c.isBad(s, mates, bad) {
			stuckGroups = true // below the partition too
		} else {
			add("L1", "group %d of %s is not Ready at rest: %s", index, s.Name, describe(mates))
		}
		if len(mates) == 0 {
			continue
		}
		if revisionOf(mates[0]) == update.Key {
			if len(mates) == size(mates) {
				updated++
			}
		} else if index >= first && !stuck && !paused && !held {
			add("L1", "group %d of %s has revision %s, not %s", index, s.Name, revisionOf(mates[0]), update.Key)
		}
	}
	_, surge := budget(s)
	for index, mates := range groups {
		if index >= replicas(s) && whollyReady(mates) { // in a pause
			ready++
			if revisionOf(mates[0]) == update.Key {
				updated++
			}
		}
		if index >= replicas(s)+surge || index >= replicas(s) && !stuck && !paused && !held {
			add("L1", "group %d of %s is left over", index, s.Name)
		}
	}
	if spent > 0 {
		c.restingSpent(s, spent, add)
	} else if len(waits) > 0 && !stuck && !stuckGroups {
		c.restingBlocked(s, waits, add)
	} else if !stuck && !stuckGroups {
		c.recount(s, ready, updated, add)
		if !c.serviceLost(s, groups) {
			c.restingStatus(s, add)
		}
	}
	blocked := len(waits) > 0
	if stuck || paused || spent > 0 {
		// Groups that would be surge are not made, but wanted.
		for index := range surge {
			waits[replicas(s)+index] = "is withheld"
		}
	}
	c.restingServices(s, groups, waits, add)
	c.restingGangs(s, waits, add)
	if spent == 0 { // else groups are left as they are, and count as down
		c.restingBudget(s, groups, add)
	}
	if !stuck && !stuckGroups && spent == 0 {
		c.restingSteering(s, groups, blocked, add)
	}
}

// nothingOverlooked checks that no failure was left as it is: where one pod that
// restarts means all, no group at rest has one that did (S11).
func (c *Checker) nothingOverlooked(s *v1.LeaderWorkerSet, index int32, mates []*corev1.Pod, add adder) {
	if policy, _ := c.policyOf(s, revisionOf(mates[0])); policy != v1.RecreateGroupOnPodRestart {
		return
	}
	c.count("S11")
	for _, p := range mates {
		if restarts(p) > 0 {
			add("S11", "pod %s has restarted, and group %d of %s was not recreated", p.Name, index, s.Name)
		}
	}
}

// isBad says that the pods of a group have a revision that can never be Ready.
func (c *Checker) isBad(s *v1.LeaderWorkerSet, mates []*corev1.Pod, bad func(*revision.Content) bool) bool {
	history, _ := revision.NewHistory(c.ownedRevisions(s))
	if len(mates) == 0 {
		return false
	}
	r := history.ByKey(revisionOf(mates[0]))
	if r == nil { // what it said of the containers, its pods still say
		lost := &revision.Content{}
		lost.Template.WorkerTemplate.Spec = mates[0].Spec
		return bad(lost)
	}
	return bad(&r.Content)
}

// recount compares the numbers of the status with the objects.
func (c *Checker) recount(s *v1.LeaderWorkerSet, ready, updated int32, add adder) {
	exist := int32(0)
	_, surge := budget(s)
	for index := range replicas(s) + surge {
		if p := c.pods[types.NamespacedName{Namespace: s.Namespace, Name: topology.LeaderName(s.Name, index)}]; p != nil && owner(p) == s.UID {
			exist++
		}
	}
	got, want := [3]int32{s.Status.Replicas, s.Status.ReadyReplicas, s.Status.UpdatedReplicas}, [3]int32{exist, ready, updated}
	if got != want {
		add("S17", "status of %s says %v groups exist, are ready, are updated; there are %v", s.Name, got, want)
	}
	if s.Status.ObservedGeneration != s.Generation {
		add("S17", "status of %s is of generation %d, not %d", s.Name, s.Status.ObservedGeneration, s.Generation)
	}
}

// restingStatus checks what the status of a set says when all is done.
func (c *Checker) restingStatus(s *v1.LeaderWorkerSet, add adder) {
	if len(s.Status.Recycling) > 0 {
		add("L1", "teardowns are still on record for %s: %v", s.Name, s.Status.Recycling)
	}
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1.ConditionAvailable) {
		add("S17", "set %s has come to rest and is not Available: %+v", s.Name, s.Status.Conditions)
	}
	for _, kind := range []string{v1.ConditionProgressing, v1.ConditionUpdateInProgress, v1.ConditionDegraded, v1.ConditionReconciling, v1.ConditionStalled} {
		if meta.IsStatusConditionTrue(s.Status.Conditions, kind) {
			add("S17", "set %s has come to rest and is %s", s.Name, kind)
		}
	}
}

// restingServices checks that each group has the Service its pods name, and that
// none is left, except for groups that wait for names or are withheld.
func (c *Checker) restingServices(s *v1.LeaderWorkerSet, groups map[int32][]*corev1.Pod, waits map[int32]string, add adder) {
	need, awaited := map[string]bool{}, map[string]bool{}
	for index := range waits {
		awaited[topology.LeaderName(s.Name, index)] = true
	}
	if update := c.updateRevision(s); update != nil && subdomain(update) == v1.SubdomainShared {
		need[s.Name] = true
	}
	kept := map[string]bool{}
	for index, mates := range groups {
		at := place{set: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, uid: s.UID}
		if len(mates) > 0 && c.revision(at, revisionOf(mates[0])) == nil {
			// Nobody knows any more which it needs: what there was stays.
			kept[s.Name], kept[topology.LeaderName(s.Name, index)] = true, true
			continue
		}
		for _, p := range mates {
			need[p.Spec.Subdomain] = true
		}
	}
	for name := range need {
		service := c.services[types.NamespacedName{Namespace: s.Namespace, Name: name}]
		if !c.serviceTaken(s, name) && (service == nil || owner(service) != s.UID) {
			add("L1", "service %s of %s is missing", name, s.Name)
		}
	}
	for _, service := range c.services {
		if owner(service) == s.UID && !need[service.Name] && !kept[service.Name] && !awaited[service.Name] {
			add("L1", "service %s of %s is left over", service.Name, s.Name)
		}
	}
}

func subdomain(r *revision.Revision) v1.SubdomainPolicy {
	if r.Network.SubdomainPolicy == nil {
		return v1.SubdomainShared
	}
	return *r.Network.SubdomainPolicy
}

// updateRevision is the stored revision of the present spec.
func (c *Checker) updateRevision(s *v1.LeaderWorkerSet) *revision.Revision {
	objects := c.ownedRevisions(s)
	history, _ := revision.NewHistory(objects)
	at := history.RestartedAt()
	if asked := steering(s).RestartedAt; asked.After(at) {
		at = asked
	}
	present := revision.FromSet(s)
	found := history.Find(present.Restarted(at))
	// What the CRD has dropped may still be in force.
	if found == nil && c.Unrecorded && present.Template.MaxGroupRestarts == nil {
		present.Template.MaxGroupRestarts = history.Revisions()[len(objects)-1].Template.MaxGroupRestarts
		found = history.Find(present.Restarted(at))
	}
	return found
}

// ownedRevisions are those that the set controls. One whose label was taken off is in
// nobody's history.
func (c *Checker) ownedRevisions(s *v1.LeaderWorkerSet) []*appsv1.ControllerRevision {
	var out []*appsv1.ControllerRevision
	for _, r := range c.revisions {
		if owner(r) == s.UID && r.Labels[v1.LabelName] == s.Name {
			out = append(out, r)
		}
	}
	return out
}

// describe is a group in a few words.
func describe(mates []*corev1.Pod) string {
	if len(mates) == 0 {
		return "no pods"
	}
	var out []string
	for _, p := range mates {
		state := "not Ready"
		switch {
		case terminating(p):
			state = "terminating"
		case isReady(p):
			state = "Ready"
		}
		out = append(out, fmt.Sprintf("%s is %s (%s, incarnation %d, revision %s)", p.Name, state, p.Status.Phase, incarnation(p), revisionOf(p)))
	}
	return strings.Join(out, ", ")
}

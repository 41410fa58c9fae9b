package invariant

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// Share checks L2 where some groups, given by index, cannot become Ready, whatever
// the controller does: they block their own share only.
//
//   - Every other group is Ready. At which revision is a matter of the budget.
//   - If fewer groups are ill than may be missing or stand in, which is U+S, the
//     update goes on around them: every other group has the present revision.
//
// complains says that the reason is one that the status must name.
func (c *Checker) Share(key types.NamespacedName, ill map[int32]bool, complains bool) []Violation {
	before := len(c.violations)
	add := c.adder()
	s := c.sets[key]
	if s == nil || terminating(s) {
		return nil
	}
	c.count("L2")
	update := c.updateRevision(s)
	if update == nil {
		add("L2", "set %s has no revision of its spec", s.Name)
		return c.violations[before:]
	}
	unavailable, surge := budget(s)
	// A pause holds updates back, and so does a deadline that has passed.
	steer, first := steering(s), partition(s)
	updates := len(ill) < int(unavailable+surge) && !steer.Paused && steer.ProgressDeadline == 0
	// Below the partition an ill group takes from the budget, and no surge stands in.
	for index := range ill {
		updates = updates && index >= first
	}
	groups := groupsOf(c.podsNow(), s.UID)
	for index := range replicas(s) {
		mates := groups[index]
		switch {
		case ill[index]:
		case !whollyReady(mates):
			add("L2", "group %d of %s is not Ready, where only others are ill: %s", index, s.Name, describe(mates))
		case updates && index >= first && revisionOf(mates[0]) != update.Key:
			add("L2", "group %d of %s keeps revision %s, where %d groups are ill and %d may be", index, s.Name, revisionOf(mates[0]), len(ill), unavailable+surge-1)
		}
	}
	if complains && !meta.IsStatusConditionTrue(s.Status.Conditions, v1.ConditionDegraded) {
		add("L2", "the status of %s does not say what is wrong: %+v", s.Name, s.Status.Conditions)
	}
	return c.violations[before:]
}

package invariant

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// S5: no worker before its leader exists, and with LeaderReady none before it has
// been Ready; none while the leader was known to be terminating.
func S5(c *Checker, ch *Change) string {
	p, at, ok := createdPod(ch)
	if !ok || at.worker == 0 {
		return ""
	}
	c.count("S5")
	n := incarnation(p)
	lives := c.lives(ch, at.uid, at.group)
	if !slices.ContainsFunc(lives, func(f *facts) bool { return f.leaders[n] }) {
		return fmt.Sprintf("worker %s of incarnation %d created, whose leader never existed", p.Name, n)
	}
	if s := c.seenSet(ch); s != nil && s.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy &&
		!slices.ContainsFunc(lives, func(f *facts) bool { return f.readyLeaders[n] }) {
		return fmt.Sprintf("worker %s created, whose leader has never been Ready", p.Name)
	}
	leader := c.pods[types.NamespacedName{Namespace: p.Namespace, Name: topology.LeaderName(at.set.Name, at.group)}]
	if leader != nil && ch.Seen != nil && terminating(leader) && parseVersion(leader) <= ch.Seen.Pods {
		return fmt.Sprintf("worker %s created while its leader was known to be terminating", p.Name)
	}
	return ""
}

// S6 takes the error that the table of transitions gave for a move, and returns
// what it means.
func (c *Checker) S6(err error) Violation {
	c.count("S6")
	v := Violation{"S6", err.Error()}
	c.violations = append(c.violations, v)
	return v
}

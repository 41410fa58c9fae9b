package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

const (
	// stuckAfter is how long after its deadline a pod that is still there counts as
	// stuck: what a kubelet needs to clean up after the last container.
	stuckAfter = 10 * time.Second
	// MinForceDeleteAfter is the least ForceDeleteAfter, so that a node which is only
	// restarted is back before.
	MinForceDeleteAfter = 30 * time.Second
)

// Forced is a pod to be deleted with no grace.
type Forced struct {
	Index int32
	Pod   group.Going
	// After is the ForceDeleteAfter that was in force.
	After time.Duration
}

// Stuck is a group with pods that should have ended and are still there.
type Stuck struct {
	Index int32
	// Pod is the first of them, More how many there are besides.
	Pod  group.PodRef
	More int
	// Cause names what holds the pod, for telling one trouble from the next. Message
	// says it in words, and what would help. It names no time, so that the same trouble
	// keeps the same words.
	Cause, Message string
}

// Overdue says that the pod should have ended long enough ago to count as stuck.
func Overdue(g *group.Going, now time.Time) bool { return !now.Before(g.Deadline.Add(stuckAfter)) }

// WhyForce says why a pod that is overdue may be deleted by force, given its node and
// ForceDeleteAfter; empty: it may not, since a kubelet may still run it, or a
// finalizer holds it. Two of the reasons are those of the pod garbage collector, which
// every cluster has: it acts on a node that is out of service, and not Ready, within
// 20 s, and on one that is gone after 40 s. Here a pod has always had all of its grace.
//
//	node                            force
//	none, the pod was never bound   when overdue
//	gone                            when overdue
//	not Ready, out of service       when overdue
//	not Ready                       after past its deadline, if that is set
//	Ready                           never
func WhyForce(g *group.Going, n group.Node, after time.Duration, now time.Time) string {
	switch {
	case len(g.Finalizers) > 0 || !Overdue(g, now):
		return ""
	case g.Node == "":
		return "it was never bound to a node"
	case n.Gone:
		return fmt.Sprintf("node %s is gone", g.Node)
	case n.Ready:
		return ""
	case n.OutOfService:
		return fmt.Sprintf("node %s is out of service", g.Node)
	case after > 0 && !now.Before(g.Deadline.Add(after)):
		return fmt.Sprintf("node %s is not Ready, and annotation %s allows it after %s", g.Node, v1.AnnotationForceDeleteAfter, after)
	}
	return ""
}

// force deletes pods that nothing will end any more. The rest of their group was
// deleted when they were; the next incarnation waits for them all.
func (p *planner) force() {
	for i := range p.Groups {
		if p.frozen[p.Groups[i].Index] {
			continue
		}
		for j := range p.Groups[i].Going {
			g := &p.Groups[i].Going[j]
			if !Overdue(g, p.Now) {
				p.wake(g.Deadline.Add(stuckAfter))
				continue
			}
			n, known := p.Nodes[g.Node]
			due := g.Deadline.Add(p.ForceDeleteAfter)
			switch {
			case !known && g.Node != "":
			case WhyForce(g, n, p.ForceDeleteAfter, p.Now) != "":
				if p.spend(1) {
					p.Force = append(p.Force, Forced{Index: p.Groups[i].Index, Pod: *g, After: p.ForceDeleteAfter})
				}
			case !n.Ready && p.Now.Before(due):
				p.wake(due)
			}
		}
	}
}

// stuckGroups are the groups with pods that are stuck.
func stuckGroups(in *Input) []Stuck {
	var out []Stuck
	for i := range in.Groups {
		if s := StuckIn(&in.Groups[i], in.Nodes, in.ForceDeleteAfter, in.Now); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// StuckIn says which pods of a group are stuck and why, as far as the nodes are known,
// with the ForceDeleteAfter in force; nil: none is.
func StuckIn(v *group.View, nodes map[string]group.Node, after time.Duration, now time.Time) *Stuck {
	var out *Stuck
	for i := range v.Going {
		g := &v.Going[i]
		switch {
		case !Overdue(g, now):
		case out != nil:
			out.More++
		default:
			n, known := nodes[g.Node]
			out = stuck(v.Index, g, n, known, after)
		}
	}
	if out != nil && out.More > 0 {
		out.Message += fmt.Sprintf(" (and %d more of its pods)", out.More)
	}
	return out
}

// stuck says what holds a pod, and what would help.
func stuck(index int32, g *group.Going, n group.Node, known bool, after time.Duration) *Stuck {
	out := &Stuck{Index: index, Pod: g.PodRef, Cause: "node " + g.Node}
	say := func(format string, args ...any) {
		out.Message = fmt.Sprintf("pod %s, which should be gone: ", g.Name) + fmt.Sprintf(format, args...)
	}
	const help = "if that machine is off, delete the node or taint it " + outOfServiceTaint
	switch {
	case len(g.Finalizers) > 0:
		held := slices.Sorted(slices.Values(g.Finalizers))
		out.Cause = "finalizer " + held[0]
		say("finalizer %s holds it; whoever put it there must take it off", strings.Join(held, ", "))
	case g.Node == "":
		out.Cause = "unbound"
		say("it was never bound to a node, it is deleted by force")
	case !known:
		say("node %s has not ended it; %s", g.Node, help)
	case n.Gone:
		out.Cause += " gone"
		say("its node %s is gone, it is deleted by force", g.Node)
	case n.Ready:
		out.Cause += " ready"
		say("node %s, which is Ready, has not ended it; look at the kubelet's log there", g.Node)
	case n.OutOfService:
		out.Cause += " out of service"
		say("node %s is out of service, it is deleted by force", g.Node)
	case after > 0:
		out.Cause += " not ready"
		say("node %s, which is not Ready, has not ended it; it is deleted by force %s after its deadline, as annotation %s says; %s and it goes at once", g.Node, after, v1.AnnotationForceDeleteAfter, help)
	default:
		out.Cause += " not ready"
		say("node %s, which is not Ready, has not ended it; %s; annotation %s gives its pods up after a time", g.Node, help, v1.AnnotationForceDeleteAfter)
	}
	return out
}

// outOfServiceTaint is how kubectl writes the taint.
const outOfServiceTaint = corev1.TaintNodeOutOfService + "=nodeshutdown:NoExecute"

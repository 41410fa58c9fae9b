package rollout

import (
	"fmt"
	"slices"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// create gives pods to the groups that lack them, the lowest index first.
func (p *planner) create() {
	if p.Withheld {
		return
	}
	for i := range p.Groups {
		if p.Groups[i].HasPods {
			p.alive++
		}
	}
	next := 0
	for index := int32(0); index < p.end(); index++ {
		if !p.wanted(index) {
			continue
		}
		for next < len(p.Groups) && p.Groups[next].Index < index {
			next++
		}
		v := &group.View{Index: index}
		if next < len(p.Groups) && p.Groups[next].Index == index {
			v = &p.Groups[next]
		}
		c, ok := p.creation(v)
		if !ok || p.blocked(v, &c) {
			continue
		}
		if !v.HasPods && !p.add(index) {
			continue
		}
		if len(c.Workers) > p.MaxWrites {
			// The others are missing then, and follow.
			c.Workers, p.Partial = c.Workers[:p.MaxWrites], true
		}
		if !p.spend(len(c.Workers)) {
			return
		}
		p.Create = append(p.Create, c)
	}
}

// add counts one more group alive, unless there may be no more. Ceiling: groups
// that are still going count as much as those that come. A surge group needs room
// besides: it is one more on its way to a revision that may be bad.
func (p *planner) add(index int32) bool {
	surge := index >= p.Replicas
	if p.alive >= p.end() || surge && p.at.unproven && p.at.room <= 0 {
		return false
	}
	p.alive++
	if surge {
		p.at.room--
	}
	return true
}

// creation says which pods of the group are to be created now, if any.
func (p *planner) creation(v *group.View) (Creation, bool) {
	entry := p.entries[v.Index]
	if p.frozen[v.Index] {
		return Creation{}, false
	}
	c := Creation{Index: v.Index, Revision: v.Revision, Incarnation: v.Incarnation, Gang: v.Gang, RecycledAt: p.recycledAt(v.Index)}
	switch {
	case !v.HasPods:
		c.Revision, c.Incarnation = p.nextRevision(v.Index), 1
		if recorded := p.recorded[v.Index]; recorded != nil {
			// Also of a teardown that is over: it is on record until the next leader
			// exists.
			c.Incarnation, c.Verify, c.Avoids = recorded.Incarnation+1, true, recorded.Avoids
		}
		t, known := p.Templates[c.Revision]
		if !known {
			// The object of that revision is lost: only the present spec is left.
			if t, known = p.Templates[p.Update]; !known {
				return c, false
			}
			c.Lost, c.Revision = c.Revision, p.Update
		}
		c.Incarnation, c.Gang = p.newGang(v.Index, c.Incarnation, c.Revision)
		c.Workers = []int32{0}
		if !p.LeaderFirst && !p.Placed {
			c.Workers = upTo(min(max(t.Size, 1), int32(p.MaxWrites)+1))
		}
	case entry != nil && v.Incarnation <= entry.Incarnation:
		// Nothing of the next incarnation before the last pod of this one is gone.
		return c, false
	case v.FailureUnder(p.restartPolicy(v)) != nil:
		return c, false
	case v.Leader == nil:
		// Only reached where the policy replaces single pods.
		c.Workers = []int32{0}
	case v.Leader.Terminating:
		return c, false
	case len(v.Leader.DomainKeys) > 0 && v.Leader.Node == "":
		// Workers follow their leader, to where the scheduler has put it.
	case !p.LeaderFirst || v.LeaderReady() || v.EverReady():
		c.Workers = v.Missing
	}
	if t, known := p.Templates[c.Revision]; known {
		c.Service = p.serviceOf(v.Index, t.Subdomain)
	} else {
		return c, false
	}
	return c, len(c.Workers) > 0
}

// revisionFor is the revision that the spec wants for an index: below the
// partition and while paused that of the last rollout that ended, else that of the
// present spec.
func (p *planner) revisionFor(index int32) string {
	if _, known := p.Templates[p.Current]; known && (index < p.Partition || p.Paused && index < p.Replicas) {
		return p.Current
	}
	return p.Update
}

// nextRevision is the revision at which a group is built that has no pods, or will
// have none when its teardown is over. One that was not wanted for a while starts
// anew.
func (p *planner) nextRevision(index int32) string {
	if entry := p.entries[index]; entry != nil && entry.Cause != v1.RecycleScaleDown {
		return entry.Revision
	}
	return p.freshRevision(index)
}

// freshRevision is the revision at which a group without pods and without an
// entry is built. One that there is no room for goes back to what works.
func (p *planner) freshRevision(index int32) string {
	if _, known := p.Templates[p.Current]; known && p.at.unproven && p.at.room < 0 && index < p.Replicas {
		return p.Current
	}
	return p.revisionFor(index)
}

// blocked says that the group's pods have to wait, and asks to be woken when
// time alone will end that.
func (p *planner) blocked(v *group.View, c *Creation) bool {
	if until, held := p.Held[v.Index]; held && p.Now.Before(until) {
		p.wake(until)
		return true
	}
	if name, why := inTheWay(v, c); name != "" {
		if why != "" {
			p.Blocked = append(p.Blocked, Blocked{Index: v.Index, Kind: "pod", Name: name, Why: why})
		}
		return true
	}
	if c.Workers[0] != 0 {
		domain, why := p.domainOf(v.Leader, p.Templates[c.Revision].NodeSelector)
		if why != "" {
			p.Blocked = append(p.Blocked, Blocked{Index: v.Index, Kind: "node", Name: v.Leader.Node, Why: why})
			return true
		}
		c.Domain = domain
	}
	if p.gangBlocked(v, c) {
		return true
	}
	if s, exists := p.Services[c.Service]; exists && s.Unusable != "" {
		if !s.Leaving {
			p.Blocked = append(p.Blocked, Blocked{Index: v.Index, Kind: "service", Name: c.Service, Why: s.Unusable})
		}
		return true
	}
	return false
}

// domainOf are the labels of the leader's node that workers go by. What the template
// of the workers says of the same labels stays in force; where both cannot be, nothing
// is created.
func (p *planner) domainOf(leader *group.Pod, selector map[string]string) (domain map[string]string, why string) {
	if len(leader.DomainKeys) == 0 {
		return nil, ""
	}
	n, known := p.Nodes[leader.Node]
	switch {
	case !known:
		return nil, "of the leader cannot be read by a controller that serves one namespace only, so that workers cannot follow it"
	case n.Gone:
		return nil, "of the leader is gone, so that workers cannot follow it"
	}
	domain = map[string]string{}
	for _, key := range leader.DomainKeys {
		value, has := p.NodeLabels[leader.Node][key]
		switch wanted, selects := selector[key]; {
		case !has:
			return nil, fmt.Sprintf("of the leader has no label %s, so that workers cannot follow it", key)
		case selects && wanted != value:
			return nil, fmt.Sprintf("of the leader has %s=%s, so that workers cannot follow it: their template's nodeSelector says %s=%s", key, value, key, wanted)
		}
		domain[key] = value
	}
	return domain, ""
}

// NotOurs is why a name that something else holds cannot be used.
const NotOurs = "exists and is not controlled by this LeaderWorkerSet"

// inTheWay names a pod that holds a name which the group needs. There is nothing
// to say about one that will be gone by itself.
func inTheWay(v *group.View, c *Creation) (name, why string) {
	// Orphans are adopted before planning: one that is left does not fit.
	for _, o := range v.Orphans {
		if slices.Contains(c.Workers, o.Worker) {
			return o.Name, NotOurs
		}
	}
	for _, f := range v.Foreign {
		if !slices.Contains(c.Workers, f.Worker) {
			continue
		}
		if f.Leaving {
			return f.Name, ""
		}
		return f.Name, NotOurs
	}
	return "", ""
}

func upTo(size int32) []int32 {
	out := make([]int32, size)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func leaderRef(v *group.View) group.PodRef {
	return group.PodRef{Name: v.Leader.Name, UID: v.Leader.UID}
}

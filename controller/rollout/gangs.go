package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// PodGroup is an existing PodGroup with the set's labels as the planner sees it. One of
// Volcano's has v1.VolcanoGang before its name. What differs between the two:
//
//	            native                       Volcano's
//	name        <set>-<group>-<incarnation>  <set>-<group>-<revision>, so that the one of the
//	                                         incarnation before has to be gone first
//	goes        when no pod refers to it     at once: only we keep it while pods refer to it
//	content     for good, a Workload's       kept up to date
type PodGroup struct {
	Index       int32
	Incarnation int64
	// Workload is the one that it refers to.
	Workload string `json:",omitempty"`
	// Differs: it is not what a group of its revision asks for now.
	Differs bool `json:",omitempty"`
	// Unusable and Leaving are as of a Service.
	Unusable string `json:",omitempty"`
	Leaving  bool   `json:",omitempty"`
}

// GangWanted is a PodGroup or Workload to be created, for a group of a revision.
type GangWanted struct {
	Name        string
	Index       int32
	Revision    string
	Incarnation int64
	// Referred: pods refer to it already.
	Referred bool `json:",omitempty"`
}

// GangGone is a PodGroup to be removed, of a group.
type GangGone struct {
	Name  string
	Index int32
}

// podGroupName is the PodGroup of an incarnation of a group at a revision, empty where
// the pods are not scheduled by one.
func (p *planner) podGroupName(index int32, incarnation int64, revision string) string {
	switch t := p.Templates[revision]; {
	case t.Workload != "":
		return p.PodGroupName(index, incarnation)
	case t.Volcano:
		return v1.VolcanoGang + p.VolcanoName(index, revision)
	}
	return ""
}

// newGang is the incarnation and PodGroup of a group that has no pods, given the
// incarnation that it would have without one. PodGroups of other incarnations may
// still be there, held by a finalizer; one that has been made for these pods, before
// they could be, serves. A Workload of another name has another content.
func (p *planner) newGang(index int32, incarnation int64, revision string) (int64, string) {
	next := incarnation
	for _, name := range p.podGroupsOf(index) {
		g := p.PodGroups[name]
		if g.Incarnation < next || g.Incarnation >= group.MaxIncarnation {
			continue
		}
		next = g.Incarnation
		if g.Unusable != "" || g.Workload != p.Templates[revision].Workload || name != p.podGroupName(index, next, revision) {
			next++
		}
	}
	return next, p.podGroupName(index, next, revision)
}

// podGroupsOf are the names of the PodGroups of a group, by ascending incarnation.
func (p *planner) podGroupsOf(index int32) []string {
	if p.podGroups == nil {
		p.podGroups = map[int32][]string{}
		for _, name := range slices.Sorted(maps.Keys(p.PodGroups)) {
			i := p.PodGroups[name].Index
			p.podGroups[i] = append(p.podGroups[i], name)
		}
		for _, names := range p.podGroups {
			slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.PodGroups[a].Incarnation, p.PodGroups[b].Incarnation) })
		}
	}
	return p.podGroups[index]
}

// gangBlocked says that the pods of a group have to wait for their PodGroup, or for that
// of the incarnation before to be gone, if it has the same name. One that is being
// deleted does as long as a pod refers to it, which holds it.
func (p *planner) gangBlocked(v *group.View, c *Creation) bool {
	if c.Gang == v.Gang && p.PodGroups[c.Gang].Leaving {
		return false
	}
	blocked := func(kind, name, why string) bool {
		p.Blocked = append(p.Blocked, Blocked{Index: c.Index, Kind: kind, Name: strings.TrimPrefix(name, v1.VolcanoGang), Why: why})
		return true
	}
	if c.Gang == "" {
		if name := p.unnamed(v); name != "" {
			return blocked("podgroup", name, "was made for the group, and is not named by its pods: the cluster has dropped that")
		}
		return false
	}
	if t := p.Templates[c.Revision]; t.Conflict != "" {
		return blocked("revision", c.Revision, "has "+t.Conflict)
	}
	g, exists := p.PodGroups[c.Gang]
	switch w := p.Workloads[p.workloadFor(c)]; {
	case exists && g.Unusable != "":
		return blocked("podgroup", c.Gang, g.Unusable)
	case exists && !v.HasPods && g.Incarnation != c.Incarnation:
		return true // it is about to go
	case !exists && w.Unusable != "" && !w.Leaving:
		return blocked("workload", p.workloadFor(c), w.Unusable)
	}
	return false
}

// unnamed is the PodGroup that was made for the present incarnation of a group whose pods
// refer to none, empty if there is none.
func (p *planner) unnamed(v *group.View) string {
	if len(p.PodGroups) == 0 || !v.HasPods || v.Gang != "" {
		return ""
	}
	for _, name := range []string{p.PodGroupName(v.Index, v.Incarnation), v1.VolcanoGang + p.VolcanoName(v.Index, v.Revision)} {
		if g, exists := p.PodGroups[name]; exists && g.Unusable == "" && g.Incarnation == v.Incarnation {
			return name
		}
	}
	return ""
}

func (p *planner) workloadFor(c *Creation) string { return p.Templates[c.Revision].Workload }

// gangs decides which PodGroups and Workloads to create and which to remove. There is
// one PodGroup for each incarnation that has pods, or is about to, and was made while
// the set asked for it; and one Workload for all that want the same.
func (p *planner) gangs() {
	if len(p.PodGroups) == 0 && len(p.Workloads) == 0 && !p.anyGangs() {
		return
	}
	referred, needed := p.podGroupsNeeded()
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		want := needed[name]
		want.Referred = referred[name]
		switch g, exists := p.PodGroups[name]; {
		case !exists || !want.Referred:
			p.CreatePodGroups = append(p.CreatePodGroups, want)
		case g.Unusable == "" && (g.Differs || g.Incarnation != want.Incarnation):
			p.UpdatePodGroups = append(p.UpdatePodGroups, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.PodGroups)) {
		g := p.PodGroups[name]
		if _, stays := needed[name]; !stays && !referred[name] && g.Unusable == "" && !p.awaitsPods(name, &g) {
			p.DeletePodGroups = append(p.DeletePodGroups, GangGone{name, g.Index})
		}
	}
	p.workloads(needed)
}

// anyGangs says that pods of any revision are scheduled by PodGroups.
func (p *planner) anyGangs() bool {
	for _, t := range p.Templates {
		if t.Workload != "" || t.Volcano {
			return true
		}
	}
	return false
}

// podGroupsNeeded are the PodGroups of pods that are there to stay, or are created now,
// and all those that any pod refers to.
func (p *planner) podGroupsNeeded() (referred map[string]bool, needed map[string]GangWanted) {
	referred, needed = map[string]bool{}, map[string]GangWanted{}
	for i := range p.Groups {
		v := &p.Groups[i]
		for _, name := range append(slices.Clone(v.OtherGangs), v.Gang, p.unnamed(v)) {
			referred[name] = true
		}
		if v.Gang != "" && p.wanted(v.Index) && p.entries[v.Index] == nil && v.Gang == p.podGroupName(v.Index, v.Incarnation, v.Revision) && !p.Withheld {
			needed[v.Gang] = GangWanted{Name: v.Gang, Index: v.Index, Revision: v.Revision, Incarnation: v.Incarnation}
		}
	}
	for i := range p.Create {
		if c := &p.Create[i]; c.Gang != "" && c.Gang == p.podGroupName(c.Index, c.Incarnation, c.Revision) {
			needed[c.Gang] = GangWanted{Name: c.Gang, Index: c.Index, Revision: c.Revision, Incarnation: c.Incarnation}
		}
	}
	return referred, needed
}

// awaitsPods says that a PodGroup is the one that a group without pods will have.
func (p *planner) awaitsPods(name string, g *PodGroup) bool {
	if p.frozen[g.Index] {
		return true
	}
	v := p.view(g.Index)
	if v == nil {
		v = &group.View{Index: g.Index}
	}
	if v.HasPods || !p.wanted(g.Index) {
		return false
	}
	c, ok := p.creation(v)
	return ok && c.Gang == name && c.Incarnation == g.Incarnation
}

// workloads keeps those that a PodGroup refers to, and makes those that a needed one
// does.
func (p *planner) workloads(needed map[string]GangWanted) {
	referred, wanted := map[string]bool{}, map[string]bool{}
	for name, w := range needed {
		workload := p.Templates[w.Revision].Workload
		if g, exists := p.PodGroups[name]; exists {
			workload = g.Workload
		}
		wanted[workload], referred[workload] = true, true
	}
	for _, g := range p.PodGroups {
		referred[g.Workload] = true
	}
	if p.Replicas > 0 { // what groups wait for that cannot be made just now
		for _, name := range []string{p.Templates[p.Update].Workload, p.Templates[p.Current].Workload} {
			referred[name] = referred[name] || !p.Workloads[name].Ours // one that is no good is made anew
		}
	}
	for _, revision := range slices.Sorted(maps.Keys(p.Templates)) {
		name := p.Templates[revision].Workload
		if _, exists := p.Workloads[name]; !exists && name != "" && wanted[name] {
			wanted[name] = false
			p.CreateWorkloads = append(p.CreateWorkloads, GangWanted{Name: name, Revision: revision})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Workloads)) {
		if w := p.Workloads[name]; !referred[name] && (w.Unusable == "" || w.Ours) {
			p.DeleteWorkloads = append(p.DeleteWorkloads, name)
		}
	}
}

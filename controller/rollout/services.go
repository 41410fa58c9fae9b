package rollout

import (
	"maps"
	"slices"

	v1 "lws-controller/api/v1"
)

// ServiceWanted is a Service to be created: the shared one, with index 0, or that
// of a group.
type ServiceWanted struct {
	Name   string
	Policy v1.SubdomainPolicy
	Index  int32
}

// services decides which Services to create and which to remove. The shared one
// is there as long as the spec or some group is at a revision that shares it,
// also at 0 replicas; one of a group as long as the index is wanted or has pods.
func (p *planner) services() {
	want := map[string]ServiceWanted{}
	add := func(index int32, revision string) {
		t, known := p.Templates[revision]
		if !known {
			return
		}
		name := p.serviceOf(index, t.Subdomain)
		if name == p.SharedService {
			index = 0
		}
		want[name] = ServiceWanted{Name: name, Policy: t.Subdomain, Index: index}
	}
	if t, known := p.Templates[p.Update]; known && t.Subdomain != v1.SubdomainUniquePerReplica {
		add(0, p.Update)
	}
	keep := map[string]bool{}
	keepAny := func(index int32) {
		keep[p.SharedService] = true
		keep[p.GroupService(index)] = true
	}
	for i := range p.Groups {
		v := &p.Groups[i]
		entry := p.entries[v.Index]
		switch {
		case v.HasPods && p.wanted(v.Index):
			add(v.Index, v.Revision)
			if entry != nil {
				add(v.Index, p.nextRevision(v.Index))
			}
		case v.HasPods:
			keepAny(v.Index)
		}
		if _, known := p.Templates[v.Revision]; v.HasPods && !known {
			// Which of them its pods name stood in the revision, whose object is gone.
			keepAny(v.Index)
		}
	}
	p.wantFresh(add)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, exists := p.Services[name]; !exists {
			p.CreateServices = append(p.CreateServices, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		if _, wanted := want[name]; !wanted && !keep[name] && p.Services[name].Unusable == "" {
			p.DeleteServices = append(p.DeleteServices, name)
		}
	}
}

// wantFresh adds the Services of wanted groups that have no pods. Where they
// would all be the shared one, it is enough to add it once.
func (p *planner) wantFresh(add func(int32, string)) {
	for _, entry := range p.entries {
		if p.wanted(entry.Index) {
			add(entry.Index, p.nextRevision(entry.Index))
		}
	}
	shared := func(revision string) bool {
		return p.Templates[revision].Subdomain != v1.SubdomainUniquePerReplica
	}
	if p.Replicas > 0 && shared(p.Update) && shared(p.Current) {
		return
	}
	next := 0
	for index := int32(0); index < p.end(); index++ {
		if !p.wanted(index) {
			continue
		}
		for next < len(p.Groups) && p.Groups[next].Index < index {
			next++
		}
		if next < len(p.Groups) && p.Groups[next].Index == index && p.Groups[next].HasPods {
			continue
		}
		if p.entries[index] == nil {
			add(index, p.freshRevision(index))
		}
	}
}

func (p *planner) serviceOf(index int32, policy v1.SubdomainPolicy) string {
	if policy == v1.SubdomainUniquePerReplica {
		return p.GroupService(index)
	}
	return p.SharedService
}

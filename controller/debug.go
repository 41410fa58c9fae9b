package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lws-controller/controller/group"
)

// DebugSet is what /debug/groups shows of one set.
type DebugSet struct {
	Namespace      string       `json:"namespace"`
	Name           string       `json:"name"`
	Replicas       int32        `json:"replicas"`
	UpdateRevision string       `json:"updateRevision"`
	Groups         []DebugGroup `json:"groups"`
}

// DebugGroup is one group with its phase and what lately happened to it.
type DebugGroup struct {
	Index       int32       `json:"index"`
	Phase       group.Phase `json:"phase"`
	Since       time.Time   `json:"since"`
	Revision    string      `json:"revision,omitempty"`
	Incarnation int64       `json:"incarnation"`
	Size        int32       `json:"size"`
	Pods        int         `json:"pods"`
	Terminating int         `json:"terminating,omitempty"`
	// WaitingFor says why the group is not Ready, empty if it is.
	WaitingFor string         `json:"waitingFor,omitempty"`
	Journal    []group.Record `json:"journal"`
}

// Debug returns all sets with their groups, or one of them, by namespace/name. A
// set that is just being synced is shown when that is over.
func (c *Controller) Debug(only string) []DebugSet {
	out := []DebugSet{}
	for _, m := range c.memories.all() {
		if only != "" && only != m.key.String() {
			continue
		}
		if s, known := m.debug(); known {
			out = append(out, s)
		}
	}
	return out
}

func (m *memory) debug() (DebugSet, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.set == nil {
		return DebugSet{}, false
	}
	s := DebugSet{Namespace: m.key.Namespace, Name: m.key.Name, Replicas: m.replicas(), UpdateRevision: m.update, Groups: []DebugGroup{}}
	for _, t := range m.groups {
		phase, since := t.state.Phase()
		s.Groups = append(s.Groups, DebugGroup{
			Index: t.state.Index, Phase: phase, Since: since, Revision: t.view.Revision,
			Incarnation: t.view.Incarnation, Size: t.view.Size,
			Pods: len(t.view.Live) + t.view.Terminating, Terminating: t.view.Terminating,
			WaitingFor: m.waitingFor(&t.view), Journal: t.state.Journal.Records(),
		})
	}
	// Of groups that wait for their first pod nothing else is known yet.
	waiting := map[int32]string{}
	for _, b := range m.blocked {
		waiting[b.Index] = blockedMessage(b)
	}
	for index := range m.held {
		waiting[index] = m.waitingFor(&group.View{Index: index})
	}
	for _, index := range slices.Sorted(maps.Keys(waiting)) {
		if !slices.ContainsFunc(m.groups, func(t *tracked) bool { return t.state.Index == index }) {
			s.Groups = append(s.Groups, DebugGroup{Index: index, Phase: group.Pending, WaitingFor: waiting[index], Journal: []group.Record{}})
		}
	}
	return s, true
}

// waitingFor says in words what a group waits for.
func (m *memory) waitingFor(v *group.View) string {
	if h, held := m.held[v.Index]; held {
		return fmt.Sprintf("another try at %s: %s", h.until.UTC().Format(time.RFC3339), h.message)
	}
	for _, b := range m.blocked {
		if b.Index == v.Index {
			return blockedMessage(b)
		}
	}
	for _, s := range m.stuck {
		if s.Index == v.Index {
			return s.Message
		}
	}
	judged := m.judged()
	return judged.WaitingFor(v, m.entries()[v.Index])
}

package controller

import (
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
	Index       int32          `json:"index"`
	Phase       group.Phase    `json:"phase"`
	Since       time.Time      `json:"since"`
	Revision    string         `json:"revision,omitempty"`
	Incarnation int64          `json:"incarnation"`
	Size        int32          `json:"size"`
	Pods        int            `json:"pods"`
	Terminating int            `json:"terminating,omitempty"`
	Held        string         `json:"held,omitempty"`
	Journal     []group.Record `json:"journal"`
}

// Debug returns all sets with their groups. A set that is just being synced is
// shown when that is over.
func (c *Controller) Debug() []DebugSet {
	out := []DebugSet{}
	for _, m := range c.memories.all() {
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
			Held: m.held[t.state.Index].message, Journal: t.state.Journal.Records(),
		})
	}
	return s, true
}

package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
		m.mu.Lock()
		s, known := m.debug(true)
		m.mu.Unlock()
		if known {
			out = append(out, s)
		}
	}
	return out
}

// glanceEvery is how often Glance looks whether a sync has given way.
const glanceEvery = time.Millisecond

// Glance is what Debug returns of one set, for a page that must not hang: it is false
// if nothing is known of the set, or if a sync that waits for the API server did not
// give way in time. The journals are left out unless asked for.
func (c *Controller) Glance(key types.NamespacedName, journals bool, until time.Time) (DebugSet, bool) {
	m := c.memories.get(key)
	if m == nil {
		return DebugSet{}, false
	}
	for !m.mu.TryLock() {
		if !time.Now().Before(until) {
			return DebugSet{}, false
		}
		time.Sleep(glanceEvery)
	}
	defer m.mu.Unlock()
	return m.debug(journals)
}

// debug is called with the lock held.
func (m *memory) debug(journals bool) (DebugSet, bool) {
	if m.set == nil {
		return DebugSet{}, false
	}
	s := DebugSet{Namespace: m.key.Namespace, Name: m.key.Name, Replicas: m.replicas(), UpdateRevision: m.update, Groups: make([]DebugGroup, 0, len(m.groups))}
	waitingFor := m.waiting()
	for _, t := range m.groups {
		phase, since := t.state.Phase()
		g := DebugGroup{
			Index: t.state.Index, Phase: phase, Since: since, Revision: t.view.Revision,
			Incarnation: t.view.Incarnation, Size: t.view.Size,
			Pods: len(t.view.Live) + t.view.Terminating, Terminating: t.view.Terminating,
			WaitingFor: waitingFor(&t.view),
		}
		if journals {
			g.Journal = t.state.Journal.Records()
		}
		s.Groups = append(s.Groups, g)
	}
	// Of groups that wait for their first pod nothing else is known yet.
	others := map[int32]string{}
	for _, b := range m.blocked {
		others[b.Index] = blockedMessage(b)
	}
	for index := range m.held {
		others[index] = waitingFor(&group.View{Index: index})
	}
	for _, t := range m.groups {
		delete(others, t.state.Index)
	}
	for _, index := range slices.Sorted(maps.Keys(others)) {
		s.Groups = append(s.Groups, DebugGroup{Index: index, Phase: group.Pending, WaitingFor: others[index], Journal: []group.Record{}})
	}
	return s, true
}

// waitingFor says in words what a group waits for.
func (m *memory) waitingFor(v *group.View) string { return m.waiting()(v) }

// waiting is waitingFor for many groups: what is the same for all is looked up once.
func (m *memory) waiting() func(v *group.View) string {
	judged, entries := m.judged(), m.entries()
	texts := map[int32]string{}
	for _, s := range slices.Backward(m.stuck) {
		texts[s.Index] = s.Message
	}
	for _, b := range slices.Backward(m.blocked) {
		texts[b.Index] = blockedMessage(b)
	}
	for index, h := range m.held {
		texts[index] = fmt.Sprintf("another try at %s: %s", h.until.UTC().Format(time.RFC3339), h.message)
	}
	return func(v *group.View) string {
		if text, known := texts[v.Index]; known {
			return text
		}
		return judged.WaitingFor(v, entries[v.Index])
	}
}

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/topology"
)

func (m *memory) replicas() int32 {
	if m.set.Spec.Replicas == nil {
		return 1
	}
	return *m.set.Spec.Replicas
}

// rolling is the spec of the rollout, with what annotations say instead.
func (m *memory) rolling() v1.RollingUpdateConfiguration {
	zero := int32(0)
	out := v1.RollingUpdateConfiguration{Partition: &zero, MaxUnavailable: intstr.FromInt32(1)}
	if c := m.set.Spec.RolloutStrategy.RollingUpdateConfiguration; c != nil {
		out = *c
		if c.Partition == nil {
			out.Partition = &zero
		}
	}
	if p := m.steering.Partition; p != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(p, int(m.replicas()), true)
		if at := int32(n); err == nil {
			out.Partition = &at
		}
	}
	if u := m.steering.MaxUnavailable; u != nil {
		out.MaxUnavailable = *u
	}
	if s := m.steering.MaxSurge; s != nil {
		out.MaxSurge = *s
	}
	return out
}

func (m *memory) partition() int32 { return *m.rolling().Partition }

func (m *memory) budget() rollout.Budget {
	r := m.rolling()
	return rollout.NewBudget(m.replicas(), r.MaxUnavailable, r.MaxSurge)
}

// progressingSince is when the set was last seen to set out, zero if it is not on
// its way.
func (m *memory) progressingSince() time.Time {
	if c := isTrue(&m.set.Status, v1.ConditionProgressing); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// entries are the teardowns on record, by group.
func (m *memory) entries() map[int32]*v1.RecyclingGroup {
	out := make(map[int32]*v1.RecyclingGroup, len(m.set.Status.Recycling))
	for i := range m.set.Status.Recycling {
		out[m.set.Status.Recycling[i].Index] = &m.set.Status.Recycling[i]
	}
	return out
}

func (m *memory) sizes() map[string]int32 {
	sizes := map[string]int32{}
	for _, r := range m.history.Revisions() {
		sizes[r.Key] = m.groupOf(r, 0, 0).Size()
	}
	return sizes
}

// input is what the planner gets to know.
func (c *Controller) input(m *memory, now time.Time) rollout.Input {
	in := rollout.Input{
		Now:       now,
		Replicas:  m.replicas(),
		Partition: m.partition(),
		Budget:    m.budget(),
		MinReady:  m.steering.MinReady,
		Paused:    m.steering.Paused,
		Recycle:   m.steering.Recycle,

		ProgressDeadline: m.steering.ProgressDeadline,
		ProgressingSince: m.progressingSince(),

		Established:   m.set.Status.EstablishedReplicas,
		LeaderFirst:   m.set.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy,
		Current:       m.current,
		Update:        m.update,
		Templates:     map[string]rollout.Template{},
		Groups:        make([]group.View, 0, len(m.groups)),
		Recycling:     m.set.Status.Recycling,
		Restarts:      m.set.Status.GroupRestarts,
		Services:      c.services(m, now),
		SharedService: topology.ServiceName(m.key.Name, 0, v1.SubdomainShared),
		GroupService: func(index int32) string {
			return topology.ServiceName(m.key.Name, index, v1.SubdomainUniquePerReplica)
		},
		Held:       map[int32]time.Time{},
		MaxWrites:  syncWrites,
		MaxEntries: maxEntries,
	}
	if now.Before(m.outdatedCRDUntil) {
		in.MaxEntries = 0
	}
	for _, r := range m.history.Revisions() {
		g := m.groupOf(r, 0, 0)
		in.Templates[r.Key] = rollout.Template{Size: g.Size(), RestartPolicy: r.Template.RestartPolicy, Subdomain: g.SubdomainPolicy()}
	}
	for _, t := range m.groups {
		in.Groups = append(in.Groups, t.view)
	}
	for index, h := range m.held {
		in.Held[index] = h.until
	}
	return in
}

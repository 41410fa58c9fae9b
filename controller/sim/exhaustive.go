package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/controller/invariant"
)

// Scenario is what a user and the nodes do, each step once everything has come to
// rest after the one before.
type Scenario struct {
	Name  string
	Steps []func(w *World)
}

// outcome is how a scenario ended.
type outcome struct {
	// state is the objects at rest, tally what was created and deleted.
	state, tally string
	// writes is how many writes there were, first how many in the first step.
	writes, first int
	broken        []invariant.Violation
	story         []string
	// kinds are what the writes were, what is the one that the fault came upon.
	kinds   []string
	what    string
	reached reach
}

// play plays a scenario with one fault at one write, or without if n is negative.
// behind is how much a controller that is started after a crash has yet to see.
func play(s Scenario, n int, fault Fault, behind int, told bool) outcome {
	return perform(s, behind, told, func(_ *World, at int) Fault {
		if at == n {
			return fault
		}
		return noFault
	})
}

// perform plays a scenario. disturb is asked at each write, by its number, what
// goes wrong with it.
func perform(s Scenario, behind int, told bool, disturb func(w *World, at int) Fault) outcome {
	w := newWorld(1, told)
	defer w.end()
	var o outcome
	at := 0
	faults := func(c *call) Fault {
		if !c.write {
			return noFault
		}
		fault := disturb(w, at)
		at++
		o.kinds = append(o.kinds, c.what)
		// Before it all is as in the run without.
		w.compares = w.compares || fault != noFault || w.lag != nil
		if fault != noFault {
			o.what = c.what
			w.note("fault: %s: %s", c.what, fault)
		}
		return fault
	}
	w.hasty = behind > 0
	w.startProcess(upToDate)
	for i, step := range s.Steps {
		w.note("step %d of %q", i+1, s.Name)
		step(w)
		if !w.rest(faults, func() int { return behind }) {
			break
		}
		if i == 0 {
			o.first = at
		}
	}
	o.state, o.tally, o.writes = w.state(), w.tallied(), at
	w.atRest()
	o.broken, o.story, o.reached = w.broken, w.story, w.reached
	return o
}

// state describes all objects, without what differs from run to run.
func (w *World) state() string {
	var out []string
	for _, s := range w.server.sets.list() {
		st := &s.Status
		out = append(out, fmt.Sprintf("set %s: replicas %d ready %d updated %d established %d recycling %d restarts %v update %s current %s", s.Name,
			st.Replicas, st.ReadyReplicas, st.UpdatedReplicas, st.EstablishedReplicas, len(st.Recycling), restartCounts(s), st.UpdateRevision, st.CurrentRevision))
		for _, c := range st.Conditions {
			if c.Status == "True" {
				out = append(out, "  is "+c.Type)
			}
		}
	}
	for _, p := range w.server.pods.list() {
		out = append(out, fmt.Sprintf("pod %s: incarnation %s revision %s ready %t owned %t", p.Name, incarnationOf(p), revisionOf(p), ready(p), controllerOf(p) != ""))
	}
	for _, s := range w.server.services.list() {
		out = append(out, "service "+s.Name)
	}
	for _, r := range w.server.revisions.list() {
		out = append(out, fmt.Sprintf("revision %s number %d", r.Name, r.Revision))
	}
	for _, b := range w.server.budgets.list() {
		out = append(out, fmt.Sprintf("budget %s: %s of %s", b.Name, b.Spec.MinAvailable.String(), metav1.FormatLabelSelector(b.Spec.Selector)))
	}
	for _, g := range w.server.podGroups.list() {
		out = append(out, fmt.Sprintf("pod group %s of %s", g.Name, g.Spec.WorkloadRef.WorkloadName))
	}
	for _, g := range w.server.volcano.list() {
		out = append(out, fmt.Sprintf("pod group of Volcano %s: %v", g.GetName(), g.Object["spec"]))
	}
	for _, o := range w.server.workloads.list() {
		out = append(out, "workload "+o.Name)
	}
	return strings.Join(out, "\n")
}

// tallied says how often the controller created and deleted each object.
func (w *World) tallied() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(w.tally)) {
		out = append(out, fmt.Sprintf("%s: %d", key, w.tally[key]))
	}
	return strings.Join(out, "\n")
}

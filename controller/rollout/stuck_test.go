package rollout

import (
	"strings"
	"testing"
	"time"

	"lws-controller/controller/group"
)

// TestWhyForce: a pod is deleted by force only where no kubelet can be expected to run
// it. The times are from its deadline on; force-delete-after is 60 s where it is set.
func TestWhyForce(t *testing.T) {
	deadline := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	const after = time.Minute
	silent, ready, gone := group.Node{}, group.Node{Ready: true}, group.Node{Gone: true}
	for _, tc := range []struct {
		name      string
		node      group.Node
		unbound   bool
		held      bool
		after, at time.Duration
		want      string // part of the reason; empty: not by force
	}{
		{name: "gone, in its grace", node: gone, at: -time.Second},
		{name: "gone, a moment late", node: gone, at: 9 * time.Second},
		{name: "gone", node: gone, at: 10 * time.Second, want: "node n is gone"},
		{name: "gone, held", node: gone, held: true, at: time.Hour},
		{name: "out of service", node: group.Node{OutOfService: true}, at: 10 * time.Second, want: "node n is out of service"},
		{name: "out of service, in its grace", node: group.Node{OutOfService: true}, at: 9 * time.Second},
		{name: "out of service, and Ready again", node: group.Node{OutOfService: true, Ready: true}, after: after, at: time.Hour},
		{name: "silent", node: silent, at: time.Hour},
		{name: "silent, early", node: silent, after: after, at: 59 * time.Second},
		{name: "silent, given up", node: silent, after: after, at: 60 * time.Second, want: "not Ready, and annotation"},
		{name: "silent, held", node: silent, held: true, after: after, at: time.Hour},
		{name: "Ready", node: ready, after: after, at: time.Hour},
		{name: "never bound", unbound: true, at: 10 * time.Second, want: "never bound"},
		{name: "never bound, held", unbound: true, held: true, at: time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := group.Going{PodRef: group.PodRef{Name: "a-0", UID: "u"}, Node: "n", Deadline: deadline}
			if tc.unbound {
				g.Node = ""
			}
			if tc.held {
				g.Finalizers = []string{"example.com/theirs"}
			}
			now := deadline.Add(tc.at)
			got := WhyForce(&g, tc.node, tc.after, now)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
			// The planner decides the same from what it is told of nodes, and nothing
			// where it is told nothing.
			in := Input{Now: now, ForceDeleteAfter: tc.after, MaxWrites: 10, Groups: []group.View{{Index: 3, HasPods: true, Going: []group.Going{g}}},
				Nodes: map[string]group.Node{"n": tc.node}, GroupService: func(int32) string { return "" }}
			plan := Make(in)
			if (len(plan.Force) > 0) != (got != "") {
				t.Errorf("planned %+v, with reason %q", plan.Force, got)
			}
			if late := len(plan.Force) == 0 && !tc.held && tc.node != ready && tc.want == "" && tc.at < tc.after; late && !plan.WakeAt.After(now) {
				t.Errorf("no plan is made when time alone may change this one: %s", plan.WakeAt)
			}
			in.Nodes = nil
			if plan := Make(in); len(plan.Force) > 0 && !tc.unbound {
				t.Errorf("planned %+v without knowing the node", plan.Force)
			}
		})
	}
}

// TestStuck: what is said of a pod that does not go names pod and node, or the
// finalizer, and what would help.
func TestStuck(t *testing.T) {
	deadline := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	pod := func(name, node string, finalizers ...string) group.Going {
		return group.Going{PodRef: group.PodRef{Name: name}, Node: node, Deadline: deadline, Finalizers: finalizers}
	}
	nodes := map[string]group.Node{"up": {Ready: true}, "silent": {}, "gone": {Gone: true}, "off": {OutOfService: true}}
	if s := StuckIn(&group.View{Going: []group.Going{pod("a-0", "silent")}}, nodes, time.Minute, deadline.Add(stuckAfter)); s == nil || !strings.Contains(s.Message, "by force 1m0s after") {
		t.Errorf("with force-delete-after 1m: %+v", s)
	}
	late := pod("late", "up")
	late.Deadline = deadline.Add(time.Minute)
	for name, tc := range map[string]struct {
		going []group.Going
		words []string // none: nothing is stuck
	}{
		"in time":        {[]group.Going{late}, nil},
		"finalizer":      {[]group.Going{pod("a-0", "gone", "b.com/x", "a.com/y")}, []string{"a-0", "finalizer a.com/y, b.com/x"}},
		"Ready":          {[]group.Going{pod("a-0", "up")}, []string{"a-0", "node up", "kubelet"}},
		"silent":         {[]group.Going{pod("a-0", "silent")}, []string{"a-0", "node silent", "node.kubernetes.io/out-of-service", "delete the node", "force-delete-after"}},
		"out of service": {[]group.Going{pod("a-0", "off")}, []string{"a-0", "node off"}},
		"gone":           {[]group.Going{pod("a-0", "gone")}, []string{"a-0", "node gone"}},
		"unbound":        {[]group.Going{pod("a-0", "")}, []string{"a-0", "never bound"}},
		"not known":      {[]group.Going{pod("a-0", "other")}, []string{"a-0", "node other", "delete the node"}},
		"several":        {[]group.Going{late, pod("a-0", "silent"), pod("a-0-1", "silent"), pod("a-0-2", "up")}, []string{"a-0,", "and 2 more of its pods"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := StuckIn(&group.View{Going: tc.going}, nodes, 0, deadline.Add(stuckAfter))
			if (got == nil) != (tc.words == nil) {
				t.Fatalf("stuck: %+v", got)
			}
			for _, w := range tc.words {
				if !strings.Contains(got.Message, w) {
					t.Errorf("%q does not say %q", got.Message, w)
				}
			}
		})
	}
}

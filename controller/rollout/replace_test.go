package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "lws-controller/api/v1"
)

// When a group goes elsewhere, and what its next leader avoids.
func TestReplace(t *testing.T) {
	var full []string
	for i := range MaxAvoids {
		full = append(full, fmt.Sprintf("rack=r%d", i))
	}
	for name, tc := range map[string]struct {
		node   string // of the leader
		keys   []string
		avoids []string // of the leader
		leader time.Duration
		worker time.Duration // for how long there has been no place; 0: there is one
		after  time.Duration
		paused bool
		want   bool
		next   []string
		wake   time.Duration
	}{
		"not asked for":                    {node: "n", keys: []string{"rack"}, worker: time.Hour},
		"not yet":                          {node: "n", keys: []string{"rack"}, worker: time.Minute, after: 5 * time.Minute, wake: 4 * time.Minute},
		"a domain is avoided":              {node: "n", keys: []string{"rack"}, worker: 5 * time.Minute, after: 5 * time.Minute, want: true, next: []string{"rack=r"}},
		"also in a pause":                  {node: "n", keys: []string{"rack"}, worker: 5 * time.Minute, after: 5 * time.Minute, paused: true, want: true, next: []string{"rack=r"}},
		"of two keys the first":            {node: "n", keys: []string{"rack", "zone"}, worker: time.Hour, after: time.Minute, want: true, next: []string{"rack=r"}},
		"one more":                         {node: "n", keys: []string{"rack"}, avoids: []string{"rack=q"}, worker: time.Hour, after: time.Minute, want: true, next: []string{"rack=q", "rack=r"}},
		"the same again":                   {node: "n", keys: []string{"rack"}, avoids: []string{"rack=r"}, worker: time.Hour, after: time.Minute, want: true, next: []string{"rack=r"}},
		"no more than there is room for":   {node: "n", keys: []string{"rack"}, avoids: full, worker: time.Hour, after: time.Minute, want: true, next: append(slices.Clone(full[1:]), "rack=r")},
		"a node without the label":         {node: "m", keys: []string{"rack"}, worker: time.Hour, after: time.Minute, want: true},
		"all have places":                  {node: "n", keys: []string{"rack"}, after: time.Minute},
		"bound to no domain":               {node: "n", worker: time.Hour, after: time.Minute},
		"the leader waits for a domain":    {keys: []string{"rack"}, leader: time.Hour, after: time.Minute},
		"it waits since it avoids domains": {keys: []string{"rack"}, avoids: []string{"rack=r"}, leader: time.Hour, after: time.Minute, want: true},
		"it has not waited for long":       {keys: []string{"rack"}, avoids: []string{"rack=r"}, leader: 10 * time.Second, after: time.Minute, wake: 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			v := made(0, "b", 2, "L- 1-")
			v.Leader.Node, v.Leader.DomainKeys, v.Leader.Avoids = tc.node, tc.keys, tc.avoids
			if tc.leader > 0 {
				v.Leader.UnscheduledSince = now.Add(-tc.leader)
			}
			if tc.worker > 0 {
				v.UnplacedSince = now.Add(-tc.worker)
			}
			in := input(1, v)
			in.Current, in.ReplaceAfter, in.Paused = "b", tc.after, tc.paused
			in.NodeLabels = map[string]map[string]string{"n": {"rack": "r", "zone": "z"}}
			plan := Make(in)
			replaced := len(plan.Recycling) == 1 && plan.Recycling[0].Cause == v1.RecycleReplace
			if replaced != tc.want || len(plan.Started) != len(plan.Recycling) || replaced && (!slices.Equal(plan.Recycling[0].Avoids, tc.next) || !slices.Equal(plan.Started[0].Entry.Avoids, tc.next) || plan.Recycling[0].Revision != "b" || len(plan.Delete) != 2) {
				t.Errorf("plan %+v, want replaced %t, avoiding %v", plan, tc.want, tc.next)
			}
			if tc.wake > 0 && !plan.WakeAt.Equal(now.Add(tc.wake)) {
				t.Errorf("wakes at %s, want in %s", plan.WakeAt, tc.wake)
			}
		})
	}
}

// A replacement that is on record, and not begun, is taken back when the pods have got
// places; the leader after one that is over avoids what stands there.
func TestReplaceIsTakenBack(t *testing.T) {
	v := made(0, "b", 2, "L- 1-")
	v.Leader.Node, v.Leader.DomainKeys = "n", []string{"rack"}
	in := input(1, v)
	in.Current, in.ReplaceAfter = "b", time.Minute
	in.Recycling = []v1.RecyclingGroup{{Incarnation: 1, Cause: v1.RecycleReplace, Revision: "b", Avoids: []string{"rack=r"}}}
	if plan := Make(in); len(plan.Recycling)+len(plan.Delete) > 0 {
		t.Errorf("goes on: %+v", plan)
	}
	in.Groups[0].UnplacedSince = now.Add(-time.Hour)
	if plan := Make(in); len(plan.Recycling) != 1 || len(plan.Delete) != 2 {
		t.Errorf("does not go on: %+v", plan)
	}
	in.Groups = nil
	if plan := Make(in); len(plan.Create) != 1 || !slices.Equal(plan.Create[0].Avoids, []string{"rack=r"}) || plan.Create[0].Incarnation != 2 {
		t.Errorf("the next: %+v", plan.Create)
	}
}

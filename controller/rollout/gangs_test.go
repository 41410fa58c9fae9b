package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Which PodGroups and Workloads are made and dropped, and which incarnation and PodGroup
// the pods of a group get (CONTRACT §4).
func TestGangs(t *testing.T) {
	ours := func(index int32, incarnation int64, workload string) PodGroup {
		return PodGroup{Index: index, Incarnation: incarnation, Workload: workload}
	}
	leaving := PodGroup{Incarnation: 1, Workload: "w-2", Unusable: "is being deleted", Leaving: true}
	foreign := PodGroup{Incarnation: 1, Unusable: NotOurs}
	running := func(gang string) group.View {
		v := made(0, "b", 2, "L*")
		v.Gang = gang
		return v
	}
	for name, tc := range map[string]struct {
		groups    []group.View
		podGroups map[string]PodGroup
		workloads map[string]Service
		entries   []v1.RecyclingGroup
		replicas  int32
		none      bool // the set asks for no scheduling
		conflict  string
		create    string
		made      string // PodGroups and Workloads
		dropped   string
		blocked   string
	}{
		"a new group": {create: "0.1 s-0-1", made: "s-0-1 w-2"},
		"a new group whose PodGroup is there already": {podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")}, workloads: map[string]Service{"w-2": {}},
			create: "0.1 s-0-1", made: "s-0-1"}, // asked for again, as it may be gone
		"one of another size is there": {podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-3")}, workloads: map[string]Service{"w-2": {}, "w-3": {}},
			create: "0.2 s-0-2", made: "s-0-2", dropped: "s-0-1"},
		"one that is being deleted": {podGroups: map[string]PodGroup{"s-0-1": leaving}, create: "0.2 s-0-2", made: "s-0-2 w-2"},
		"somebody else's":           {podGroups: map[string]PodGroup{"s-0-1": foreign}, create: "0.2 s-0-2", made: "s-0-2 w-2"},
		"one of a later time":       {podGroups: map[string]PodGroup{"s-0-7": ours(0, 7, "w-2")}, create: "0.7 s-0-7", made: "s-0-7 w-2"},
		"after a teardown": {entries: []v1.RecyclingGroup{{Incarnation: 4, Cause: v1.RecycleFailure, Revision: "b"}},
			podGroups: map[string]PodGroup{"s-0-4": ours(0, 4, "w-2")}, workloads: map[string]Service{"w-2": {}}, create: "0.5 s-0-5", made: "s-0-5", dropped: "s-0-4"},
		"no scheduling, beside what is left": {none: true, podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")}, workloads: map[string]Service{"w-2": {}},
			create: "0.2 ", dropped: "s-0-1"},
		"a Workload that cannot be used": {workloads: map[string]Service{"w-2": {Unusable: NotOurs}}, blocked: "workload w-2"},
		"a worker is missing":            {groups: []group.View{running("s-0-1")}, podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")}, workloads: map[string]Service{"w-2": {}}, create: "0.1 s-0-1"},
		"a worker, and the PodGroup goes": {groups: []group.View{running("s-0-1")}, podGroups: map[string]PodGroup{"s-0-1": leaving},
			workloads: map[string]Service{"w-2": {}}, create: "0.1 s-0-1"},
		"a worker, and the PodGroup is gone": {groups: []group.View{running("s-0-1")}, create: "0.1 s-0-1", made: "s-0-1 w-2"},
		"a worker, and it is another's":      {groups: []group.View{running("s-0-1")}, podGroups: map[string]PodGroup{"s-0-1": foreign}, blocked: "podgroup s-0-1"},
		"a worker of a group without one":    {groups: []group.View{running("")}, create: "0.1 "},
		"a worker, and the pods do not name it": {groups: []group.View{running("")}, podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")},
			workloads: map[string]Service{"w-2": {}}, blocked: "podgroup s-0-1"},
		"two priorities in the revision": {conflict: "two priorities", blocked: "revision b"},
		"a Workload that lacks something": {podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-3")}, workloads: map[string]Service{"w-2": {Unusable: "lacks", Ours: true}, "w-3": {}},
			blocked: "workload w-2", dropped: "s-0-1 w-2"},
		"nothing is wanted": {replicas: -1, podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")}, workloads: map[string]Service{"w-2": {}, "w-3": {}},
			dropped: "s-0-1 w-3"}, // w-2 once the PodGroup is gone
		"a teardown that is not understood": {entries: []v1.RecyclingGroup{{Incarnation: 1, Cause: "Later", Revision: "b"}},
			podGroups: map[string]PodGroup{"s-0-1": ours(0, 1, "w-2")}, workloads: map[string]Service{"w-2": {}}, blocked: "teardown Later"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(max(0, 1+tc.replicas), tc.groups...)
			in.Current, in.Recycling, in.PodGroups, in.Workloads = "b", tc.entries, tc.podGroups, tc.workloads
			for i := range in.Groups { // the policy replaces single pods
				in.Groups[i].Failure = nil
			}
			in.PodGroupName = func(index int32, incarnation int64) string { return fmt.Sprintf("s-%d-%d", index, incarnation) }
			in.VolcanoName = func(index int32, revision string) string { return fmt.Sprintf("s-%d-%s", index, revision) }
			if !tc.none {
				for key, t := range in.Templates {
					t.Workload, t.Conflict = fmt.Sprintf("w-%d", t.Size), tc.conflict
					in.Templates[key] = t
				}
			}
			plan := Make(in)
			create := ""
			for _, c := range plan.Create {
				create += fmt.Sprintf("%d.%d %s", c.Index, c.Incarnation, c.Gang)
			}
			names := func(wanted ...[]GangWanted) string {
				var out []string
				for _, w := range slices.Concat(wanted...) {
					out = append(out, w.Name)
				}
				return strings.Join(out, " ")
			}
			blocked := ""
			for _, b := range plan.Blocked {
				blocked += b.Kind + " " + b.Name
			}
			var gone []string
			for _, g := range plan.DeletePodGroups {
				gone = append(gone, g.Name)
			}
			dropped := strings.Join(append(gone, plan.DeleteWorkloads...), " ")
			if create != tc.create || names(plan.CreatePodGroups, plan.CreateWorkloads) != tc.made || dropped != tc.dropped || blocked != tc.blocked {
				t.Errorf("creates %q, want %q; makes %q, want %q; drops %q, want %q; blocked %q, want %q",
					create, tc.create, names(plan.CreatePodGroups, plan.CreateWorkloads), tc.made, dropped, tc.dropped, blocked, tc.blocked)
			}
		})
	}
}

package rollout

import (
	"fmt"
	"strings"
	"testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// gangs has all groups of an input be gangs, native ones or Volcano's.
func gangs(in Input, volcano bool) Input {
	in.Update = in.Current
	in.PodGroupName = func(index int32, incarnation int64) string { return fmt.Sprintf("s-%d-%d", index, incarnation) }
	in.VolcanoName = func(index int32, revision string) string { return fmt.Sprintf("s-%d-%s", index, revision) }
	for key, t := range in.Templates {
		if t.Volcano = volcano; !volcano {
			t.Workload = "w"
		}
		in.Templates[key] = t
	}
	if !volcano {
		in.Workloads = map[string]Service{"w": {}}
	}
	return in
}

// ofGang is a group whose pods refer to a PodGroup.
func ofGang(v group.View, gang string) group.View {
	v.Gang = gang
	return v
}

// acts says what a plan does to PodGroups, and for which groups it makes pods.
func acts(p Plan) string {
	var out []string
	for _, g := range p.DeletePodGroups {
		out = append(out, "delete "+g.Name)
	}
	for _, g := range p.CreatePodGroups {
		out = append(out, fmt.Sprintf("create %s of %d", g.Name, g.Incarnation))
	}
	for _, g := range p.UpdatePodGroups {
		out = append(out, fmt.Sprintf("update %s of %d", g.Name, g.Incarnation))
	}
	for _, c := range p.Create {
		out = append(out, fmt.Sprintf("pods %v of %d.%d for %s", c.Workers, c.Index, c.Incarnation, c.Gang))
	}
	for _, b := range p.Blocked {
		out = append(out, fmt.Sprintf("blocked by %s %s", b.Kind, b.Name))
	}
	return strings.Join(out, "; ")
}

// Which PodGroups of Volcano there are to be: one for each incarnation, made once that of
// the incarnation before is gone, and kept as long as pods refer to it.
func TestVolcanoGangs(t *testing.T) {
	const a, n = "volcano/s-0-a", "volcano/s-0-b"
	torn := func(revision string) []v1.RecyclingGroup {
		return []v1.RecyclingGroup{{Index: 0, Incarnation: 1, Cause: v1.RecycleFailure, Revision: revision}}
	}
	of := func(incarnation int64) PodGroup { return PodGroup{Incarnation: incarnation} }
	whole := func() group.View { return ofGang(made(0, "a", 3, "L* 1+ 2+"), a) }
	for name, tc := range map[string]struct {
		change    func(in *Input)
		groups    []group.View
		podGroups map[string]PodGroup
		want      string
	}{
		"a new group": {want: "create volcano/s-0-a of 1; pods [0 1 2] of 0.1 for volcano/s-0-a"},
		"made, its pods are not": {podGroups: map[string]PodGroup{a: of(1)},
			want: "create volcano/s-0-a of 1; pods [0 1 2] of 0.1 for volcano/s-0-a"},
		"whole":               {groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: of(1)}, want: ""},
		"deleted by somebody": {groups: []group.View{whole()}, want: "create volcano/s-0-a of 1"},
		"changed by somebody": {groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: {Incarnation: 1, Differs: true}}, want: "update volcano/s-0-a of 1"},
		"marked otherwise":    {groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: of(0)}, want: "update volcano/s-0-a of 1"},
		"somebody else's":     {groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: {Incarnation: 1, Differs: true, Unusable: NotOurs}}, want: ""},
		"a worker is missing": {groups: []group.View{ofGang(made(0, "a", 3, "L+ 1+"), a)}, podGroups: map[string]PodGroup{a: of(1)},
			want: "pods [2] of 0.1 for volcano/s-0-a"},
		"going, it is kept": {change: func(in *Input) { in.Recycling = torn("a") }, groups: []group.View{ofGang(made(0, "a", 3, "L~ 1~ 2~"), a)},
			podGroups: map[string]PodGroup{a: {Incarnation: 1, Differs: true}}, want: ""},
		"gone, it goes first": {change: func(in *Input) { in.Recycling = torn("a") }, podGroups: map[string]PodGroup{a: of(1)}, want: "delete volcano/s-0-a"},
		"gone, and so is it": {change: func(in *Input) { in.Recycling = torn("a") },
			want: "create volcano/s-0-a of 2; pods [0 1 2] of 0.2 for volcano/s-0-a"},
		"gone, the next is there": {change: func(in *Input) { in.Recycling = torn("a") }, podGroups: map[string]PodGroup{a: of(2)},
			want: "create volcano/s-0-a of 2; pods [0 1 2] of 0.2 for volcano/s-0-a"},
		"gone, a finalizer keeps it": {change: func(in *Input) { in.Recycling = torn("a") },
			podGroups: map[string]PodGroup{a: {Incarnation: 1, Unusable: "is being deleted", Leaving: true}}, want: "blocked by podgroup s-0-a"},
		"the name is taken": {podGroups: map[string]PodGroup{a: {Unusable: NotOurs}}, want: "blocked by podgroup s-0-a"},
		"at another revision": {change: func(in *Input) { in.Recycling, in.Update = torn("b"), "b" }, podGroups: map[string]PodGroup{a: of(1)},
			want: "delete volcano/s-0-a; create volcano/s-0-b of 2; pods [0 1] of 0.2 for " + n},
		"leader first":     {change: func(in *Input) { in.LeaderFirst = true }, want: "create volcano/s-0-a of 1; pods [0] of 0.1 for volcano/s-0-a"},
		"scaled down":      {change: func(in *Input) { in.Replicas = 0 }, podGroups: map[string]PodGroup{a: of(1)}, want: "delete volcano/s-0-a"},
		"withheld":         {change: func(in *Input) { in.Withheld = true }, groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: {Incarnation: 1, Differs: true}}, want: ""},
		"withheld, no pod": {change: func(in *Input) { in.Withheld = true }, want: ""},
		"no Volcano any more": {change: func(in *Input) { in.Templates = input(1).Templates }, groups: []group.View{whole()}, podGroups: map[string]PodGroup{a: of(1)},
			want: ""},
		"no Volcano any more, a worker is missing": {change: func(in *Input) { in.Templates = input(1).Templates }, groups: []group.View{ofGang(made(0, "a", 3, "L+ 1+"), a)},
			podGroups: map[string]PodGroup{a: of(1)}, want: "pods [2] of 0.1 for volcano/s-0-a"},
		"no Volcano any more, and no pod": {change: func(in *Input) { in.Templates = input(1).Templates }, podGroups: map[string]PodGroup{a: of(1)},
			want: "delete volcano/s-0-a; pods [0 1 2] of 0.2 for "},
		"native ones of before": {groups: []group.View{ofGang(made(0, "a", 3, "L* 1+ 2+"), "s-0-1")}, podGroups: map[string]PodGroup{"s-0-1": {Incarnation: 1, Workload: "w"}}, want: ""},
	} {
		in := gangs(input(1, tc.groups...), true)
		in.PodGroups = tc.podGroups
		if tc.change != nil {
			tc.change(&in)
		}
		if got := acts(Make(in)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", name, got, tc.want)
		}
	}
}

// Volcano's PodGroups of before, in a set that has native ones now, go with their pods.
func TestVolcanoToNative(t *testing.T) {
	for name, tc := range map[string]struct {
		groups    []group.View
		podGroups map[string]PodGroup
		want      string
	}{
		"Volcano's of before": {groups: []group.View{ofGang(made(0, "a", 3, "L* 1+ 2+"), "volcano/s-0-a")},
			podGroups: map[string]PodGroup{"volcano/s-0-a": {Incarnation: 1, Differs: true}}, want: ""},
		"Volcano's of before, no pod": {podGroups: map[string]PodGroup{"volcano/s-0-a": {Incarnation: 1}},
			want: "delete volcano/s-0-a; create s-0-2 of 2; pods [0 1 2] of 0.2 for s-0-2"},
	} {
		in := gangs(input(1, tc.groups...), false)
		in.PodGroups = tc.podGroups
		if got := acts(Make(in)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", name, got, tc.want)
		}
	}
}

package rollout

import (
	"fmt"
	"testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

func TestDisruptionBudget(t *testing.T) {
	four := func(with ...group.View) Input {
		in := input(4, served(0, "a", 3), served(1, "a", 3), served(2, "a", 3), served(3, "a", 3))
		for _, v := range with {
			in.Groups[v.Index] = v
		}
		in.Update = "a"
		return in
	}
	none := func(in *Input) { in.Templates["a"] = Template{Size: 3, RestartPolicy: v1.NoneRestartPolicy} }
	failing := served(2, "a", 3)
	failing.Failure = &group.Failure{Reason: group.FailurePodGone}
	for _, tc := range []struct {
		name string
		d    int32
		in   Input
		with func(*Input)
		want string
	}{
		{"none asked for", 0, four(), nil, "none"},
		{"all Ready", 1, four(), nil, "[0 1 2 3] 11"},
		{"one is recreated", 1, four(made(2, "a", 3, "L! 1- 2-")), nil, "[0 1 3] 9"},
		{"one is recreated, two may be", 2, four(made(2, "a", 3, "L! 1- 2-")), nil, "[0 1 3] 8"},
		{"two are, and may be", 2, four(made(1, "a", 3, "L~ 1~ 2+"), made(2, "a", 3, "L! 1- 2-")), nil, "[0 3] 6"},
		{"two were never there", 1, four(made(2, "a", 3, "L- 1- 2-"), made(3, "a", 3, "L+ 1- 2-")), func(in *Input) { in.Established = 2 }, "[0 1] 5"},
		{"what is Ready is established", 1, four(made(3, "a", 3, "L+ 1- 2-")), func(in *Input) { in.Established = 0 }, "[0 1 2] 8"},
		{"an evicted pod condemns its group in the same plan", 1, four(made(2, "a", 3, "L* 1~ 2+")), nil, "[0 1 3] 9"},
		{"a failure that its pods do not show", 1, four(failing), nil, "[0 1 3] 9"},
		{"a teardown on record", 1, four(), func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(3, v1.RecycleFailure, "a")} }, "[0 1 2] 9"},
		{"an update takes one of them in this plan", 1, four(), func(in *Input) { in.Update = "b" }, "[0 1 2] 9"},
		{"an update takes one of those that were never there at one time before", 1, four(), func(in *Input) { in.Update, in.Established = "b", 3 }, "[0 1 2] 9"},
		{"scaled down", 1, four(), func(in *Input) { in.Replicas = 2 }, "[0 1] 5"},
		{"surge makes up for none", 1, input(2, made(0, "b", 2, "L! 1-"), served(1, "a", 3), served(2, "b", 2)),
			func(in *Input) { in.Budget = Budget{Surge: 1} }, "[1 2] 5"},
		{"each has the size of its revision", 1, input(2, served(0, "a", 3), served(1, "b", 2)), func(in *Input) { in.Paused = true }, "[0 1] 4"},
		{"none is Ready", 1, input(1, made(0, "b", 2, "L- 1-")), nil, "[] 0"},
		{"nothing there", 3, input(0), nil, "[] 0"},
		{"None: one pod at a time", 1, four(), none, "[0 1 2 3] 11"},
		{"None: the others of a group stay protected", 2, four(made(2, "a", 3, "L* 1~ 2+")), none, "[0 1 2 3] 11"},
		{"None: a group that was never Ready", 2, four(made(2, "a", 3, "L- 1+ 2+")), none, "[0 1 3] 8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.DisruptionBudget = tc.d
			if tc.with != nil {
				tc.with(&tc.in)
			}
			got := "none"
			if b := Make(tc.in).Disruption; b != nil {
				got = fmt.Sprint(b.Groups, " ", b.MinAvailable)
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

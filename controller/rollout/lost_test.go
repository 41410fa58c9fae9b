package rollout

import (
	"testing"

	v1 "lws-controller/api/v1"
)

// Of groups whose revision nobody knows any more (z) those that are whole stay, with
// the Services they may need; one that lacks a pod comes back at the present spec, and
// the plan says what it would have been.
func TestLostRevision(t *testing.T) {
	whole, short := served(0, "z", 2), made(1, "z", 2, "L+")
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"whole", input(1, whole), ""},
		{"lacks a worker", input(2, whole, short), "Failure 1→z; delete 1:0"},
	} {
		in := c.in
		in.Partition = 2
		in.Services = map[string]Service{"s": {}, "s-0": {}, "s-1": {}, "s-7": {}}
		want := "no service s-7"
		if c.want != "" {
			want = c.want + "; " + want
		} else {
			want = "no service s-1; " + want
		}
		if got := show(Make(in)); got != want {
			t.Errorf("%s: plan\n got %q\nwant %q", c.name, got, want)
		}
	}
	in := input(2, whole)
	in.Partition = 2
	in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleFailure, "z")}
	plan := Make(in)
	if len(plan.Create) != 1 || plan.Create[0].Revision != "b" || plan.Create[0].Lost != "z" {
		t.Errorf("created is %+v, want group 1 at b, which should have been at z", plan.Create)
	}
}

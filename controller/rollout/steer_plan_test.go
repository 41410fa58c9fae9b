package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// since is a group whose leader was created so long ago, when its last move was too,
// and which has been Ready since.
func since(ago time.Duration, v group.View) group.View {
	leader := *v.Leader
	leader.Created = now.Add(-ago)
	if leader.GroupReady != nil {
		leader.GroupReady = &group.GroupReady{True: leader.GroupReady.True, Since: now.Add(-ago)}
	}
	v.Leader, v.LastMove = &leader, now.Add(-ago)
	return v
}

// marked is a group made after a request of that time.
func marked(at time.Time, v group.View) group.View {
	leader := *v.Leader
	leader.RecycledAt = at
	v.Leader = &leader
	return v
}

// failed is a group that its policy recreates.
func failed(v group.View) group.View {
	v.Failure = &group.Failure{Reason: group.FailureContainerRestarted, Counts: true}
	return v
}

func paused(in *Input) { in.Paused = true }

// asked has groups recreated that were asked for so long ago.
func asked(ago time.Duration, first, last int32, more ...func(*Input)) func(*Input) {
	return func(in *Input) {
		in.Recycle = RecycleRequest{Groups: []IndexRange{{first, last}}, At: now.Add(-ago)}
		for _, change := range more {
			change(in)
		}
	}
}

func settledAtB(in *Input) { in.Current = "b" }

func TestMakeSteered(t *testing.T) {
	old, young := time.Hour, 10*time.Second
	minReady := func(in *Input) { in.MinReady = time.Minute }
	for _, tc := range []struct {
		name string
		in   Input
		with func(*Input)
		want string
		wake time.Duration // from now
	}{
		{name: "paused: a failed group comes back at its own revision, without waiting for room",
			in: input(2, failed(served(0, "a", 3)), served(1, "a", 3)), with: paused, want: "Failure 0→a; delete 0:0,1,2"},
		{name: "paused: new groups are made at the current revision",
			in: input(3, served(0, "a", 3), served(1, "b", 2)), with: paused, want: "create 2:0,1,2@a#1"},
		{name: "paused: nothing before a first rollout has ended: the present spec",
			in: input(1), with: func(in *Input) { in.Paused, in.Current = true, "b" }, want: "create 0:0,1@b#1"},
		{name: "paused: surge that is there stays", in: input(2, served(0, "a", 3), served(1, "a", 3), served(2, "b", 2)),
			with: func(in *Input) { in.Paused, in.Budget = true, Budget{Surge: 1} }, want: ""},
		{name: "paused: and none is made", in: input(2, served(0, "a", 3), served(1, "a", 3)),
			with: func(in *Input) { in.Paused, in.Budget = true, Budget{Surge: 1} }, want: ""},
		{name: "paused: an update that has not begun to delete is dropped", in: input(2, served(0, "a", 3), served(1, "a", 3)),
			with: func(in *Input) { in.Paused, in.Recycling = true, []v1.RecyclingGroup{entry(1, v1.RecycleUpdate, "b")} }, want: ""},
		{name: "paused: one that has begun goes on", in: input(2, served(0, "a", 3), made(1, "a", 3, "L* 1~ 2+")),
			with: func(in *Input) { in.Paused, in.Recycling = true, []v1.RecyclingGroup{entry(1, v1.RecycleUpdate, "b")} }, want: "delete 1:0,2"},
		{name: "paused: and ends where it was to", in: input(2, served(0, "a", 3)),
			with: func(in *Input) { in.Paused, in.Recycling = true, []v1.RecyclingGroup{entry(1, v1.RecycleUpdate, "b")} }, want: "create 1:0,1@b#2"},
		{name: "paused: scaling down goes on", in: input(1, served(0, "a", 3), served(1, "a", 3)), with: paused, want: "ScaleDown 1→a; delete 1:0,1,2"},

		{name: "min-ready: the next group waits", in: input(2, since(old, served(0, "a", 3)), since(young, served(1, "b", 2))), with: minReady,
			want: "", wake: 50 * time.Second},
		{name: "min-ready: to the second", in: input(2, since(old, served(0, "a", 3)), since(time.Minute, served(1, "b", 2))), with: minReady,
			want: "Update 0→b; delete 0:0,1,2"},
		{name: "min-ready: a stand-in must have served as well", in: input(1, since(old, served(0, "a", 3)), since(young, served(1, "b", 2))),
			with: func(in *Input) { in.MinReady, in.Budget = time.Minute, Budget{Surge: 1} }, want: "", wake: 50 * time.Second},
		{name: "min-ready: Ready and not said so by the leader is not known", in: input(2, since(old, served(0, "a", 3)), since(old, made(1, "b", 2, "L+ 1+"))),
			with: minReady, want: "mark 1 true"},

		{name: "recycle: the time has not come", in: input(1, since(old, served(0, "b", 2))), with: asked(-time.Minute, 0, 0), want: "", wake: time.Minute},
		{name: "recycle: the time has just come", in: input(1, since(old, served(0, "b", 2))), with: asked(0, 0, 0), want: "Recycle 0→b; delete 0:0,1"},
		{name: "recycle: chosen groups, the highest first, within the budget",
			in:   input(4, since(old, served(0, "b", 2)), since(old, served(1, "b", 2)), since(old, served(2, "b", 2)), since(old, served(3, "b", 2))),
			with: asked(young, 0, 2, func(in *Input) { in.Budget.Unavailable = 2 }), want: "Recycle 2→b; Recycle 1→b; delete 1:0,1; delete 2:0,1"},
		{name: "recycle: not while another group is missing", in: input(2, since(old, served(0, "b", 2)), since(old, made(1, "b", 2, "L! 1-"))),
			with: asked(young, 0, 0), want: "mark 1 false"},
		{name: "recycle: a broken one needs no budget", in: input(3, since(old, made(0, "b", 2, "L- 1-")), since(old, made(1, "b", 2, "L- 1-")), since(old, made(2, "b", 2, "L- 1-"))),
			with: asked(young, 0, 1), want: "Recycle 1→b; Recycle 0→b; delete 0:0,1; delete 1:0,1"},
		{name: "recycle: what is newer than the request is done", in: input(1, since(young, served(0, "b", 2))), with: asked(time.Minute, 0, 0), want: ""},
		{name: "recycle: so is what is marked, by whatever clock", in: input(1, marked(now.Add(-young), since(old, served(0, "b", 2)))), with: asked(young, 0, 0), want: ""},
		{name: "recycle: or marked by a later request", in: input(1, marked(now, since(old, served(0, "b", 2)))), with: asked(young, 0, 0), want: ""},
		{name: "recycle: a mark from an earlier request is none", in: input(1, marked(now.Add(-old), since(old, served(0, "b", 2)))), with: asked(young, 0, 0),
			want: "Recycle 0→b; delete 0:0,1"},
		{name: "recycle: groups that are not there", in: input(1, since(old, served(0, "b", 2))), with: asked(young, 1, 9999999), want: ""},
		{name: "recycle: below the partition at its own revision", in: input(2, since(old, served(0, "a", 3)), since(old, served(1, "b", 2))),
			with: asked(young, 0, 0, func(in *Input) { in.Partition = 1 }), want: "Recycle 0→a; delete 0:0,1,2"},
		{name: "recycle: no unavailability, a stand-in first", in: input(2, since(old, served(0, "b", 2)), since(old, served(1, "b", 2))),
			with: asked(young, 0, 0, settledAtB, func(in *Input) { in.Budget = Budget{Surge: 1} }), want: "create 2:0,1@b#1"},
		{name: "recycle: the stand-in is there", in: input(2, since(old, served(0, "b", 2)), since(old, served(1, "b", 2)), served(2, "b", 2)),
			with: asked(young, 0, 0, settledAtB, func(in *Input) { in.Budget = Budget{Surge: 1} }), want: "Recycle 0→b; delete 0:0,1"},
		{name: "recycle: no unavailability and no stand-in below the partition: one at a time",
			in:   input(3, since(old, served(0, "a", 3)), since(old, served(1, "a", 3)), since(old, served(2, "b", 2))),
			with: asked(young, 0, 1, func(in *Input) { in.Partition, in.Budget = 2, Budget{Surge: 1} }), want: "Recycle 1→a; delete 1:0,1,2"},
		{name: "recycle: and not the next before that is back",
			in: input(3, since(old, served(0, "a", 3)), since(old, served(2, "b", 2))),
			with: asked(young, 0, 1, func(in *Input) {
				in.Partition, in.Budget = 2, Budget{Surge: 1}
				in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleRequested, "a")}
			}), want: "create 1:0,1,2@a#2"},
		{name: "recycle: taken back in time", in: input(1, since(old, served(0, "b", 2))),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleRequested, "b")} }, want: ""},
		{name: "recycle: taken back too late", in: input(1, since(old, made(0, "b", 2, "L* 1~"))),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleRequested, "b")} }, want: "delete 0:0"},
		{name: "recycle: also while paused", in: input(2, since(old, served(0, "a", 3)), since(old, served(1, "a", 3))), with: asked(young, 1, 1, paused),
			want: "Recycle 1→a; delete 1:0,1,2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.with != nil {
				tc.with(&tc.in)
			}
			plan := Make(tc.in)
			if got := show(plan); got != tc.want {
				t.Errorf("plan\n got %q\nwant %q", got, tc.want)
			}
			if tc.wake != 0 && !plan.WakeAt.Equal(now.Add(tc.wake)) {
				t.Errorf("wakes at %s, want in %s", plan.WakeAt, tc.wake)
			}
		})
	}
}

// TestRecycledMark: what is made once the time has come is marked, so that a clock
// that differs from the API server's makes nobody recreate a group twice.
func TestRecycledMark(t *testing.T) {
	for name, tc := range map[string]struct {
		ago  time.Duration
		want bool
	}{"to come": {-time.Second, false}, "come": {0, true}, "long ago": {time.Hour, true}} {
		in := input(2)
		asked(tc.ago, 1, 1)(&in)
		for _, c := range Make(in).Create {
			if is := !c.RecycledAt.IsZero(); is != (tc.want && c.Index == 1) || is && !c.RecycledAt.Equal(in.Recycle.At) {
				t.Errorf("%s: group %d is marked %s", name, c.Index, c.RecycledAt)
			}
		}
	}
}

func TestDeadline(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const long, deadline, short = time.Hour, 10 * time.Minute, time.Minute
	waiting := func(d time.Duration) group.View { return since(d, made(2, "b", 2, "L- 1-")) }
	rollout := func(last time.Duration) Input {
		in := input(3, since(long, served(0, "a", 3)), since(long, served(1, "a", 3)), waiting(last))
		in.ProgressDeadline, in.ProgressingSince = deadline, ago(long)
		return in
	}
	for _, tc := range []struct {
		name    string
		in      Input
		with    func(*Input)
		stalled bool
		wake    time.Time
		does    string
	}{
		{name: "nothing has moved", in: rollout(long), stalled: true},
		{name: "for exactly so long", in: rollout(deadline), stalled: true},
		{name: "not quite", in: rollout(deadline - time.Second), wake: now.Add(time.Second)},
		{name: "no deadline", in: rollout(long), with: func(in *Input) { in.ProgressDeadline = 0 }},
		{name: "at rest", in: rollout(long), with: func(in *Input) { in.ProgressingSince = time.Time{} }},
		{name: "just set out", in: rollout(long), with: func(in *Input) { in.ProgressingSince = ago(short) }, wake: now.Add(deadline - short)},
		{name: "paused", in: rollout(long), with: paused},
		{name: "a move of any group counts", in: rollout(long), with: func(in *Input) { in.Groups[0].LastMove = ago(short) }, wake: now.Add(deadline - short)},
		{name: "a teardown on record counts", in: rollout(long), with: func(in *Input) {
			e := entry(2, v1.RecycleFailure, "b")
			e.StartedAt = metav1.NewTime(ago(short))
			in.Recycling = []v1.RecyclingGroup{e}
		}, wake: now.Add(deadline - short), does: "delete 2:0,1"},
		{name: "recreated again and again", in: rollout(short), wake: now.Add(deadline - short)},
		{name: "no further group, also if there is room", in: rollout(long), with: func(in *Input) { in.Budget.Unavailable = 2 }, stalled: true},
		{name: "which would go without a deadline", in: rollout(long), with: func(in *Input) { in.Budget.Unavailable, in.ProgressDeadline = 2, 0 },
			does: "Update 1→b; delete 1:0,1,2"},
		{name: "failures go on", in: rollout(long), with: func(in *Input) { in.Groups[0] = failed(in.Groups[0]) }, stalled: true, does: "Failure 0→a; delete 0:0,1,2"},
		{name: "a revert is not held back", in: rollout(long), with: func(in *Input) { in.Update = "a" }, stalled: true, does: "Update 2→a; delete 2:0,1"},
		{name: "nor is another spec", in: rollout(long), with: func(in *Input) {
			in.Templates["c"] = in.Templates["b"]
			in.Update = "c"
		}, stalled: true, does: "Update 2→c; delete 2:0,1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.with != nil {
				tc.with(&tc.in)
			}
			plan := Make(tc.in)
			if got := show(plan); plan.Stalled != tc.stalled || got != tc.does {
				t.Errorf("stalled %t, does %q; want %t, %q", plan.Stalled, got, tc.stalled, tc.does)
			}
			if !tc.wake.IsZero() && !plan.WakeAt.Equal(tc.wake) {
				t.Errorf("wakes at %s, want %s", plan.WakeAt, tc.wake)
			}
			if settled := Settle(tc.in); settled.Stalled != tc.stalled {
				t.Errorf("the status says stalled %t", settled.Stalled)
			}
		})
	}
}

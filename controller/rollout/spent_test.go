package rollout

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// disrupted is a group that has, besides what it has, lost a pod to a drain.
func disrupted(v group.View) group.View {
	v.OtherFailures = append(v.OtherFailures, &group.Failure{Reason: group.FailurePodDeleted})
	return v
}

// What a failed group at revision b does that was recreated so often, the last time so
// long ago, with a budget of so many.
func TestRestartBudget(t *testing.T) {
	for _, tc := range []struct {
		name           string
		count, settled int32
		ago            time.Duration
		budget         int32 // -1: none
		v              group.View
		want           string
		after          int32 // the count
		wakeIn         time.Duration
		spent          bool
	}{
		{"the first, budget 1", 0, 0, 0, 1, failed(served(0, "b", 2)), "Failure 0→b; delete 0:0,1", 1, 0, false},
		{"the second, budget 1", 1, 0, time.Hour, 1, failed(served(0, "b", 2)), "", 1, 0, true},
		{"the second, budget 2", 1, 0, time.Hour, 2, failed(served(0, "b", 2)), "Failure 0→b; delete 0:0,1", 2, 0, false},
		{"the second, budget 2, at once", 1, 0, time.Second, 2, failed(served(0, "b", 2)), "", 1, 9 * time.Second, false},
		{"the third, budget 2", 2, 0, time.Hour, 2, failed(served(0, "b", 2)), "", 2, 0, true},
		{"the first, budget 0", 0, 0, 0, 0, failed(served(0, "b", 2)), "", 0, 0, true},
		{"the ninth, no budget", 8, 0, time.Hour, -1, failed(served(0, "b", 2)), "Failure 0→b; delete 0:0,1", 9, 0, false},
		{"settled ones delay no more", 3, 3, time.Second, 9, failed(served(0, "b", 2)), "Failure 0→b; delete 0:0,1", 4, 0, false},
		{"but the one since then does", 4, 3, time.Second, 9, failed(served(0, "b", 2)), "", 4, 9 * time.Second, false},
		{"a budget that is spent and a drain", 2, 0, time.Hour, 2, disrupted(failed(served(0, "b", 2))), "Failure 0→b; delete 0:0,1", 2, 0, false},
		{"a backoff and a drain", 1, 0, time.Second, 2, disrupted(failed(served(0, "b", 2))), "Failure 0→b; delete 0:0,1", 1, 0, false},
		{"a drain and a failure", 0, 0, 0, 2, disrupted(failed(served(0, "b", 2))), "Failure 0→b; delete 0:0,1", 1, 0, false},
		{"healthy with a budget that is spent", 2, 0, time.Minute, 2, served(0, "b", 2), "", 2, 9 * time.Minute, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := input(1, tc.v)
			in.Current = "b"
			template := in.Templates["b"]
			if tc.budget >= 0 {
				template.MaxGroupRestarts = &tc.budget
			}
			in.Templates["b"] = template
			if tc.count > 0 {
				in.Restarts = []v1.GroupRestarts{{Index: 0, Revision: "b", Count: tc.count, Settled: tc.settled, LastAt: metav1.NewTime(now.Add(-tc.ago))}}
			}
			p := Make(in)
			if got := show(p); got != tc.want {
				t.Errorf("does %q, want %q", got, tc.want)
			}
			if n := restartsOf(p.Restarts, &tc.v); n != tc.after {
				t.Errorf("count %d, want %d", n, tc.after)
			}
			// All groups are Ready for a minute, and are forgotten after ten.
			if tc.wakeIn > 0 && p.WakeAt != now.Add(tc.wakeIn) {
				t.Errorf("wakes at %s, want in %s", p.WakeAt, tc.wakeIn)
			}
			tally := Count(in)
			if is := len(tally.Spent) == 1; is != tc.spent || is != (tally.Phases[group.Failed] == 1) || is && (tally.OnTheWay != 0 || tally.Ready != 0) {
				t.Errorf("spent %v, phases %v, on the way %d, ready %d", tally.Spent, tally.Phases, tally.OnTheWay, tally.Ready)
			}
		})
	}
}

// A group that is left as it is does not serve, however its pods are: an update takes it
// before those that do.
func TestSpentGroupsMoveFirst(t *testing.T) {
	in := input(3, served(0, "a", 3), failed(served(1, "a", 3)), served(2, "a", 3))
	template := in.Templates["a"]
	template.MaxGroupRestarts = new(int32(0))
	in.Templates["a"] = template
	if got, want := show(Make(in)), "Update 1→b; delete 1:0,1,2"; got != want {
		t.Errorf("does %q, want %q", got, want)
	}
}

// After ten minutes the count goes, or, where there is a budget, no longer delays.
func TestRestartsAreForgotten(t *testing.T) {
	v := served(0, "b", 2)
	v.Leader.GroupReady.Since = now.Add(-10 * time.Minute)
	in := input(1, v)
	in.Restarts = []v1.GroupRestarts{{Index: 0, Revision: "b", Count: 2, LastAt: metav1.NewTime(now.Add(-time.Hour))}}
	if p := Make(in); len(p.Restarts) != 0 {
		t.Errorf("without a budget: %v", p.Restarts)
	}
	template := in.Templates["b"]
	template.MaxGroupRestarts = new(int32(5))
	in.Templates["b"] = template
	if p := Make(in); len(p.Restarts) != 1 || p.Restarts[0].Count != 2 || p.Restarts[0].Settled != 2 {
		t.Errorf("with a budget: %v", p.Restarts)
	}
}

// A leader says how many restarts there were, once its group has started, and again if
// there are fewer.
func TestStart(t *testing.T) {
	for _, tc := range []struct {
		name     string
		policy   v1.RestartPolicyType
		whole    bool
		started  bool
		seen     *int64
		restarts int64
		want     []int64
	}{
		{"started", v1.RecreateGroupAfterStart, true, true, nil, 3, []int64{3}},
		{"known", v1.RecreateGroupAfterStart, true, true, new(int64(3)), 3, nil},
		{"one more", v1.RecreateGroupAfterStart, true, true, new(int64(2)), 3, nil},
		{"fewer", v1.RecreateGroupAfterStart, true, true, new(int64(4)), 3, []int64{3}},
		{"a pod has not started", v1.RecreateGroupAfterStart, true, false, nil, 3, nil},
		{"a pod is missing", v1.RecreateGroupAfterStart, false, true, nil, 3, nil},
		{"another policy", v1.RecreateGroupOnPodRestart, true, true, nil, 3, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := served(0, "b", 2)
			v.Whole, v.AllStarted, v.Restarts, v.Leader.RestartsSeen = tc.whole, tc.started, tc.restarts, tc.seen
			in := input(1, v)
			in.Templates["b"] = Template{Size: 2, RestartPolicy: tc.policy}
			var got []int64
			for _, s := range Make(in).Start {
				got = append(got, s.Restarts)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("writes %v, want %v", got, tc.want)
			}
		})
	}
}

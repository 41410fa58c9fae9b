package group

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "lws-controller/api/v1"
)

// TestEveryMove has the recorded path of each pair of phases within one
// incarnation: the table of the documentation, written out.
func TestEveryMove(t *testing.T) {
	want := map[Phase]map[Phase]string{
		Pending: {LeaderReady: "LeaderReady", WorkersStarting: "LeaderReady WorkersStarting",
			Ready: "LeaderReady WorkersStarting Ready", Recycling: "Recycling", Failed: "Failed", Gone: "Gone"},
		LeaderReady: {Pending: "Pending", WorkersStarting: "WorkersStarting", Ready: "WorkersStarting Ready",
			Recycling: "Recycling", Failed: "Failed", Gone: "Recycling Gone"},
		WorkersStarting: {Pending: "Pending", LeaderReady: "LeaderReady", Ready: "Ready",
			Recycling: "Recycling", Failed: "Failed", Gone: "Recycling Gone"},
		Ready: {Pending: "Pending", LeaderReady: "LeaderReady", WorkersStarting: "WorkersStarting",
			Recycling: "Recycling", Failed: "Failed", Gone: "Recycling Gone"},
		Recycling: {Pending: "Pending", LeaderReady: "Pending LeaderReady", WorkersStarting: "Pending LeaderReady WorkersStarting",
			Ready: "Pending LeaderReady WorkersStarting Ready", Failed: "Pending Failed", Gone: "Gone"},
		Failed: {Pending: "Pending", LeaderReady: "Pending LeaderReady", WorkersStarting: "Pending LeaderReady WorkersStarting",
			Ready: "Pending LeaderReady WorkersStarting Ready", Recycling: "Recycling", Gone: "Recycling Gone"},
		// A group that is wanted again starts anew.
		Gone: {Pending: "", LeaderReady: "LeaderReady", WorkersStarting: "LeaderReady WorkersStarting",
			Ready: "LeaderReady WorkersStarting Ready", Recycling: "Recycling", Failed: "Failed"},
	}
	for _, from := range Phases {
		for _, to := range Phases {
			if from == to {
				continue
			}
			s := &State{phase: from, incarnation: 1}
			moves, err := s.Move(to, 1, "test", time.Time{})
			var steps []string
			for _, m := range moves {
				steps = append(steps, string(m.To))
			}
			expected, declared := want[from][to]
			var undeclared *UndeclaredTransitionError
			switch {
			case !declared && !errors.As(err, &undeclared):
				t.Errorf("%s to %s: err = %v, want an undeclared transition", from, to, err)
			case declared && (err != nil || strings.Join(steps, " ") != expected):
				t.Errorf("%s to %s: %v, err %v; want %s", from, to, steps, err, expected)
			}
			if s.phase != to {
				t.Errorf("%s to %s: phase is %s; the observed one must win", from, to, s.phase)
			}
		}
	}
}

func TestMoveToNextIncarnation(t *testing.T) {
	s := &State{phase: Ready, incarnation: 1}
	moves, err := s.Move(WorkersStarting, 2, "", time.Time{})
	var got []string
	for _, m := range moves {
		got = append(got, fmt.Sprintf("%s→%s (%s)", m.From, m.To, m.Cause))
	}
	want := "Ready→Recycling (Observed); Recycling→Pending (all pods gone); Pending→LeaderReady (Observed); LeaderReady→WorkersStarting (workers all exist)"
	if strings.Join(got, "; ") != want || err != nil {
		t.Errorf("moves %v, err %v\nwant %s", got, err, want)
	}
}

func TestPhaseOf(t *testing.T) {
	leader := func(ready, terminating bool) *Pod { return &Pod{Ready: ready, Terminating: terminating} }
	entry := &v1.RecyclingGroup{Incarnation: 1}
	for _, tc := range []struct {
		name   string
		view   View
		wanted bool
		entry  *v1.RecyclingGroup
		spent  bool
		want   Phase
	}{
		{"nothing, wanted", View{}, true, nil, false, Pending},
		{"nothing, not wanted", View{}, false, nil, false, Gone},
		{"leader not Ready", View{HasPods: true, Leader: leader(false, false)}, true, nil, false, Pending},
		{"leader terminating", View{HasPods: true, Leader: leader(true, true)}, true, nil, false, Pending},
		{"leader gone", View{HasPods: true}, true, nil, false, Pending},
		{"worker missing", View{HasPods: true, Leader: leader(true, false), Missing: []int32{1}}, true, nil, false, LeaderReady},
		{"worker not Ready", View{HasPods: true, Leader: leader(true, false)}, true, nil, false, WorkersStarting},
		{"all Ready", View{HasPods: true, Leader: leader(true, false), AllReady: true}, true, nil, false, Ready},
		{"Ready, not wanted, not yet torn down", View{HasPods: true, Leader: leader(true, false), AllReady: true}, false, nil, false, Ready},
		{"torn down", View{HasPods: true, Incarnation: 1}, true, entry, false, Recycling},
		{"torn down, next incarnation there", View{HasPods: true, Incarnation: 2, Leader: leader(false, false)}, true, entry, false, Pending},
		{"torn down, all pods gone, wanted", View{}, true, entry, false, Pending},
		{"budget spent", View{HasPods: true, Leader: leader(false, false)}, true, nil, true, Failed},
	} {
		if got := PhaseOf(&tc.view, tc.wanted, tc.entry, tc.spent); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestJournalKeepsTheLast(t *testing.T) {
	var j Journal
	for i := range 3*journalSize + 5 {
		j.add(Record{At: time.Unix(int64(i), 0)})
	}
	records := j.Records()
	if len(records) != journalSize || records[0].At.Unix() != 2*journalSize+5 || records[journalSize-1].At.Unix() != 3*journalSize+4 {
		t.Errorf("%d records from %d to %d", len(records), records[0].At.Unix(), records[len(records)-1].At.Unix())
	}
}

func BenchmarkFold(b *testing.B) {
	s := NewState(0)
	p := Pod{Worker: 3, UID: "a", Controller: "set"}
	b.ReportAllocs()
	for i := range b.N {
		p.Version = fmt.Sprint(i + 1)
		s.Fold(Observed(p), time.Time{})
	}
}

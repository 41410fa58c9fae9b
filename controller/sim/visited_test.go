package sim

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Which runs have told what they came to.
const (
	randomRuns     = "random"
	exhaustiveRuns = "exhaustive"
	busyRuns       = "busy"
)

// visits is what all runs of the tests in this package came to.
type visits struct {
	mu   sync.Mutex
	sum  reach
	over map[string]bool
}

var visited = visits{sum: newReach(), over: map[string]bool{}}

func (v *visits) take(r reach) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sum.add(r)
}

// done says that these runs are over, and whether all have succeeded.
func (v *visits) done(t *testing.T, runs string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over[runs] = !t.Failed()
}

// all is what the runs came to; the test is skipped if some are missing.
func (v *visits) all(t *testing.T) reach {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over[randomRuns] || !v.over[exhaustiveRuns] || !v.over[busyRuns] {
		t.Skip("looked at only after TestExhaustive, TestBusy and TestRandom have succeeded together")
	}
	return v.sum
}

// whole is all, where the runs were no sample.
func (v *visits) whole(t *testing.T) reach {
	t.Helper()
	if sampled() {
		t.Skip("looked at only where all is tried: without -race and -short")
	}
	return v.all(t)
}

// declared are the moves that the table of transitions has: those that a group
// makes in one step.
func declared() []move {
	var out []move
	for _, from := range group.Phases {
		for _, to := range group.Phases {
			s := group.NewState(0)
			_, _ = s.Move(from, 1, "", epoch) // how it got there does not matter
			if at, _ := s.Phase(); at != group.Gone {
				if steps, err := s.Move(to, 1, "", epoch); err == nil && len(steps) == 1 {
					out = append(out, move{from, to})
				}
			}
		}
	}
	return out
}

// TestEveryMoveIsMade: every declared move between phases was made in the runs.
func TestEveryMoveIsMade(t *testing.T) {
	leaderTurnsUnready(t)
	leaderFailsAlone(t)
	made := visited.whole(t).moves
	var lines []string
	for _, m := range declared() {
		lines = append(lines, fmt.Sprintf("%s → %s %d", m.from, m.to, made[m]))
		if made[m] == 0 {
			t.Errorf("no group ever went from %s to %s", m.from, m.to)
		}
	}
	t.Logf("moves made: %s", strings.Join(lines, ", "))
}

// leaderTurnsUnready is the one move that chance rarely makes: workers are refused
// when the leader is Ready, and then it is Ready no longer.
func leaderTurnsUnready(t *testing.T) {
	w := newWorld(1, false)
	defer w.end()
	w.server.quota = 1
	w.startProcess(upToDate)
	w.Apply(newSet(1, 3, startup(v1.LeaderReadyStartupPolicy)))
	w.pass(10 * time.Second)
	goesWrong("unready", "a-0")(w)
	w.pass(10 * time.Second)
	w.server.quota = 0
	if !w.settle() {
		t.Error(w.broken)
	}
	visited.take(w.reached)
}

// leaderFailsAlone is the other one: workers are refused when the leader is Ready, and
// then it fails once too often.
func leaderFailsAlone(t *testing.T) {
	w := newWorld(1, false)
	defer w.end()
	w.server.quota = 1
	w.startProcess(upToDate)
	w.Apply(newSet(1, 3, startup(v1.LeaderReadyStartupPolicy), maxGroupRestarts(0)))
	w.pass(10 * time.Second)
	goesWrong("restart", "a-0")(w)
	w.pass(10 * time.Second)
	if len(w.broken) > 0 {
		t.Error(w.broken)
	}
	visited.take(w.reached)
}

// TestEveryWriteIsStruck: every kind of write was struck by a crash before it, a
// crash after it and a lost answer, in every situation of the set.
func TestEveryWriteIsStruck(t *testing.T) {
	struck := visited.whole(t).cells
	table := fmt.Sprintf("%-16s", "")
	for _, situation := range situations {
		table += fmt.Sprintf("%-12s", situation)
	}
	for _, write := range writes {
		table += fmt.Sprintf("\n%-16s", write)
		for _, situation := range situations {
			var counts []string
			for _, f := range []Fault{crashBefore, crashAfter, unanswered} {
				n := struck[cell{write, situation, f}]
				counts = append(counts, fmt.Sprint(n))
				if n == 0 {
					t.Errorf("%s was never struck by %q in situation %s", write, f, situation)
				}
			}
			table += fmt.Sprintf("%-12s", strings.Join(counts, " "))
		}
	}
	t.Logf("crashes before, crashes after and lost answers, by write and by what the set is doing:\n%s", table)
}

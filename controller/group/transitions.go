package group

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is where a group stands. It is computed from what is observed (PhaseOf);
// nothing else assigns it.
type Phase string

const (
	// Pending: the group is wanted; its leader is missing or not Ready.
	Pending Phase = "Pending"
	// LeaderReady: the leader is Ready, some worker does not exist yet.
	LeaderReady Phase = "LeaderReady"
	// WorkersStarting: all pods exist, the leader is Ready, some worker is not.
	WorkersStarting Phase = "WorkersStarting"
	// Ready: every pod exists at one revision and incarnation, is Ready, and none
	// is terminating.
	Ready Phase = "Ready"
	// Recycling: being torn down; nothing of the next incarnation is created
	// before the last pod is gone.
	Recycling Phase = "Recycling"
	// Failed: the restart budget is spent; left alone.
	Failed Phase = "Failed"
	// Gone: not wanted, and no pod is left.
	Gone Phase = "Gone"
)

// Phases lists all phases in the order of a group's life.
var Phases = []Phase{Pending, LeaderReady, WorkersStarting, Ready, Recycling, Failed, Gone}

// edge is a legal move between phases within one incarnation.
type edge struct {
	from, to Phase
	when     string
}

// edges is the table of legal moves. That all pods of a group in teardown are
// gone ends the incarnation; the next one starts at Pending. Of two equally short paths the one through the earlier edges is
// taken to have happened: teardowns come first.
var edges = []edge{
	{Pending, Recycling, "torn down"},
	{LeaderReady, Recycling, "torn down"},
	{WorkersStarting, Recycling, "torn down"},
	{Ready, Recycling, "torn down"},
	{Failed, Recycling, "torn down"},

	{Pending, LeaderReady, "leader Ready"},
	{LeaderReady, WorkersStarting, "workers all exist"},
	{WorkersStarting, Ready, "every pod Ready"},

	{LeaderReady, Pending, "leader not Ready"},
	{WorkersStarting, Pending, "leader not Ready"},
	{Ready, Pending, "leader not Ready"},
	{Ready, WorkersStarting, "a worker not Ready"},
	{WorkersStarting, LeaderReady, "a worker gone that is only created again"},
	{Ready, LeaderReady, "a worker gone that is only created again"},

	{Recycling, Pending, "teardown withdrawn before the first deletion"},

	{Pending, Failed, "restart budget spent"},
	{LeaderReady, Failed, "restart budget spent"},
	{WorkersStarting, Failed, "restart budget spent"},
	{Ready, Failed, "restart budget spent"},
	{Failed, Pending, "restart budget raised or reset"},

	{Pending, Gone, "scaled down before the first pod"},
	{Recycling, Gone, "scaled down"},
}

// Edges are the declared moves, from one phase to another.
func Edges() [][2]Phase {
	out := make([][2]Phase, 0, len(edges))
	for _, e := range edges {
		out = append(out, [2]Phase{e.from, e.to})
	}
	return out
}

// Transition is one recorded move.
type Transition struct {
	From  Phase     `json:"from"`
	To    Phase     `json:"to"`
	Cause string    `json:"cause"`
	At    time.Time `json:"at"`
	// After is how long the group was in From.
	After metav1.Duration `json:"after"`
}

// UndeclaredTransitionError is a move for which the table has no path. In
// production the observed phase wins all the same.
type UndeclaredTransitionError struct {
	Index    int32
	From, To Phase
}

func (e *UndeclaredTransitionError) Error() string {
	return fmt.Sprintf("group %d: no declared path from phase %s to %s within one incarnation", e.Index, e.From, e.To)
}

// causeObserved is the cause of moves that were not watched but must have been.
const causeObserved = "Observed"

// Move brings the state to the phase that was observed and records how: every
// edge of the shortest declared path, the last one with the given cause or, if
// that is empty, with what the table says.
func (s *State) Move(to Phase, incarnation int64, cause string, at time.Time) ([]Transition, error) {
	if s.phase == "" || s.phase == Gone && to != Gone {
		s.phase, s.since, s.incarnation = Pending, at, incarnation
	}
	var moves []Transition
	if incarnation > s.incarnation {
		// The last incarnation was torn down, watched or not. One that had no
		// pods yet has only now got its number.
		if s.phase != Pending && s.phase != Gone {
			moves = s.follow(path(s.phase, Recycling), causeObserved, at)
			moves = append(moves, s.follow([]Phase{Pending}, "all pods gone", at)...)
		}
		s.phase, s.incarnation = Pending, incarnation
	}
	if to == s.phase {
		return moves, nil
	}
	var err error
	steps := path(s.phase, to)
	if steps == nil {
		err = &UndeclaredTransitionError{Index: s.Index, From: s.phase, To: to}
		steps = []Phase{to}
	}
	return append(moves, s.follow(steps, cause, at)...), err
}

// follow records the given moves, one after the other.
func (s *State) follow(steps []Phase, cause string, at time.Time) []Transition {
	moves := make([]Transition, 0, len(steps))
	for i, next := range steps {
		t := Transition{From: s.phase, To: next, Cause: causeObserved, At: at, After: metav1.Duration{Duration: at.Sub(s.since)}}
		if i == len(steps)-1 {
			t.Cause = cmp.Or(cause, when(t.From, t.To))
		}
		s.phase, s.since = next, at
		s.Journal.add(Record{At: at, Transition: &t})
		moves = append(moves, t)
	}
	return moves
}

// Phase is the last recorded phase, and since when.
func (s *State) Phase() (Phase, time.Time) { return s.phase, s.since }

// when is what the table says about an edge.
func when(from, to Phase) string {
	for _, e := range edges {
		if e.from == from && e.to == to {
			return e.when
		}
	}
	return causeObserved
}

// path returns the phases after from on the shortest declared way to to, nil if
// there is none.
func path(from, to Phase) []Phase {
	type way struct {
		at    Phase
		steps []Phase
	}
	queue, seen := []way{{at: from}}, []Phase{from}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, e := range edges {
			if e.from != w.at || slices.Contains(seen, e.to) {
				continue
			}
			steps := append(slices.Clone(w.steps), e.to)
			if e.to == to {
				return steps
			}
			seen = append(seen, e.to)
			queue = append(queue, way{e.to, steps})
		}
	}
	return nil
}

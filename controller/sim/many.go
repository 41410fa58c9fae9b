package sim

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Runs makes n random runs from a seed on, as many at a time as there are
// processors, and hands over each, one at a time, until taken says that it is
// enough.
func Runs(first uint64, n int64, taken func(seed uint64, r *Result) (enough bool)) {
	var (
		mu      sync.Mutex
		next    atomic.Int64
		enough  atomic.Bool
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n && !enough.Load(); i = next.Add(1) - 1 {
				seed := first + uint64(i)
				r := Run(seed, false)
				mu.Lock()
				if taken(seed, r) {
					enough.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// Broken are the invariants that a run has broken, in words.
func (r *Result) Broken() []string {
	var out []string
	for _, v := range r.World.broken {
		out = append(out, v.String())
	}
	return out
}

// Story is what happened in a run that was told, one line each.
func (r *Result) Story() []string { return r.World.story }

// Explain says how a seed has failed, how to replay it, and how the story ends.
func Explain(seed uint64, broken string) string {
	story := Run(seed, true).Story()
	const lines = 60
	return fmt.Sprintf("seed %d: %s\nreplay: %s\nhow it ends:\n%s", seed, broken, Replay(seed),
		strings.Join(story[max(0, len(story)-lines):], "\n"))
}

// Replay is the command that tells the whole story of a seed.
func Replay(seed uint64) string {
	with := ""
	if len(insisted) > 0 {
		with = fmt.Sprintf(" -with=%q", strings.Join(insisted, ","))
	}
	return fmt.Sprintf("go run ./controller/sim/cmd/simulate -seed=%d%s", seed, with)
}

// Totals add up what happened in all runs.
type Totals struct {
	begin                        time.Time
	Runs                         int
	steps, faults, syncs, writes int
	covered, counted             map[string]int
}

// NewTotals are those of no runs.
func NewTotals() *Totals {
	return &Totals{begin: time.Now(), covered: map[string]int{}, counted: map[string]int{}}
}

// Take adds a run.
func (a *Totals) Take(r *Result) {
	w := r.World
	a.Runs++
	a.steps, a.faults, a.syncs, a.writes = a.steps+r.Steps, a.faults+w.faults, a.syncs+w.syncs, a.writes+w.writes
	add(a.covered, w.covered)
	add(a.counted, w.checker.Counted())
}

func (a *Totals) String() string {
	runs := float64(a.Runs)
	return fmt.Sprintf("%d runs, %.0f a second; per run %.0f steps, %.1f faults, %.0f syncs, %.0f writes\ninvariants looked at: %s\nhappened: %s",
		a.Runs, runs/time.Since(a.begin).Seconds(), float64(a.steps)/runs, float64(a.faults)/runs, float64(a.syncs)/runs, float64(a.writes)/runs,
		listed(a.counted), listed(a.covered))
}

func add[K comparable](to, from map[K]int) {
	for key, n := range from {
		to[key] += n
	}
}

func listed(m map[string]int) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(out, ", ")
}

package sim

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	flagSeed  = flag.Int64("seed", -1, "run only this seed and tell its story")
	flagRuns  = flag.Int("runs", 300, "how many random runs to make")
	flagDeep  = flag.Bool("deep", false, "faults at every write of every scenario, with caches of many ages")
	flagFirst = flag.Uint64("first", 0, "the first seed of the random runs")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// TestRandom makes random runs. A seed that fails is run again for its story.
func TestRandom(t *testing.T) {
	if *flagSeed >= 0 {
		r := Run(uint64(*flagSeed), true)
		t.Logf("story of seed %d:\n%s", *flagSeed, strings.Join(r.World.story, "\n"))
		for _, v := range r.World.broken {
			t.Errorf("seed %d: %s", *flagSeed, v)
		}
		return
	}
	all := totals{covered: map[string]int{}, counted: map[string]int{}}
	begin := time.Now()
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for failed.Load() < 10 {
				i := next.Add(1) - 1
				if i >= int64(*flagRuns) {
					return
				}
				seed := *flagFirst + uint64(i)
				r := Run(seed, false)
				all.take(r)
				if len(r.World.broken) > 0 {
					t.Errorf("seed %d: %s\nreplay: go test ./controller/sim -run TestRandom -seed=%d -v", seed, r.World.broken[0], seed)
					if failed.Add(1) == 1 {
						t.Logf("end of the story of seed %d:\n%s", seed, ending(Run(seed, true).World.story, 60))
					}
				}
			}
		})
	}
	workers.Wait()
	all.report(t, time.Since(begin))
}

// totals add up what happened in all runs.
type totals struct {
	mu                                 sync.Mutex
	runs, steps, faults, syncs, writes int
	covered, counted                   map[string]int
}

func (a *totals) take(r *Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := r.World
	a.runs++
	a.steps, a.faults, a.syncs, a.writes = a.steps+r.Steps, a.faults+w.faults, a.syncs+w.syncs, a.writes+w.writes
	add(a.covered, w.covered)
	add(a.counted, w.checker.Counted())
}

func (a *totals) report(t *testing.T, took time.Duration) {
	runs := float64(a.runs)
	t.Logf("%d runs, %.0f a second; per run %.0f steps, %.1f faults, %.0f syncs, %.0f writes", a.runs, runs/took.Seconds(),
		float64(a.steps)/runs, float64(a.faults)/runs, float64(a.syncs)/runs, float64(a.writes)/runs)
	t.Logf("invariants looked at: %s", listed(a.counted))
	t.Logf("happened: %s", listed(a.covered))
}

// TestSameSeedSameStory: without that, a failing seed could not be told.
func TestSameSeedSameStory(t *testing.T) {
	for seed := range uint64(20) {
		a, b := Run(seed, true).World.story, Run(seed, true).World.story
		if !slices.Equal(a, b) {
			t.Fatalf("seed %d: two runs differ:\n%s", seed, firstDifference(a, b))
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

func add(to, from map[string]int) {
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

func ending(story []string, n int) string {
	return strings.Join(story[max(0, len(story)-n):], "\n")
}

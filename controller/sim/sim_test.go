package sim

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var (
	flagSeed  = flag.Int64("seed", -1, "run only this seed and tell its story")
	flagRuns  = flag.Int("runs", 0, "how many random runs to make; 0: as many as fit")
	flagDeep  = flag.Bool("deep", false, "faults at every write of every scenario, with caches of many ages")
	flagWith  = flag.String("with", "", "actors that every run has, such as slow,nodes; see drawActors")
	flagFirst = flag.Uint64("first", 0, "the first seed of the random runs")
	flagFails = flag.Int("failures", 10, "after how many failed runs to stop")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	flag.Parse()
	Insist(*flagWith)
	goleak.VerifyTestMain(m)
}

// TestRandom makes random runs. A seed that fails is run again for its story.
func TestRandom(t *testing.T) {
	if *flagSeed >= 0 {
		r := Run(uint64(*flagSeed), true)
		t.Logf("story of seed %d:\n%s", *flagSeed, strings.Join(r.Story(), "\n"))
		for _, broken := range r.Broken() {
			t.Errorf("seed %d: %s", *flagSeed, broken)
		}
		return
	}
	all, failed, n := NewTotals(), 0, *flagRuns
	switch {
	case n > 0:
	case sampled():
		n = 50
	default:
		n = 1300
	}
	Runs(*flagFirst, int64(n), func(seed uint64, r *Result) bool {
		all.Take(r)
		visited.take(r.World.reached)
		if broken := r.Broken(); len(broken) > 0 {
			failed++
			t.Error(Explain(seed, strings.Join(broken, "; ")))
		}
		return failed >= *flagFails
	})
	t.Log(all)
	visited.done(t, randomRuns)
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

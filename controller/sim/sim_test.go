package sim

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	flagSeed  = flag.Int64("seed", -1, "run only this seed and tell its story")
	flagRuns  = flag.Int("runs", 1000, "how many random runs to make")
	flagFirst = flag.Uint64("first", 0, "the first seed of the random runs")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	begin, failed := time.Now(), 0
	covered, counted := map[string]int{}, map[string]int{}
	steps, faults, syncs, writes := 0, 0, 0, 0
	for i := range *flagRuns {
		seed := *flagFirst + uint64(i)
		r := Run(seed, false)
		w := r.World
		steps, faults, syncs, writes = steps+r.Steps, faults+w.faults, syncs+w.syncs, writes+w.writes
		add(covered, w.covered)
		add(counted, w.checker.Counted())
		if len(w.broken) == 0 {
			continue
		}
		t.Errorf("seed %d: %s\nreplay: go test ./controller/sim -run TestRandom -seed=%d -v", seed, w.broken[0], seed)
		if failed++; failed == 1 {
			t.Logf("story of seed %d:\n%s", seed, ending(Run(seed, true).World.story, 60))
		}
		if failed == 10 {
			break
		}
	}
	runs := float64(*flagRuns)
	t.Logf("%d runs, %.0f a second; per run %.0f steps, %.1f faults, %.0f syncs, %.0f writes", *flagRuns, runs/time.Since(begin).Seconds(),
		float64(steps)/runs, float64(faults)/runs, float64(syncs)/runs, float64(writes)/runs)
	t.Logf("invariants looked at: %s", table2(counted))
	t.Logf("happened: %s", table2(covered))
}

func add(to, from map[string]int) {
	for key, n := range from {
		to[key] += n
	}
}

func table2(m map[string]int) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(out, ", ")
}

func ending(story []string, n int) string {
	return strings.Join(story[max(0, len(story)-n):], "\n")
}

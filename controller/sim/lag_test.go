package sim

import (
	"flag"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lws-controller/informers"
)

var flagLag = flag.Bool("lag", false, "caches that stop at every write of every scenario, for many stretches")

// lags are what is tried at one write: the caches of each kind alone, and all at
// once, for a few syncs or for a time. The quick mode takes turns.
func lags(n int) []Lag {
	deep := *flagDeep || *flagLag
	lengths := []Lag{{Syncs: 2}, {For: 2 * time.Second}}
	if deep {
		lengths = []Lag{{Syncs: 1}, {Syncs: 2}, {Syncs: 3}, {Syncs: 5}, {Syncs: 10}, {For: time.Second}, {For: 5 * time.Second}, {For: time.Minute}}
	}
	var out []Lag
	turn := n
	for _, kinds := range [][]informers.Kind{nil, {informers.Sets}, {informers.Pods}, {informers.Services}, {informers.Revisions}} {
		for _, l := range lengths {
			for _, relist := range []bool{false, true} {
				l.Kinds, l.Relist = kinds, relist
				if turn++; deep || turn%4 == 0 {
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// TestLag plays each scenario with caches that stop at each write, and then catch
// up. A cache that is behind delays, and does nothing else: the end and what was
// created and deleted must be those of the run without (S18, L3). Where a scenario
// goes on after its set has come up, the quick mode begins there.
func TestLag(t *testing.T) {
	var points atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				lagEverywhere(t, s, &points)
			})
		}
	})
	t.Logf("%d lags", points.Load())
}

func lagEverywhere(t *testing.T, s Scenario, points *atomic.Int64) {
	want := play(s, -1, noFault, 0, false)
	first := want.first
	if len(s.Steps) == 1 || *flagDeep || *flagLag {
		first = 0
	}
	for n := first; n < want.writes; n++ {
		if skips(n) {
			continue
		}
		for _, l := range lags(n) {
			points.Add(1)
			got := playLagging(s, n, l, false)
			visited.take(got.reached)
			if len(got.broken) == 0 && got.state == want.state && got.tally == want.tally {
				continue
			}
			t.Errorf("from write %d on %s: %v", n, l, got.broken)
			if got.state != want.state {
				t.Errorf("L3: ends as\n%s\nnot as\n%s", got.state, want.state)
			} else if got.tally != want.tally {
				t.Errorf("L3: made\n%s\nnot\n%s", difference(got.tally, want.tally), difference(want.tally, got.tally))
			}
			t.Fatalf("story:\n%s", strings.Join(playLagging(s, n, l, true).story, "\n"))
		}
	}
}

// playLagging plays a scenario with caches that stop at one write.
func playLagging(s Scenario, n int, l Lag, told bool) outcome {
	return perform(s, 0, told, func(w *World, at int) Fault {
		if at == n {
			w.stop(l)
		}
		return noFault
	})
}

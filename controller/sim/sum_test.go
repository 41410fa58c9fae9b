package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sampled says that not everything is tried, but some of it.
func sampled() bool { return raced || testing.Short() }

// skips says that the n-th of many tries is not in the sample.
func skips(n int) bool { return sampled() && n%6 > 0 }

// leastPoints is how many crash points the tests of this package try.
const leastPoints = 100000

// TestPoints adds up the crash points: the moments at which a controller was ended,
// or its memory was taken away, and what followed was judged. Moments of a scenario
// before its fault are those of the run without, and count once.
func TestPoints(t *testing.T) {
	all := visited.all(t)
	sum, lines := 0, []string{}
	for _, kind := range slices.Sorted(maps.Keys(all.points)) {
		sum += all.points[kind]
		lines = append(lines, fmt.Sprintf("%7d %s", all.points[kind], kind))
	}
	t.Logf("%d crash points:\n%s", sum, strings.Join(lines, "\n"))
	if sum < leastPoints && !sampled() {
		t.Errorf("%d crash points, not the %d that the tests are to try", sum, leastPoints)
	}
}

// tried counts a crash point.
func (v *visits) tried(kind string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sum.points[kind]++
}

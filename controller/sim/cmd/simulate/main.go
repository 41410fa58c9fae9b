// Command simulate makes random runs of the controller in a simulated cluster, for
// as long as one likes, or tells the story of one:
//
//	go run ./controller/sim/cmd/simulate -runs=100000
//	go run ./controller/sim/cmd/simulate -seed=42
//	go run ./controller/sim/cmd/simulate -with=slow,machines
//
// Exit status 1 means that an invariant was broken.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"lws-controller/controller/sim"
)

func main() {
	runs := flag.Int64("runs", 10000, "how many random runs to make")
	first := flag.Uint64("first", 0, "the first seed of the random runs")
	failures := flag.Int("failures", 10, "after how many failed runs to stop")
	seed := flag.Int64("seed", -1, "run only this seed and tell its story")
	every := flag.Duration("every", time.Minute, "how often to say how far it is")
	with := flag.String("with", "", "actors that every run has, such as slow,nodes,machines,namespace,autoscaler,finalizers,two sets")
	flag.Parse()
	sim.Insist(*with)
	if *seed >= 0 {
		os.Exit(tell(uint64(*seed)))
	}
	os.Exit(many(*first, *runs, *failures, *every))
}

// tell runs one seed and tells its story.
func tell(seed uint64) int {
	r := sim.Run(seed, true)
	for _, line := range r.Story() {
		fmt.Println(line)
	}
	for _, broken := range r.Broken() {
		fmt.Println("BROKEN", broken)
	}
	return min(len(r.Broken()), 1)
}

// many makes random runs, and explains those that fail.
func many(first uint64, runs int64, failures int, every time.Duration) int {
	totals, said, failed := sim.NewTotals(), time.Now(), 0
	sim.Runs(first, runs, func(seed uint64, r *sim.Result) bool {
		totals.Take(r)
		if broken := r.Broken(); len(broken) > 0 {
			failed++
			fmt.Println(sim.Explain(seed, broken[0]))
		}
		if time.Since(said) >= every {
			said = time.Now()
			fmt.Printf("%d of %d runs, %d failed\n", totals.Runs, runs, failed)
		}
		return failed >= failures
	})
	fmt.Println(totals)
	return min(failed, 1)
}

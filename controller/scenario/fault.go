package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"lws-controller/controller/sim"
)

// fault has something go wrong with a coming request of the controller that
// writes.
func fault(p *play, a args) error {
	words, err := a.exactly(1, "fault <what goes wrong> [at=(create pod)] [skip=<n>] [times=<n>] [behind=<n>]")
	if err != nil {
		return err
	}
	what, known := sim.Faults[words[0]]
	if !known {
		return fmt.Errorf("there is no fault %s, but %v", words[0], slices.Sorted(maps.Keys(sim.Faults)))
	}
	skip, err1 := a.number("skip", 0)
	times, err2 := a.number("times", 1)
	behind, err3 := a.number("behind", 0)
	p.script.Plan(sim.PlannedFault{Fault: what, What: a.text("at", ""), Skip: skip, Times: times})
	p.script.Behind(behind)
	return errors.Join(err1, err2, err3)
}

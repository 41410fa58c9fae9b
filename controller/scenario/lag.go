package scenario

import (
	"fmt"
	"slices"

	"lws-controller/controller/sim"
)

// lag keeps caches from taking anything in by themselves, or lets them again.
func lag(p *play, a args) error {
	words := a.words()
	off := slices.Contains(words, "off")
	for _, cache := range words {
		if cache != "off" && !slices.Contains(sim.Caches, cache) {
			return fmt.Errorf("there is no cache of %s", cache)
		}
	}
	for _, cache := range sim.Caches {
		if slices.Contains(words, cache) || len(words) == 0 || off && len(words) == 1 {
			p.script.Lag(cache, !off)
		}
	}
	p.goOn()
	return nil
}

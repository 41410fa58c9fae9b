package scenario

import (
	"slices"

	"lws-controller/controller/sim"
)

// deliver has a cache, or each of them, take in writes.
func deliver(p *play, a args) error {
	n, err := a.number("writes", -1)
	if err != nil {
		return err
	}
	words := a.words()
	for _, cache := range sim.Caches {
		if len(words) == 0 || slices.Contains(words, cache) {
			if left := p.script.Deliver(cache, n, slices.Contains(words, "listed")); left > 0 {
				p.line("the cache of %s has %d more to take in", cache, left)
			}
		}
	}
	p.goOn()
	return nil
}

package scenario

import (
	"errors"

	"lws-controller/controller/sim"
)

// apply creates the set.
func apply(p *play, a args) error {
	if p.script.Set() != nil {
		return errors.New("the set exists: use edit")
	}
	set := sim.NewSet()
	if err := a.set(set); err != nil {
		return err
	}
	p.script.Apply(set)
	p.goOn()
	return nil
}

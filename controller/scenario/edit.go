package scenario

import (
	v1 "lws-controller/api/v1"
)

// edit changes the set.
func edit(p *play, a args) error {
	var err error
	p.script.Edit(func(s *v1.LeaderWorkerSet) { err = a.set(s) })
	p.goOn()
	return err
}

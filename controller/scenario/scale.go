package scenario

import (
	v1 "lws-controller/api/v1"
)

// scale changes the number of groups.
func scale(p *play, a args) error {
	words, err := a.exactly(1, "scale <replicas>")
	if err != nil {
		return err
	}
	p.script.Edit(func(s *v1.LeaderWorkerSet) { err = number(&s.Spec.Replicas, words[0]) })
	p.goOn()
	return err
}

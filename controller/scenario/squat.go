package scenario

// squat has somebody create an object that is not the set's.
func squat(p *play, a args) error {
	words, err := a.exactly(2, "squat pod|service|budget|claim|podgroup|workload <name> [<label>=<value> ...]")
	if err != nil {
		return err
	}
	if err := p.script.Squat(words[0], words[1], a.labels()); err != nil {
		return err
	}
	p.goOn()
	return nil
}

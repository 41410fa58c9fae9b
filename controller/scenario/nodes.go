package scenario

// nodes holds pods back from scheduler and kubelets, lets them go, or has
// scheduler and kubelets take steps with them.
func nodes(p *play, a args) error {
	p.script.Hold(true, a.list("hold")...)
	p.script.Hold(false, a.list("release")...)
	steps, err := a.number("steps", 10)
	if err != nil {
		return err
	}
	if named := a.words(); len(named) > 0 || p.paused {
		for range steps {
			p.script.Nodes(named...)
		}
	}
	p.goOn()
	return nil
}

package scenario

// restart kills the controller and starts another.
func restart(p *play, a args) error {
	behind, err := a.number("behind", 0)
	if err != nil {
		return err
	}
	p.script.Behind(behind)
	p.script.Restart()
	p.goOn()
	return nil
}

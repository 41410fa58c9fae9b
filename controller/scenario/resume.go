package scenario

// resume ends a pause.
func resume(p *play, a args) error {
	_, err := a.exactly(0, "resume")
	p.paused = false
	p.script.Patient(false)
	p.goOn()
	return err
}

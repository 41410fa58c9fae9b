package scenario

// pause has nothing happen by itself from here on.
func pause(p *play, a args) error {
	_, err := a.exactly(0, "pause")
	p.paused = true
	p.script.Patient(true)
	return err
}

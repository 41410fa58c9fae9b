package scenario

// settle lets time pass until nothing is left to happen.
func settle(p *play, a args) error {
	_, err := a.exactly(0, "settle")
	p.script.Settle()
	return err
}

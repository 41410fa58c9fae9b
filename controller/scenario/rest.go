package scenario

// rest is settle, and the checks of what must hold at rest. What these do, such
// as a restart, is not told, save what they find.
func rest(p *play, a args) error {
	_, err := a.exactly(0, "rest")
	if p.script.Settle() {
		p.quiet = true
		p.script.AtRest()
		p.quiet = false
	}
	return err
}

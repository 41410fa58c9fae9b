package scenario

// evict evicts pods, one after the other, and tells which could not be.
func evict(p *play, a args) error {
	for _, name := range a.words() {
		if err := p.script.Evict(name); err != nil {
			p.line("not evicted %s: %v", name, err)
		} else {
			p.line("evicted %s", name)
		}
	}
	p.goOn()
	return nil
}

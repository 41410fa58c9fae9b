package scenario

import "strings"

// pod has something go wrong with a pod.
func pod(p *play, a args) error {
	words, err := a.exactly(2, "pod <name> restart|fail|succeed|unready|evict|...")
	if err != nil {
		return err
	}
	if err := p.script.Trouble(strings.ReplaceAll(words[1], "-", " "), words[0]); err != nil {
		return err
	}
	p.goOn()
	return nil
}

package scenario

import (
	"strconv"
)

// journal shows what the controller remembers of a group.
func journal(p *play, a args) error {
	words, err := a.exactly(1, "journal <group>")
	if err != nil {
		return err
	}
	index, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	for _, s := range p.script.Debug() {
		for _, g := range s.Groups {
			if int(g.Index) != index {
				continue
			}
			for _, r := range g.Journal {
				if t := r.Transition; t != nil {
					p.line("%s → %s (%s)", t.From, t.To, t.Cause)
				} else if e := r.Event; e != nil {
					p.tell(string(e.Kind), strconv.Itoa(int(e.Worker)), "")
				}
			}
		}
	}
	return nil
}

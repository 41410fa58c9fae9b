package scenario

import (
	"time"
)

// advance lets time pass.
func advance(p *play, a args) error {
	words, err := a.exactly(1, "advance <duration>")
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(words[0])
	if err != nil {
		return err
	}
	p.script.Pass(d)
	return nil
}

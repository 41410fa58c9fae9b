package scenario

import (
	"strconv"
)

// quota limits how many pods there may be.
func quota(p *play, a args) error {
	words, err := a.exactly(1, "quota <pods>|none")
	if err != nil {
		return err
	}
	n := 0
	if words[0] != "none" {
		if n, err = strconv.Atoi(words[0]); err != nil {
			return err
		}
	}
	p.script.Quota(n)
	p.goOn()
	return nil
}

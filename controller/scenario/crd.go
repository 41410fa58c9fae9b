package scenario

import "fmt"

// crd changes the CRD.
func crd(p *play, a args) error {
	words, err := a.exactly(1, "crd published|ours")
	if err != nil {
		return err
	}
	if words[0] != "published" && words[0] != "ours" {
		return fmt.Errorf("there is no CRD called %s", words[0])
	}
	p.script.PublishedCRD(words[0] == "published")
	p.goOn()
	return nil
}

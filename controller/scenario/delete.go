package scenario

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteObject deletes the set, its namespace, or an object that belongs to it.
func deleteObject(p *play, a args) error {
	words := a.words()
	switch {
	case len(words) == 1 && words[0] == "set":
		p.script.DeleteSet(metav1.DeletionPropagation(a.text("propagation", "Background")))
	case len(words) == 1 && words[0] == "namespace":
		p.script.DeleteNamespace()
	case len(words) == 2:
		if err := p.script.Delete(words[0], p.keyed(words[1])); err != nil {
			return err
		}
	default:
		return errors.New("usage: delete set [propagation=Background|Foreground|Orphan], delete namespace, or delete pod|service|revision <name>")
	}
	p.goOn()
	return nil
}

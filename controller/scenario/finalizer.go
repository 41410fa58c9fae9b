package scenario

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// finalizer puts a finalizer on a pod or lifts it.
func finalizer(p *play, a args) error {
	words := a.words()
	if len(words) < 2 {
		return errors.New("usage: finalizer <pod> <finalizer> [lift]")
	}
	lift := slices.Contains(words, "lift")
	if err := p.script.ChangePod(words[0], func(o *corev1.Pod) {
		if o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == words[1] }); !lift {
			o.Finalizers = append(o.Finalizers, words[1])
		}
	}); err != nil {
		return err
	}
	p.goOn()
	return nil
}

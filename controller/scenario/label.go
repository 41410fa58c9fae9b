package scenario

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// label sets labels of a pod.
func label(p *play, a args) error {
	words, err := a.exactly(1, "label <pod> <label>=<value> ...")
	if err != nil {
		return err
	}
	if err := p.script.ChangePod(words[0], func(o *corev1.Pod) {
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		maps.Copy(o.Labels, a.labels())
	}); err != nil {
		return err
	}
	p.goOn()
	return nil
}

// labels are the arguments with a value, of our prefix if they have none.
func (a args) labels() map[string]string {
	out := map[string]string{}
	for _, arg := range a.CmdArgs {
		if len(arg.Vals) == 1 {
			out[labelKey(arg.Key)] = arg.Vals[0]
		}
	}
	return out
}

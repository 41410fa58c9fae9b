package scenario

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// strip takes a label off a pod: that of the set, if none is named.
func strip(p *play, a args) error {
	words, err := a.exactly(1, "strip <pod> [label=<label>]")
	if err != nil {
		return err
	}
	if err := p.script.ChangePod(words[0], func(o *corev1.Pod) { delete(o.Labels, labelKey(a.text("label", v1.LabelName))) }); err != nil {
		return err
	}
	p.goOn()
	return nil
}

// labelKey is a label, of the prefix that most of ours have if it has none.
func labelKey(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	prefix, _, _ := strings.Cut(v1.LabelName, "/")
	return prefix + "/" + name
}

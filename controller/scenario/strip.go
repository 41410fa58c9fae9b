package scenario

import (
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// strip takes a label off a pod, a revision or a PodGroup: that of the set, if none is named.
func strip(p *play, a args) error {
	off := func(o metav1.Object) { delete(o.GetLabels(), labelKey(a.text("label", v1.LabelName))) }
	var err error
	switch words := a.words(); {
	case len(words) == 1:
		err = p.script.ChangePod(words[0], func(o *corev1.Pod) { off(o) })
	case len(words) == 2 && words[0] == "revision":
		err = p.script.ChangeRevision(p.keyed(words[1]), func(o *appsv1.ControllerRevision) { off(o) })
	case len(words) == 2 && words[0] == "podgroup":
		err = p.script.ChangePodGroup(words[1], func(o *schedulingv1beta1.PodGroup) { off(o) })
	default:
		err = errors.New("usage: strip <pod> [label=<label>], strip revision|podgroup <name> [label=<label>]")
	}
	if err != nil {
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

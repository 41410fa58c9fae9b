package kubectl

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

func TestChanges(t *testing.T) {
	w := newWorld(t, 2, 2)
	var last *Status
	var all strings.Builder
	step := func(what string) {
		s := newStatus(&w.seen)
		all.WriteString("# " + what + "\n")
		for _, line := range s.changes(last) {
			all.WriteString(line + "\n")
		}
		last = s
	}
	step("created")
	w.group(0, 2)
	w.pod(1, 0, 2)
	w.pod(1, 1, 2, unscheduled)
	step("one group Ready, one not")
	step("nothing")
	w.pods[3].Status.Conditions[0].Message = "0/4 nodes are available"
	step("another reason")
	w.set.Annotations = map[string]string{v1.AnnotationPaused: "true", v1.AnnotationRecycle: "0@2026-12-01T11:59:00Z"}
	w.condition(v1.ConditionDegraded, "FailedCreate", "no quota")
	step("paused, recycle, degraded")
	w.set.Annotations, w.set.Status.Conditions = nil, nil
	one := int32(1)
	w.set.Spec.Replicas = &one
	step("resumed, scaled down")
	w.pods = w.pods[:2]
	step("gone")
	w.pods = nil
	w.group(0, 1, func(p *corev1.Pod) { p.Annotations[v1.AnnotationIncarnation] = "2" })
	step("another revision")
	golden(t, "changes.txt", all.String())
}

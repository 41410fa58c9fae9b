package revision

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// Restarted is the content with a restart of all groups on record, in the annotation
// where Deployments have it: what differs from the content before, and so is a new
// revision, although the spec is the same. A template that records a later restart
// keeps that. The zero time changes nothing.
func (c *Content) Restarted(at time.Time) *Content {
	if at.IsZero() {
		return c
	}
	out := &Content{}
	c.Template.DeepCopyInto(&out.Template)
	c.Network.DeepCopyInto(&out.Network)
	record(&out.Template.WorkerTemplate, at)
	if out.Template.LeaderTemplate != nil {
		record(out.Template.LeaderTemplate, at)
	}
	return out
}

func record(t *corev1.PodTemplateSpec, at time.Time) {
	if own, err := time.Parse(time.RFC3339Nano, t.Annotations[v1.AnnotationTemplateRestartedAt]); err == nil && !own.Before(at) {
		return
	}
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	t.Annotations[v1.AnnotationTemplateRestartedAt] = at.UTC().Format(time.RFC3339Nano)
}

// RestartedAt is the latest restart that was ever asked for. It holds for all
// revisions that come: taking the wish back, or asking for an earlier time, must not
// restart anything.
func (h *History) RestartedAt() time.Time {
	var last time.Time
	for _, r := range h.revisions {
		if r.RestartedAt.After(last) {
			last = r.RestartedAt
		}
	}
	return last
}

// restart is the last restart that was asked for, if the set asks for one at the given
// time; zero if it asks for none.
func (h *History) restart(asked time.Time) time.Time {
	if last := h.RestartedAt(); last.After(asked) {
		return last
	}
	return asked
}

package invariant

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// S13: a spec that means what a stored revision means gets no new one.
func S13(c *Checker, ch *Change) string {
	r, ok := ch.After.(*appsv1.ControllerRevision)
	if !ok || ch.By != Controller || ch.Verb != Create {
		return ""
	}
	c.count("S13")
	content, err := revision.Parse(r.Data.Raw)
	if err != nil {
		return fmt.Sprintf("revision %s cannot be read: %v", r.Name, err)
	}
	var others []*appsv1.ControllerRevision
	for _, o := range c.revisions {
		// One whose label was taken off is in nobody's history.
		if o.Labels[v1.LabelName] != r.Labels[v1.LabelName] {
			continue
		}
		if o.Name != r.Name && o.Namespace == r.Namespace && owner(o) == owner(r) {
			others = append(others, o)
		}
		if o.Name != r.Name && o.Namespace == r.Namespace && owner(o) == owner(r) && o.Labels[v1.LabelRevision] == r.Labels[v1.LabelRevision] {
			return fmt.Sprintf("revisions %s and %s have the same key", o.Name, r.Name)
		}
	}
	history, _ := revision.NewHistory(others)
	if same := history.Find(content); same != nil {
		return fmt.Sprintf("revision %s created, which means the same as %s", r.Name, same.Object.Name)
	}
	return ""
}

// S14: the data of a revision never changes, and one that pods or the status
// refer to is not deleted.
func S14(c *Checker, ch *Change) string {
	before, ok := ch.Before.(*appsv1.ControllerRevision)
	if !ok || ch.By != Controller {
		return ""
	}
	c.count("S14")
	if after, ok := ch.After.(*appsv1.ControllerRevision); ok && !bytes.Equal(before.Data.Raw, after.Data.Raw) {
		return fmt.Sprintf("the data of revision %s changed", before.Name)
	}
	if ch.Verb != Delete {
		return ""
	}
	key := before.Labels[v1.LabelRevision]
	// A pod without the set's label is none of its groups' any more.
	for _, p := range labelled(c.podsNow()) {
		if owner(p) == owner(before) && revisionOf(p) == key {
			return fmt.Sprintf("revision %s deleted, at which pod %s is", before.Name, p.Name)
		}
	}
	for _, s := range c.sets {
		if s.UID == owner(before) && (s.Status.UpdateRevision == key || s.Status.CurrentRevision == key) {
			return fmt.Sprintf("revision %s deleted, which the status names", before.Name)
		}
	}
	return ""
}

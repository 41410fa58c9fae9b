package audit

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// What a controller knew when it asked for a write is not on record. What it did
// know at least is: all that was answered some time before.
const (
	// cacheLag is how far a cache may be behind, on a machine that is busy.
	cacheLag = time.Second
	// syncTime is how long a sync may carry out what it has planned.
	syncTime = 2 * time.Second
)

// seen is what the author of the i-th state of a namespace could know.
func seen(states []*state, authors map[*state]*request, i int) *invariant.Seen {
	s := states[i]
	since := authors[s].received.Add(-cacheLag)
	status, isStatus := s.before.(*lwsv1.LeaderWorkerSet)
	if !isStatus {
		since = since.Add(-syncTime) // a sync begins with the status, if it writes that
	}
	first := settledBy(states[:i], authors, since)
	out := &invariant.Seen{}
	if first >= 0 {
		out.Pods = states[first].version
	}
	if isStatus && authors[s].wantsVersion && status.DeletionTimestamp == nil {
		out.Set = status
		return out
	}
	name, uid := setOf(s)
	versions := setVersions(states[:i], first, name, uid)
	if len(versions) > 0 {
		out.Set, out.Later = versions[0], versions[1:]
	}
	return out
}

// settledBy is the index of the newest state that was answered by then, -1 without.
func settledBy(states []*state, authors map[*state]*request, then time.Time) int {
	for i, s := range slices.Backward(states) {
		if r := authors[s]; r != nil && !r.answered.After(then) {
			return i
		}
	}
	return -1
}

// setOf is the set that a state is about, as its object says, with the UID if the
// object says that.
func setOf(s *state) (types.NamespacedName, types.UID) {
	o := s.after
	if s.before != nil {
		o = s.before
	}
	if s.resource == sets {
		return s.NamespacedName, o.GetUID()
	}
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil && s.after != nil {
		ref = metav1.GetControllerOfNoCopy(s.after) // it is adopted
	}
	if ref != nil && ref.Kind == lwsv1.Kind {
		return types.NamespacedName{Namespace: s.Namespace, Name: ref.Name}, ref.UID
	}
	return types.NamespacedName{Namespace: s.Namespace, Name: o.GetLabels()[lwsv1.LabelName]}, ""
}

// setVersions are the versions of a set that may have been known, oldest first: the
// one there was at the first index, and the later ones. Where the name had several
// sets, those of the UID count if there are any. A set that was gone by then is
// known to be: its last version is taken for terminating.
func setVersions(states []*state, first int, name types.NamespacedName, uid types.UID) []*lwsv1.LeaderWorkerSet {
	var all []*lwsv1.LeaderWorkerSet
	var gone *lwsv1.LeaderWorkerSet
	for i, s := range states {
		if s.resource != sets || s.NamespacedName != name {
			continue
		}
		if i <= first {
			all, gone = nil, nil
		}
		if set, ok := s.after.(*lwsv1.LeaderWorkerSet); ok {
			all = append(all, set)
		} else {
			gone = s.before.(*lwsv1.LeaderWorkerSet)
		}
	}
	if len(all) == 0 && gone != nil {
		last := gone.DeepCopy()
		last.DeletionTimestamp = &metav1.Time{}
		return []*lwsv1.LeaderWorkerSet{last}
	}
	same := slices.DeleteFunc(slices.Clone(all), func(s *lwsv1.LeaderWorkerSet) bool { return s.UID != uid })
	if uid == "" || len(same) == 0 {
		return all
	}
	return same
}

// change is the i-th state of a namespace as the checker takes it.
func change(states []*state, authors map[*state]*request, i int) *invariant.Change {
	s, r := states[i], authors[states[i]]
	c := &invariant.Change{By: invariant.User, Verb: invariant.Update, Before: s.before, After: s.after}
	switch {
	case s.before == nil:
		c.Verb = invariant.Create
	case s.condemned() && (r == nil || r.deletes()):
		c.Verb = invariant.Delete
	}
	if r == nil {
		c.By = s.unknownAuthor()
		return c
	}
	c.At, c.By, c.UID, c.Version, c.Force = r.received, r.by(), r.wantsUID, r.wantsVersion, r.force
	if r.subresource == "status" {
		c.Subresource = r.subresource
	}
	if c.By == invariant.Controller {
		c.Seen = seen(states, authors, i)
	}
	return c
}

// unknownAuthor is who made a state whose request is not in the log. Of the
// controller nothing can be asked then, for what it wanted is not known: it is
// nobody in particular.
func (s *state) unknownAuthor() invariant.Actor {
	if _, isPod := s.before.(*corev1.Pod); isPod && slices.Contains(s.managers(), "kwok") {
		return invariant.Kubelet
	}
	return invariant.User
}

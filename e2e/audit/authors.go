package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// log is the requests, ready to be looked up.
type log struct {
	// exact are the accepted requests by the object and version of their answers,
	// silent those by object whose answers have no version, collections those by
	// namespace and resource that mean several objects, doubtful those by object
	// that may have been carried out or not.
	exact       map[version][]*request
	silent      map[object][]*request
	collections map[object][]*request
	doubtful    map[object][]*request
}

type version struct {
	object
	version string
}

func newLog(requests []*request) *log {
	l := &log{exact: map[version][]*request{}, silent: map[object][]*request{}, collections: map[object][]*request{}, doubtful: map[object][]*request{}}
	for _, r := range requests {
		switch {
		case r.doubtful():
			l.doubtful[r.object] = append(l.doubtful[r.object], r)
		case !r.accepted():
		case r.verb == "deletecollection":
			all := object{r.resource, types.NamespacedName{Namespace: r.Namespace}}
			l.collections[all] = append(l.collections[all], r)
		case r.version == "":
			l.silent[r.object] = append(l.silent[r.object], r)
		default:
			at := version{r.object, r.version}
			l.exact[at] = append(l.exact[at], r)
		}
	}
	return l
}

// answered is the request that was answered with a state, nil if none is known.
func (l *log) answered(s *state) *request {
	return pick(l.exact[version{s.object, strconv.FormatInt(s.version, 10)}], s, time.Time{})
}

// silently is the request that made a state and was answered with something else.
// next is the author of what the object became then: a deletion at once makes two
// writes and is answered with the second, or, where another one was faster with
// that, with nothing of the object. It came in before anything that was stored
// later was answered.
func (l *log) silently(s *state, next *request, before time.Time) *request {
	silent := l.silent[s.object]
	if next != nil && s.condemned() && next.deletes() {
		silent = append(slices.Clone(silent), next)
	}
	all := object{s.resource, types.NamespacedName{Namespace: s.Namespace}}
	for _, candidates := range [][]*request{silent, l.lastFinalizer(s), l.collections[all], l.doubtful[s.object]} {
		if r := pick(candidates, s, before); r != nil {
			return r
		}
	}
	return nil
}

// lastFinalizer are the requests that may have removed the last finalizer of an
// object, and so the object. Their answer has the version from before.
func (l *log) lastFinalizer(s *state) []*request {
	if s.after != nil || s.before.GetDeletionTimestamp() == nil {
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(l.exact[version{s.object, s.before.GetResourceVersion()}]), func(r *request) bool {
		return r.subresource != "" // these leave finalizers alone
	})
	// The last one: those before it changed nothing, or made the state before.
	slices.SortFunc(before, func(a, b *request) int { return b.answered.Compare(a.answered) })
	return before[:min(len(before), 1)]
}

// pick is the request among these that made a state. Several fit where later ones
// changed nothing, since then they answer with the version that is there already. An
// eviction does not say which pod of its name it was about: that of the last one.
func pick(candidates []*request, s *state, before time.Time) *request {
	var fit []*request
	for _, r := range candidates {
		if r.fits(s) && (before.IsZero() || r.received.Before(before)) {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	managers := s.managers()
	return slices.MinFunc(fit, func(a, b *request) int {
		if a.subresource == "eviction" && b.subresource == "eviction" {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(b.manages(managers), a.manages(managers)), a.received.Compare(b.received))
	})
}

// manages is 1 where the request's client is one of the managers that the object
// names for what changed.
func (r *request) manages(managers []string) int {
	client, _, _ := strings.Cut(r.agent, "/")
	if slices.ContainsFunc(managers, func(m string) bool { return strings.HasPrefix(m, client) }) {
		return 1
	}
	return 0
}

// fits says that a request is of the kind that can lead to a state.
func (r *request) fits(s *state) bool {
	if r.uid != "" && r.uid != s.uid() || r.answered.Before(s.created()) {
		return false
	}
	change := r.verb == "update" || r.verb == "patch"
	switch {
	case s.before == nil:
		return r.subresource == "" && (r.verb == "create" || change && r.code == 201)
	case s.after == nil:
		return r.deletes() || change && s.before.GetDeletionTimestamp() != nil
	case s.condemned():
		grace := s.after.GetDeletionGracePeriodSeconds()
		if s.before.GetDeletionTimestamp() != nil && !r.force {
			return false // it has the same grace period, or a longer one
		}
		return r.deletes() && (!r.force || grace == nil || *grace == 0)
	case r.subresource == "binding":
		return s.bound()
	default:
		return change || r.subresource == "eviction" && s.marked() // before it deletes the pod
	}
}

// unstored says what is wrong with a request that was accepted, if etcd knows
// nothing of it.
func unstored(requests []*request, states []*state, authors map[*state]*request) []string {
	wrote := map[*request]bool{}
	for _, r := range authors {
		wrote[r] = true
	}
	known := map[version]bool{}
	for _, s := range states {
		known[version{s.object, strconv.FormatInt(s.version, 10)}] = true
	}
	var out []string
	for _, r := range requests {
		// Of two deletions at once both are accepted, and one does nothing.
		if r.accepted() && r.subresource == "binding" && !wrote[r] {
			out = append(out, fmt.Sprintf("nothing was stored for %s", r))
		}
		if r.accepted() && r.version != "" && !known[version{r.object, r.version}] {
			out = append(out, fmt.Sprintf("answered with version %s, which was never stored: %s", r.version, r))
		}
	}
	return out
}

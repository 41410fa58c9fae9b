package audit

import (
	"fmt"
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
func (k *knowledge) seen(states []*state, authors map[*state]*request, i int) *invariant.Seen {
	s := states[i]
	since := authors[s].received.Add(-cacheLag)
	status, isStatus := s.before.(*lwsv1.LeaderWorkerSet)
	if !isStatus {
		since = since.Add(-syncTime) // a sync begins with the status, if it writes that
	}
	first := settledBy(states[:i], authors, since)
	name, uid := setOf(s)
	out := &invariant.Seen{Pods: k.proven[uid]}
	if first >= 0 {
		out.Pods = max(out.Pods, states[first].version)
	}
	if isStatus && authors[s].wantsVersion && status.DeletionTimestamp == nil {
		out.Set = status
		return out
	}
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

// knowledge is what the controller's own writes prove that it knew. It says of a
// group that it is Ready when its cache has shown all its pods Ready; and what a
// cache shows of pods it shows in the order of their versions. So it then had seen
// all that happened to any pod before.
type knowledge struct {
	// proven is, by set, the version up to which its pods had been seen.
	proven map[types.UID]int64
	// ready is the version at which each pod became Ready, of those that are.
	ready map[types.NamespacedName]readyPod
	// nodes is the history of the nodes.
	nodes []nodeState
}

type readyPod struct {
	mates string
	since int64
}

func newKnowledge(nodes []nodeState) *knowledge {
	return &knowledge{nodes: nodes, proven: map[types.UID]int64{}, ready: map[types.NamespacedName]readyPod{}}
}

// learn takes in the next state of a namespace.
func (k *knowledge) learn(s *state, by invariant.Actor) {
	pod, ok := s.after.(*corev1.Pod)
	if s.resource == pods && (!ok || !hasCondition(pod, corev1.PodReady)) {
		delete(k.ready, s.NamespacedName)
	}
	if !ok {
		return
	}
	_, uid := setOf(s)
	mates := fmt.Sprint(uid, pod.Labels[lwsv1.LabelGroupIndex], pod.Annotations[lwsv1.AnnotationIncarnation])
	if was, known := k.ready[s.NamespacedName]; hasCondition(pod, corev1.PodReady) && (!known || was.mates != mates) {
		k.ready[s.NamespacedName] = readyPod{mates, s.version}
	}
	before, _ := s.before.(*corev1.Pod)
	if by != invariant.Controller || before == nil || hasCondition(before, lwsv1.ConditionGroupReady) || !hasCondition(pod, lwsv1.ConditionGroupReady) {
		return
	}
	for _, r := range k.ready {
		if r.mates == mates {
			k.proven[uid] = max(k.proven[uid], r.since)
		}
	}
}

func hasCondition(p *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// change is the i-th state of a namespace as the checker takes it.
func (k *knowledge) change(states []*state, authors map[*state]*request, i int) *invariant.Change {
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
		c.Seen = k.seen(states, authors, i)
		if c.Force {
			c.Seen.Nodes = nodeSeen(k.nodes, s)
		}
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

package invariant

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// S1: no pod is deleted by force that a live kubelet may still run, as far as anybody
// can tell. That no name is used again while the old pod may run then follows from
// the API: the name is taken until the kubelet is done.
func S1(c *Checker, ch *Change) string {
	if p, ok := ch.Before.(*corev1.Pod); ok && ch.By == Controller && ch.Verb == Delete {
		c.count("S1")
		if ch.Force && ch.Seen != nil {
			c.count("S1 force")
			if why := mayRun(p, ch); why != "" {
				return fmt.Sprintf("pod %s deleted by force, %s", p.Name, why)
			}
		}
	}
	return ""
}

// mayRun says why a pod must not be deleted by force: CONTRACT section 6.
func mayRun(p *corev1.Pod, ch *Change) string {
	switch {
	case !terminating(p):
		return "which was not being deleted"
	case len(p.Finalizers) > 0:
		return fmt.Sprintf("which %v holds", p.Finalizers)
	case p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0:
		return "" // the second of the two writes that such a deletion makes
	case ch.At.Before(p.DeletionTimestamp.Time):
		return fmt.Sprintf("which has until %s to end", p.DeletionTimestamp)
	case p.Spec.NodeName == "":
		return ""
	}
	node, looked := ch.Seen.Nodes[p.Spec.NodeName]
	if !looked {
		return fmt.Sprintf("without a look at node %s", p.Spec.NodeName)
	}
	if node == nil {
		return ""
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("whose node %s is Ready", node.Name)
		}
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) {
		return ""
	}
	for _, s := range slices.Concat(ch.Seen.Later, []*v1.LeaderWorkerSet{ch.Seen.Set}) {
		if s == nil {
			continue
		}
		if after, err := time.ParseDuration(s.Annotations[v1.AnnotationForceDeleteAfter]); err == nil && after >= 30*time.Second && !ch.At.Before(p.DeletionTimestamp.Add(after)) {
			return ""
		}
	}
	return fmt.Sprintf("whose node %s is neither gone nor out of service, and which no annotation gives up at %s", node.Name, ch.At)
}

// S2: what the controller creates is controlled by the set it saw; what it
// deletes and changes is, with the UID as precondition; only the adoption of what
// nobody controls is more, and that carries UID and resourceVersion.
func S2(c *Checker, ch *Change) string {
	if ch.By != Controller {
		return ""
	}
	c.count("S2")
	o := ch.object()
	name := fmt.Sprintf("%T %s", o, o.GetName())
	if _, isSet := o.(*v1.LeaderWorkerSet); isSet {
		if ch.Verb != Update || !ch.UID {
			return fmt.Sprintf("%s of %s, UID as precondition: %t", ch.Verb, name, ch.UID)
		}
		return ""
	}
	if _, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim {
		return c.claimWritten(ch, name)
	}
	switch ch.Verb {
	case Create:
		if !c.ownedBySeen(ch.After, ch) {
			return fmt.Sprintf("%s created for %q, which is not the set that was seen", name, owner(ch.After))
		}
		if !blocksOwner(ch.After) {
			return fmt.Sprintf("%s created, for which a deletion of its set in the foreground does not wait", name)
		}
	case Delete:
		if !ch.UID {
			return fmt.Sprintf("%s deleted without its UID as precondition", name)
		}
		if !c.ownedBySeen(ch.Before, ch) && !c.seenOwned(ch) {
			return fmt.Sprintf("%s deleted, which belongs to %q", name, owner(ch.Before))
		}
	case Update:
		if !ch.UID {
			return fmt.Sprintf("%s changed without its UID as precondition", name)
		}
		if c.seenOwned(ch) {
			return "" // let go of since, unseen
		}
		if owner(ch.Before) == "" {
			if !ch.Version || !c.ownedBySeen(ch.After, ch) || !blocksOwner(ch.After) {
				return fmt.Sprintf("%s, which nobody controls, was changed other than by adoption", name)
			}
		} else if !c.ownedBySeen(ch.Before, ch) {
			return fmt.Sprintf("%s changed, which belongs to %q", name, owner(ch.Before))
		}
	}
	return ""
}

// claimWritten: claims are used whoever made them, so that only those are not to be
// touched that something else controls. The garbage collector deletes them.
func (c *Checker) claimWritten(ch *Change, name string) string {
	switch {
	case ch.Verb == Delete:
		return name + " deleted, which its owners decide"
	case ch.Verb == Create && owner(ch.After) != "" && !c.ownedBySeen(ch.After, ch):
		return fmt.Sprintf("%s created for %q, which is not the set that was seen", name, owner(ch.After))
	case ch.Verb == Update && !(ch.UID && ch.Version):
		return name + " changed without UID and version as preconditions"
	case ch.Verb == Update && owner(ch.Before) != "" && !c.ownedBySeen(ch.Before, ch) && !c.ofItsPod(ch.Before, ch):
		return fmt.Sprintf("%s changed, which belongs to %q", name, owner(ch.Before))
	}
	return ""
}

// ofItsPod says that an object belongs to a pod of the set: it was to go with it.
func (c *Checker) ofItsPod(o Object, ch *Change) bool {
	for _, p := range c.pods {
		if p.UID == owner(o) {
			return c.ownedBySeen(p, ch)
		}
	}
	return false
}

// owner is the UID of the controller of an object.
func owner(o Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}

// blocksOwner says that a deletion of the controller in the foreground waits for
// the object.
func blocksOwner(o Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// ownedBySeen says that the object is controlled by the set that the author of
// the change saw, or, where that is not known, by the one that exists.
func (c *Checker) ownedBySeen(o Object, ch *Change) bool {
	if s := c.seenSet(ch); s != nil {
		return owner(o) == s.UID
	}
	return owner(o) != ""
}

// seenOwned says that the cache, or an answer since, showed a pod as owned that was
// deleted, or whose status was written. Only a resourceVersion could prevent that,
// and nodes change pods all the time.
func (c *Checker) seenOwned(ch *Change) bool {
	if ch.Seen == nil || ch.Verb == Update && ch.Subresource != "status" {
		return false
	}
	for _, v := range slices.Backward(c.past[keyOf(ch.Before)]) {
		if v.pod != nil && v.pod.UID == ch.Before.GetUID() && c.ownedBySeen(v.pod, ch) {
			return true
		}
		if v.from <= ch.Seen.Pods {
			break
		}
	}
	return false
}

// seenSet is the set that a change was made for, as its author saw it or, where
// that is not known, as it is; nil when there is none.
func (c *Checker) seenSet(ch *Change) *v1.LeaderWorkerSet {
	if ch.Seen != nil && ch.Seen.Set != nil {
		return ch.Seen.Set
	}
	ref := metav1.GetControllerOfNoCopy(ch.object())
	if ref == nil {
		return nil
	}
	return c.sets[types.NamespacedName{Namespace: ch.object().GetNamespace(), Name: ref.Name}]
}

// S3: nothing of an incarnation is created while pods of an earlier one exist,
// terminating ones included, or while its own teardown was known to be on record.
func S3(c *Checker, ch *Change) string {
	p, at, ok := createdPod(ch)
	if !ok {
		return ""
	}
	c.count("S3")
	for _, mate := range ofGroup(c.podsNow(), at.uid, at.group) {
		if mate.Labels[v1.LabelName] == "" && c.revision(at, revisionOf(mate)) == nil {
			continue // nobody knows any more how large its incarnation was, and which names to look for
		}
		if incarnation(mate) < incarnation(p) {
			return fmt.Sprintf("pod %s of incarnation %d created while %s of incarnation %d exists",
				p.Name, incarnation(p), mate.Name, incarnation(mate))
		}
	}
	now := c.sets[at.set]
	if ch.Seen == nil || ch.Seen.Set == nil || now == nil || now.UID != at.uid {
		return ""
	}
	for _, s := range slices.Concat(ch.Seen.Later, []*v1.LeaderWorkerSet{ch.Seen.Set, now}) {
		if !tornDown(s, at.group, incarnation(p)) {
			return ""
		}
	}
	return fmt.Sprintf("pod %s of incarnation %d created, whose teardown is on record", p.Name, incarnation(p))
}

// tornDown says that the teardown of this incarnation, or of a later one, is on record.
func tornDown(s *v1.LeaderWorkerSet, index int32, n int64) bool {
	return slices.ContainsFunc(s.Status.Recycling, func(e v1.RecyclingGroup) bool { return e.Index == index && e.Incarnation >= n })
}

// createdPod is the pod that the controller created by a change, and its place.
func createdPod(ch *Change) (*corev1.Pod, place, bool) {
	p, ok := ch.After.(*corev1.Pod)
	if !ok || ch.By != Controller || ch.Verb != Create {
		return nil, place{}, false
	}
	at, ok := placeOf(p)
	return p, at, ok
}

// S4: live pods of a group share one revision and one incarnation. A pod that
// lost its label is unseen, and is released once it turns out to be in the way.
func S4(c *Checker, ch *Change) string {
	p, ok := ch.After.(*corev1.Pod)
	if !ok || ch.By != Controller || ch.Verb == Delete || c.Several {
		return "" // a deletion mixes nothing
	}
	at, ok := placeOf(p)
	if !ok {
		return ""
	}
	c.count("S4")
	shared := map[string]string{}
	for _, mate := range ofGroup(labelled(c.podsNow()), at.uid, at.group) {
		if !terminating(mate) {
			shared[fmt.Sprintf("revision %s, incarnation %d", revisionOf(mate), incarnation(mate))] += " " + mate.Name
		}
	}
	if len(shared) > 1 {
		message := fmt.Sprintf("after %s of %s the pods of group %d differ:", ch.Verb, p.Name, at.group)
		for _, which := range slices.Sorted(maps.Keys(shared)) {
			message += fmt.Sprintf(" (%s:%s)", which, shared[which])
		}
		return message
	}
	return ""
}

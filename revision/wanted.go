package revision

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// Wanted is what the present spec of the set and the restarts that were asked for, by
// the set at the given time or before, amount to.
func (h *History) Wanted(set *v1.LeaderWorkerSet, restart time.Time) *Content {
	at := h.restart(restart)
	wanted := FromSet(set).Restarted(at)
	last := h.lostBudget(set)
	if last == nil {
		return wanted
	}
	whole := &Content{}
	wanted.Template.DeepCopyInto(&whole.Template)
	wanted.Network.DeepCopyInto(&whole.Network)
	whole.Template.MaxGroupRestarts = last.Template.MaxGroupRestarts
	if Equal(last.Restarted(at), whole) {
		return whole
	}
	return wanted
}

// lostBudget is the revision by which the groups go on having the budget of restarts
// that the spec lacks, if nothing else of it was changed; nil where the spec means what
// it says. The published CRD knows no maxGroupRestarts: applied over ours, it takes it
// from every set that anybody writes, which is nobody's wish, and must not restart
// anything, now or when ours is back. It shows in the status, which lacks the update
// revision just so. Once that is on record again, the spec it was recorded for is the
// one that was observed: who takes the budget out makes a new generation.
func (h *History) lostBudget(set *v1.LeaderWorkerSet) *Revision {
	var last *Revision
	switch s := &set.Status; {
	case set.Spec.LeaderWorkerTemplate.MaxGroupRestarts != nil || s.ObservedGeneration == 0:
	case s.UpdateRevision == "":
		last = h.latest(func(*Revision) bool { return true })
	case s.ObservedGeneration == set.Generation:
		last = h.ByKey(s.UpdateRevision)
	}
	if last == nil || last.Template.MaxGroupRestarts == nil {
		return nil
	}
	return last
}

// Next builds the revision for the wanted content, which the history lacks; see New.
func (h *History) Next(set *v1.LeaderWorkerSet, c *Content, restart time.Time, lost string) (*Revision, error) {
	return h.New(set, c, h.restart(restart), lost)
}

// Lost is the key of the revision of the present spec, where somebody has deleted its
// object; empty where that is not so. Whether it was for the restarts that are asked
// for now, only its pods can tell.
func (h *History) Lost(set *v1.LeaderWorkerSet) string {
	if s := &set.Status; s.ObservedGeneration == set.Generation && !h.keys[s.UpdateRevision] {
		return s.UpdateRevision
	}
	return ""
}

// LostRestart is the restart that a lost revision was stored with, as its pods record
// it, given the one that the set asks for. ok is false where they do not record that
// yet: then what is wanted is a revision that there has never been.
func LostRestart(set *v1.LeaderWorkerSet, key string, asked time.Time, pods []corev1.Pod) (restart time.Time, ok bool) {
	own := restartOf(set.Spec.LeaderWorkerTemplate.WorkerTemplate.Annotations)
	for i := range pods {
		p := &pods[i]
		if at := restartOf(p.Annotations); p.Labels[v1.LabelRevision] == key && metav1.IsControlledBy(p, set) && at.After(own) && at.After(restart) {
			restart = at
		}
	}
	if restart.Before(asked) && own.Before(asked) {
		return asked, false
	}
	return restart, true
}

// restartOf is the restart that annotations of a template or pod record.
func restartOf(annotations map[string]string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, annotations[v1.AnnotationTemplateRestartedAt])
	return at
}

// Current is the key of the revision at which the last rollout ended: what the status
// says, or, where that is nothing or lost, the update revision.
func (h *History) Current(set *v1.LeaderWorkerSet, update string) string {
	if key := set.Status.CurrentRevision; key != "" && h.ByKey(key) != nil {
		return key
	}
	return update
}

// Undo finds the revision that the set is to go back to: that of a number, or, where
// the wish is another word, the one before the present that means something else, so
// that a restart in between is no obstacle. Where it cannot go back, it says why. update
// is the key of the revision of the present spec, restart when the set asks for a
// restart.
func (h *History) Undo(set *v1.LeaderWorkerSet, wish, update string, restart time.Time) (target *Revision, why string) {
	number, err := strconv.ParseInt(wish, 10, 64)
	present := h.Wanted(set, restart)
	same := func(r *Revision) bool {
		return r.Key == update || Equal(r.Restarted(h.restart(restart)), present)
	}
	target = h.latest(func(r *Revision) bool {
		return err != nil && !same(r) || err == nil && r.Number == number
	})
	switch {
	case target == nil && err != nil:
		return nil, "there is no earlier revision that differs in more than a restart"
	case target == nil:
		return nil, "there is no such revision"
	}
	now, then := &set.Spec.LeaderWorkerTemplate, &target.Template
	sub := func(t *v1.LeaderWorkerTemplate) *int32 {
		if t.SubGroupPolicy == nil {
			return nil
		}
		return t.SubGroupPolicy.SubGroupSize
	}
	switch {
	case same(target):
		return nil, fmt.Sprintf("revision %d is the present spec", target.Number)
	case (now.SubGroupPolicy == nil) != (then.SubGroupPolicy == nil) || !equality.Semantic.DeepEqual(sub(now), sub(then)):
		return nil, fmt.Sprintf("revision %d has another spec.leaderWorkerTemplate.subGroupPolicy, which cannot be changed", target.Number)
	case !equality.Semantic.DeepEqual(now.VolumeClaimTemplates, then.VolumeClaimTemplates):
		return nil, fmt.Sprintf("revision %d has other spec.leaderWorkerTemplate.volumeClaimTemplates, which cannot be changed", target.Number)
	}
	return target, ""
}

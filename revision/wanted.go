package revision

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "lws-controller/api/v1"
)

// Wanted is what the present spec of the set and the restarts that were asked for, by
// the set at the given time or before, amount to.
func (h *History) Wanted(set *v1.LeaderWorkerSet, restart time.Time) *Content {
	return FromSet(set).Restarted(h.restart(restart))
}

// Next builds the revision for the wanted content, which the history lacks; see New.
func (h *History) Next(set *v1.LeaderWorkerSet, c *Content, restart time.Time) (*Revision, error) {
	lost := ""
	if s := &set.Status; s.ObservedGeneration == set.Generation {
		lost = s.UpdateRevision
	}
	return h.New(set, c, h.restart(restart), lost)
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
	if target == nil {
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

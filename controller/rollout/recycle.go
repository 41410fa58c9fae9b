package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// recycle decides which groups are taken down: those that have failed, and those
// that are no longer wanted, the highest first.
func (p *planner) recycle() {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		v := &p.Groups[i]
		if !v.HasPods || p.entries[v.Index] != nil {
			continue
		}
		if !p.wanted(v.Index) || v.Index >= p.Replicas && v.Revision != p.Update {
			p.begin(v, v1.RecycleScaleDown, v.Revision, nil)
		} else if f := v.FailureUnder(p.restartPolicy(v)); f != nil {
			p.fail(v, f)
		} else if p.lost(v) {
			p.begin(v, v1.RecycleFailure, v.Revision, &group.Failure{Reason: group.FailureRevisionLost,
				Message: "pods are missing, and the object of their revision " + v.Revision + " is gone"})
		}
	}
}

// lost says that the group lacks pods that nobody can make any more: the object of
// its revision is gone.
func (p *planner) lost(v *group.View) bool {
	_, known := p.Templates[v.Revision]
	return !known && (v.Leader == nil || len(v.Missing) > 0)
}

// restartPolicy is that of the group's own revision.
func (p *planner) restartPolicy(v *group.View) v1.RestartPolicyType {
	return p.Templates[v.Revision].RestartPolicy
}

// fail recreates a failed group, now or when its backoff is over. Until then its
// pods stay as they are: their logs are what people need.
func (p *planner) fail(v *group.View, f *group.Failure) {
	r := p.restarts[v.Index]
	if f.Counts && r != nil && r.Revision == v.Revision {
		if due := r.LastAt.Add(RestartDelay(r.Count)); p.Now.Before(due) {
			p.wake(due)
			return
		}
	}
	if revision := p.rebuildAt(v); revision != v.Revision {
		// On record as an update, which it is as soon as the last pod is gone; a new
		// revision starts with a clean count.
		if p.begin(v, v1.RecycleUpdate, revision, f) {
			p.at.room--
			delete(p.restarts, v.Index)
		}
		return
	}
	if !p.begin(v, v1.RecycleFailure, v.Revision, f) {
		return
	}
	if v.Revision == p.Update && ready(v) {
		p.at.room-- // was not on its way until now
	}
	if !f.Counts {
		return
	}
	next := &v1.GroupRestarts{Index: v.Index, Revision: v.Revision, LastAt: metav1.NewTime(p.Now), Reason: f.Reason}
	if r != nil && r.Revision == v.Revision {
		next.Count = r.Count
	}
	next.Count++
	p.restarts[v.Index] = next
}

const (
	firstRestartDelay = 10 * time.Second
	maxRestartDelay   = 5 * time.Minute
)

// RestartDelay is how long after the start of the last recreation the next one
// may start, given how many there have been: 0 → at once, 1 → 10 s, 2 → 20 s,
// 3 → 40 s, 6 and more → 5 min.
func RestartDelay(count int32) time.Duration {
	if count <= 0 {
		return 0
	}
	delay := firstRestartDelay
	for ; count > 1 && delay < maxRestartDelay; count-- {
		delay *= 2
	}
	return min(delay, maxRestartDelay)
}

// begin starts a teardown. The entry is written before the first pod is deleted.
func (p *planner) begin(v *group.View, cause v1.RecycleCause, revision string, failure *group.Failure) bool {
	if len(p.entries) >= p.MaxEntries {
		// Not Partial: the next one starts when a pod event says that one is over.
		return false
	}
	if p.counts(v) && p.available(v) {
		p.at.available--
	}
	if p.counts(v) && p.serves(v) {
		p.at.serving--
	}
	entry := &v1.RecyclingGroup{Index: v.Index, Incarnation: v.Incarnation, Cause: cause,
		Revision: revision, StartedAt: metav1.NewTime(p.Now)}
	p.entries[v.Index] = entry
	p.Ahead = true
	p.Started = append(p.Started, Recycle{Entry: *entry, Failure: failure})
	return true
}

// deletePods deletes, all at once, what is left of the groups in teardown, and
// single pods that a group must not have or that its policy replaces alone.
func (p *planner) deletePods() {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		v := &p.Groups[i]
		if p.frozen[v.Index] {
			continue
		}
		if entry := p.entries[v.Index]; entry != nil && v.Incarnation <= entry.Incarnation {
			p.deleteAll(v, v.Live, string(entry.Cause))
			continue
		}
		p.deleteAll(v, v.Stray, "Stray")
		if policy := p.restartPolicy(v); policy == v1.NoneRestartPolicy || policy == v1.DefaultRestartPolicy {
			p.deleteAll(v, v.Finished, "Finished")
		}
	}
}

func (p *planner) deleteAll(v *group.View, pods []group.PodRef, why string) {
	if len(pods) == 0 || !p.spend(len(pods)) {
		return
	}
	for _, pod := range pods {
		p.Delete = append(p.Delete, Deletion{Index: v.Index, Pod: pod, Why: why})
	}
}

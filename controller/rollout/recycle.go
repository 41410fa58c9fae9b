package rollout

import (
	"slices"
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
		} else if p.Withheld {
			continue
		} else if failures := v.FailuresUnder(p.restartPolicy(v)); len(failures) > 0 {
			p.fail(v, failures)
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

// fail recreates a failed group, now or when its backoff is over, or leaves it alone
// when its budget is spent. Until then its pods stay as they are: their logs are what
// people need. What does not count waits for neither, and is what the group is then
// recreated for.
func (p *planner) fail(v *group.View, failures []*group.Failure) {
	f, r := failures[0], p.countOf(v)
	if f.Counts {
		due := r.LastAt.Add(delayOf(&r))
		waits := r.Count > 0 && p.Now.Before(due)
		if waits || p.Templates[v.Revision].spent(r.Count) {
			i := slices.IndexFunc(failures, func(f *group.Failure) bool { return !f.Counts })
			if i < 0 {
				if waits {
					p.wake(due)
				}
				return
			}
			f = failures[i]
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
	if v.Revision == p.Update && p.ready(v) {
		p.at.room-- // was not on its way until now
	}
	if f.Counts {
		r.Count++
		r.LastAt, r.Reason = metav1.NewTime(p.Now), f.Reason
		p.restarts[v.Index] = &r
	}
}

// countOf is the restart count of the group at its revision.
func (p *planner) countOf(v *group.View) v1.GroupRestarts {
	if r := p.restarts[v.Index]; r != nil && r.Revision == v.Revision {
		return *r
	}
	return v1.GroupRestarts{Index: v.Index, Revision: v.Revision}
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

// delayOf is the delay before the next recreation. Those that a long time of being
// Ready has settled delay it no more.
func delayOf(r *v1.GroupRestarts) time.Duration { return RestartDelay(r.Count - r.Settled) }

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
		if v.ReplacesSingly(p.restartPolicy(v)) && !p.startsNow(v) && !p.Withheld {
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

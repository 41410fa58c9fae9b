package group

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "lws-controller/api/v1"
)

// Failure is what broke a group, named by the first pod that shows it.
type Failure struct {
	Reason string
	Pod    PodRef
	// Node the pod ran on, empty if it never did.
	Node string
	// At is when it happened, zero where no status tells.
	At time.Time `json:",omitzero"`
	// Counts: the failure is the group's own, and counts for backoff and budget.
	// Disruptions and deletions by others do not.
	Counts  bool
	Message string
}

// Reasons of failures.
const (
	FailurePodFailed          = "PodFailed"
	FailureContainerRestarted = "ContainerRestarted"
	FailurePodDeleted         = "PodDeleted"
	FailurePodGone            = "PodGone"
	FailureMixed              = "MixedRevisions"
	// FailureRevisionLost is found by the planner, which knows the revisions.
	FailureRevisionLost = "RevisionLost"
)

// failureKinds are the reasons in the order in which they are named where no time
// tells which came first. What ended or restarted comes before what is being deleted,
// since it is more often the cause than the consequence.
var failureKinds = []string{FailurePodFailed, FailureContainerRestarted, FailurePodDeleted, FailurePodGone, FailureMixed}

// findFailures looks for failures in the pods of the present incarnation: of each
// kind the first that counts and the first that does not, in the order in which they
// happened.
func findFailures(pods []*Pod, v *View) []*Failure {
	var found []*Failure
	for _, p := range pods {
		if p.Incarnation != v.Incarnation || p.Worker >= v.Size {
			continue
		}
		f := p.failure(v)
		if f == nil {
			continue
		}
		same := func(o *Failure) bool { return o.Reason == f.Reason && o.Counts == f.Counts }
		if i := slices.IndexFunc(found, same); i < 0 {
			found = append(found, f)
		} else if earlier(f.At, found[i].At) {
			found[i] = f
		}
	}
	if gone := findGone(v); gone != nil {
		found = append(found, gone)
	}
	slices.SortStableFunc(found, func(a, b *Failure) int {
		return cmp.Compare(slices.Index(failureKinds, a.Reason), slices.Index(failureKinds, b.Reason))
	})
	orderByTime(found)
	return found
}

// orderByTime orders those whose time is known among themselves.
func orderByTime(found []*Failure) {
	var timed []*Failure
	for _, f := range found {
		if !f.At.IsZero() {
			timed = append(timed, f)
		}
	}
	slices.SortStableFunc(timed, func(a, b *Failure) int { return a.At.Compare(b.At) })
	for i := range found {
		if !found[i].At.IsZero() {
			found[i], timed = timed[0], timed[1:]
		}
	}
}

// failure is what is wrong with a pod of the present incarnation, nil if nothing is.
func (p *Pod) failure(v *View) *Failure {
	f := &Failure{Pod: p.ref(), Node: p.Node, Counts: !p.Disrupted}
	if p.Died != nil {
		f.At = p.Died.At
	}
	switch {
	case p.Terminating:
		// Its containers are being stopped: that they end says nothing.
		f.Reason, f.Counts, f.At = FailurePodDeleted, false, p.Deleted
		f.Message = fmt.Sprintf("pod %s was deleted", p.Name)
		if p.Disruption != "" {
			f.Message += " (" + p.Disruption + ")"
		}
	case p.finished():
		f.Reason, f.Message = FailurePodFailed, fmt.Sprintf("pod %s ended with phase %s", p.Name, p.Phase)
		if p.Why != "" {
			f.Message += ": " + p.Why
		}
		if p.Died != nil {
			f.Message += fmt.Sprintf(": container %s ended%s", p.Died.Container, p.Died.how())
		}
	case p.Restarts > 0:
		f.Reason, f.Message = FailureContainerRestarted, fmt.Sprintf("a container of pod %s restarted", p.Name)
		if p.Died != nil {
			f.Message = fmt.Sprintf("container %s of pod %s restarted%s", p.Died.Container, p.Name, p.Died.how())
		}
	case p.Revision != v.Revision:
		f.Reason, f.Counts = FailureMixed, false
		f.Message = fmt.Sprintf("pod %s has revision %s, its group %s", p.Name, p.Revision, v.Revision)
	default:
		return nil
	}
	return f
}

// FailuresUnder are the failures that call for the recreation of the whole group
// under a restart policy, the first first.
func (v *View) FailuresUnder(policy v1.RestartPolicyType) []*Failure {
	var out []*Failure
	for _, f := range append([]*Failure{v.Failure}, v.OtherFailures...) {
		if f != nil && v.recreates(f, policy) {
			out = append(out, f)
		}
	}
	return out
}

// FailureUnder is the first of them, nil if there is none.
func (v *View) FailureUnder(policy v1.RestartPolicyType) *Failure {
	for _, f := range v.FailuresUnder(policy) {
		return f
	}
	return nil
}

// recreates says whether a failure calls for the recreation of the whole group.
func (v *View) recreates(f *Failure, policy v1.RestartPolicyType) bool {
	switch {
	case f.Reason == FailureMixed:
		// No policy can want pods of two revisions in one group.
		return true
	case v.ReplacesSingly(policy):
		return false
	case policy == v1.RecreateGroupAfterStart && f.Reason == FailureContainerRestarted:
		return v.restartedSince()
	default:
		return true
	}
}

// ReplacesSingly says that under a restart policy a failed pod is replaced alone. Under
// RecreateGroupAfterStart that is so until the group has started.
func (v *View) ReplacesSingly(policy v1.RestartPolicyType) bool {
	switch policy {
	case v1.NoneRestartPolicy, v1.DefaultRestartPolicy:
		return true
	case v1.RecreateGroupAfterStart:
		return !v.HasStarted()
	default:
		return false
	}
}

// HasStarted says that every regular container of every pod has run at one time in this
// incarnation. The leader's annotation says so, or that the group has been Ready; it is
// there as long as the leader. A leader that is gone takes the fact with it: then the
// group has started if every container of all that are left of it has. So workers of
// before never live on beside a leader that knows nothing of them, unless some pod had
// not started, and the leader is replaced like any other pod.
func (v *View) HasStarted() bool {
	if v.Leader != nil {
		return v.Leader.RestartsSeen != nil || v.EverReady()
	}
	return v.AllStarted
}

// restartedSince says that containers have restarted since the group started. How often
// they did before is on the leader; while it is not, no restart can be told from those.
func (v *View) restartedSince() bool {
	return v.Leader != nil && v.Leader.RestartsSeen != nil && v.Restarts > *v.Leader.RestartsSeen
}

// findGone reports a pod whose absence is a failure: the leader while others
// exist, and a worker once the group has been Ready. Before that a missing
// worker is one that is still to be created.
func findGone(v *View) *Failure {
	switch {
	case v.Leader == nil && !v.nameHeld(0):
		return &Failure{Reason: FailurePodGone, Message: "the leader pod is gone"}
	case v.EverReady() && len(v.Missing) > 0 && !v.nameHeld(v.Missing[0]):
		w := v.Missing[0]
		return &Failure{Reason: FailurePodGone, Pod: PodRef{Worker: w}, Message: fmt.Sprintf("worker %d is gone", w)}
	default:
		return nil
	}
}

// nameHeld says that a pod which the set does not control has the worker's name. It
// may be the very pod that is missed, about to be adopted: held is not gone.
func (v *View) nameHeld(worker int32) bool {
	return slices.ContainsFunc(v.Orphans, func(p *Pod) bool { return p.Worker == worker }) ||
		slices.ContainsFunc(v.Foreign, func(f Foreign) bool { return f.Worker == worker })
}

package group

import (
	"fmt"
	"slices"

	v1 "lws-controller/api/v1"
)

// Failure is what broke a group, named by the first pod that shows it.
type Failure struct {
	Reason string
	Pod    PodRef
	// Node the pod ran on, empty if it never did.
	Node string
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

// findFailures looks for failures in the pods of the present incarnation, the first of
// each kind. What ended or restarted is named before what is being deleted, since it is
// more often the cause than the consequence.
func findFailures(pods []*Pod, v *View) []*Failure {
	var failed, restarted, deleted, mixed *Failure
	note := func(at **Failure, reason string, p *Pod, counts bool, format string, args ...any) {
		if *at == nil {
			*at = &Failure{Reason: reason, Pod: p.ref(), Node: p.Node, Counts: counts && !p.Disrupted,
				Message: fmt.Sprintf(format, args...)}
		}
	}
	for _, p := range pods {
		if p.Incarnation != v.Incarnation || p.Worker >= v.Size {
			continue
		}
		switch {
		case p.Terminating:
			// Its containers are being stopped: that they end says nothing.
			note(&deleted, FailurePodDeleted, p, false, "pod %s was deleted", p.Name)
		case p.finished():
			note(&failed, FailurePodFailed, p, true, "pod %s ended with phase %s", p.Name, p.Phase)
		case p.Restarts > 0:
			note(&restarted, FailureContainerRestarted, p, true, "container %s of pod %s restarted", p.Restarted, p.Name)
		case p.Revision != v.Revision:
			note(&mixed, FailureMixed, p, false, "pod %s has revision %s, its group %s", p.Name, p.Revision, v.Revision)
		}
	}
	return slices.DeleteFunc([]*Failure{failed, restarted, deleted, findGone(v), mixed}, func(f *Failure) bool { return f == nil })
}

// FailureUnder is the first failure that calls for the recreation of the whole group
// under a restart policy, nil if there is none.
func (v *View) FailureUnder(policy v1.RestartPolicyType) *Failure {
	for _, f := range append([]*Failure{v.Failure}, v.OtherFailures...) {
		if f.Recreates(policy) {
			return f
		}
	}
	return nil
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

// Recreates says whether the failure calls for the recreation of the whole group
// under the given restart policy.
func (f *Failure) Recreates(policy v1.RestartPolicyType) bool {
	switch {
	case f == nil:
		return false
	case f.Reason == FailureMixed:
		// No policy can want pods of two revisions in one group.
		return true
	case policy == v1.NoneRestartPolicy || policy == v1.DefaultRestartPolicy:
		return false
	case policy == v1.RecreateGroupAfterStart:
		// Restarts while the group starts up must not count, and which came
		// later cannot be told from the number alone.
		return f.Reason != FailureContainerRestarted
	default:
		return true
	}
}

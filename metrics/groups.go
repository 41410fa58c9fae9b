package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

// Counters and distributions begin at 0 with each process. A replica counts what it
// sees and does while it leads: what a new leader finds, in whatever phase, is no
// event. So the sum over replicas of rates or increases is right also across a change
// of leader; what happened in between, while nobody led, is missing.

// startBuckets go from a second, which is the resolution of times in the API, to
// models that take an hour to load.
var startBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200}

// phaseBuckets begin where a phase is passed as fast as pods are created.
var phaseBuckets = append([]float64{0.1, 0.5}, startBuckets...)

// transitions counts moves along the edges that are declared, and others should there
// be any. Where several were passed since the last look, each counts.
// Labels: from, to: phases as of lws_groups, and Gone as where a group goes that is
// not wanted any more.
//
// PromQL: groups a second that stop being Ready, by where they go:
//
//	sum by (to) (rate(lws_group_transitions_total{from="Ready"}[5m]))
var transitions = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_group_transitions_total",
	Help: "Moves of groups from one phase to another.",
}, []string{"from", "to"})

// undeclared is a bug of the controller: please report it.
//
// PromQL: how many there were:
//
//	sum(increase(lws_group_undeclared_transitions_total[1d]))
var undeclared = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_group_undeclared_transitions_total",
	Help: "Moves of groups for which the table of transitions has no path. It stays 0.",
}, nil)

// phaseTime leaves out phases whose beginning this replica has not seen, and phases
// that were passed between two looks.
// Labels: phase as of lws_groups.
//
// PromQL: 90th percentile by phase:
//
//	histogram_quantile(0.9, sum by (phase, le) (rate(lws_group_phase_duration_seconds_bucket[5m])))
var phaseTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_group_phase_duration_seconds",
	Help:    "Seconds that a group was in a phase, counted when it leaves it, as the leading replica has seen it.",
	Buckets: phaseBuckets,
}, []string{"phase"})

// startTime counts each incarnation once.
//
// PromQL: 90th percentile of how long a group takes to start:
//
//	histogram_quantile(0.9, sum by (le) (rate(lws_group_startup_duration_seconds_bucket[5m])))
var startTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_group_startup_duration_seconds",
	Help:    "Seconds from the creation of a group's leader, by its creationTimestamp, to the group being Ready for the first time.",
	Buckets: startBuckets,
}, nil)

// recreationTime is complete across a change of leader only if the new one still finds
// the teardown on record.
// Labels: cause: Failure, Update, Recycle, which a person has asked for, or Replace, for want of nodes.
//
// PromQL: average by cause:
//
//	sum by (cause) (rate(lws_group_recreation_duration_seconds_sum[5m])) / (sum by (cause) (rate(lws_group_recreation_duration_seconds_count[5m])) > 0)
var recreationTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_group_recreation_duration_seconds",
	Help:    "Seconds from the teardown of a group being put on record to its next incarnation being Ready.",
	Buckets: startBuckets,
}, []string{"cause"})

// rolloutTime has one observation for each rollout that this replica has seen end.
//
// PromQL: average:
//
//	sum(rate(lws_rollout_duration_seconds_sum[1h])) / (sum(rate(lws_rollout_duration_seconds_count[1h])) > 0)
var rolloutTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_rollout_duration_seconds",
	Help:    "Seconds from condition UpdateInProgress becoming True to all groups being at the revision that they are to have, and Ready.",
	Buckets: []float64{1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400},
}, nil)

// recreations goes when the set goes, and begins at 0 with each leader.
// Labels: namespace, name of the set; cause as of
// lws_group_recreation_duration_seconds.
//
// PromQL: recreations in the last hour by set and cause:
//
//	sum by (namespace, name, cause) (increase(lws_group_recreations_total[1h]))
var recreations = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_group_recreations_total",
	Help: "Recreations of groups of the set, counted when the teardown is on record. Groups that are scaled down are none.",
}, []string{"namespace", "name", "cause"})

// failures adds up to the recreations because of failures. It goes when the set goes,
// and begins at 0 with each leader.
// Labels: namespace, name of the set; reason: PodFailed, ContainerRestarted, PodDeleted
// (by others), PodGone, MixedRevisions or RevisionLost.
//
// PromQL: failures in the last hour by reason:
//
//	sum by (reason) (increase(lws_group_failures_total[1h]))
var failures = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_group_failures_total",
	Help: "Failures because of which groups of the set were recreated, by what came first.",
}, []string{"namespace", "name", "reason"})

var (
	causes  = []string{"Failure", "Update", "Recycle", "Replace"}
	reasons = []string{group.FailurePodFailed, group.FailureContainerRestarted, group.FailurePodDeleted,
		group.FailurePodGone, group.FailureMixed, group.FailureRevisionLost}
)

// Recorder is what a controller tells what has happened. A nil one takes no notice.
type Recorder struct{}

// Known has the counters of a set be there, at 0.
func (r *Recorder) Known(set types.NamespacedName) {
	if r == nil {
		return
	}
	for _, cause := range causes {
		recreations.WithLabelValues(set.Namespace, set.Name, cause)
	}
	for _, reason := range reasons {
		failures.WithLabelValues(set.Namespace, set.Name, reason)
	}
}

// Forget drops the counters of a set that is gone.
func (r *Recorder) Forget(set types.NamespacedName) {
	if r == nil {
		return
	}
	labels := prometheus.Labels{"namespace": set.Namespace, "name": set.Name}
	recreations.DeletePartialMatch(labels)
	failures.DeletePartialMatch(labels)
}

// Moved counts a transition. after is how long the group was in the phase, if timed.
func (r *Recorder) Moved(from, to group.Phase, after time.Duration, timed bool) {
	if r == nil {
		return
	}
	transitions.WithLabelValues(string(from), string(to)).Inc()
	if timed {
		phaseTime.WithLabelValues(string(from)).Observe(after.Seconds())
	}
}

// Undeclared counts a move that the table does not have.
func (r *Recorder) Undeclared() {
	if r != nil {
		undeclared.WithLabelValues().Inc()
	}
}

// Started takes down how long a group took to be Ready.
func (r *Recorder) Started(after time.Duration) {
	if r != nil {
		startTime.WithLabelValues().Observe(after.Seconds())
	}
}

// Recreated takes down how long it took until a group was Ready again.
func (r *Recorder) Recreated(cause string, after time.Duration) {
	if r != nil && slices.Contains(causes, cause) {
		recreationTime.WithLabelValues(cause).Observe(after.Seconds())
	}
}

// Recreating counts a teardown that is on record, of a group that is to come back.
// reason is that of the failure, if the cause is one.
func (r *Recorder) Recreating(set types.NamespacedName, cause, reason string) {
	if r == nil || !slices.Contains(causes, cause) {
		return
	}
	recreations.WithLabelValues(set.Namespace, set.Name, cause).Inc()
	if slices.Contains(reasons, reason) {
		failures.WithLabelValues(set.Namespace, set.Name, reason).Inc()
	}
}

// RolledOut takes down how long a rollout took.
func (r *Recorder) RolledOut(took time.Duration) {
	if r != nil {
		rolloutTime.WithLabelValues().Observe(took.Seconds())
	}
}

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

// Set is what is told of one set. It is a recount of what the last sync of the set
// left, so that no gauge can drift.
type Set struct {
	types.NamespacedName
	// Phases are the groups by phase; those of which nothing exists yet are Pending.
	Phases map[group.Phase]int32
	// Oldest is since when the group has been in its phase that has been in it
	// longest.
	Oldest map[group.Phase]time.Time
	// Desired, Exist, Ready and Updated are spec.replicas and the numbers of the status.
	Desired, Exist, Ready, Updated int32
	// Progress is from 0 to 1.
	Progress float64
	// RolloutStart and RolloutEnd are zero where they are not known.
	RolloutStart, RolloutEnd time.Time
	// Current and Update are revision keys.
	Current, Update string
	Paused, Stalled bool
	// Degraded is the reason, empty if nothing is wrong.
	Degraded string
	// Restarts is the highest count of a group.
	Restarts int32
	// Groups are told of only where that is asked for.
	Groups []Group
}

// Group is one group of a set.
type Group struct {
	Index string
	Phase group.Phase
	Since time.Time
}

// State is what a controller is asked for at each scrape.
type State struct {
	Now time.Time
	// Leading: this replica writes. One that stands by tells of no set.
	Leading bool
	// Fenced: it writes nothing, since another controller of the sets is at work.
	Fenced bool
	Sets   []*Set
	// Unsynced is how long sets have been waiting for a sync that comes to its end.
	Unsynced map[types.NamespacedName]time.Duration
}

// The phases that a group of which there is something can be in.
var phases = []group.Phase{group.Pending, group.LeaderReady, group.WorkersStarting, group.Ready, group.Recycling, group.Failed}

// sets are the metrics that a collector reads from the state at each scrape.
var sets []*prometheus.Desc

// perSet is a metric with one series for each set, or some. Its labels begin with
// namespace and name, those of the set. A scraper that knows a namespace of its own,
// that of the controller's pod, must let ours be (honor_labels).
func perSet(o prometheus.GaugeOpts, labels ...string) *prometheus.Desc {
	return collected(o, append([]string{"namespace", "name"}, labels...)...)
}

func collected(o prometheus.GaugeOpts, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(o.Name, o.Help, labels, nil)
	sets = append(sets, d)
	return d
}

// setGroups adds up to the groups that are wanted, and those beyond them that are
// still there: surge groups and groups being scaled down.
// Labels: namespace, name of the set; phase: Pending, LeaderReady, WorkersStarting,
// Ready, Recycling or Failed. All six are always there.
//
// PromQL: groups of all sets by phase:
//
//	sum by (phase) (lws_groups)
var setGroups = perSet(prometheus.GaugeOpts{
	Name: "lws_groups",
	Help: "Groups of the set that are in this phase.",
}, "phase")

// setOldest says how long the slowest group has been on its way. A leader that takes
// over counts anew. Groups of which no pod was ever asked for have no time.
// Labels: namespace, name of the set; phase as of lws_groups. A phase in which no group is has
// no series.
//
// PromQL: seconds that the slowest group of each set has been in each phase:
//
//	time() - min by (namespace, name, phase) (lws_groups_oldest_timestamp_seconds)
var setOldest = perSet(prometheus.GaugeOpts{
	Name: "lws_groups_oldest_timestamp_seconds",
	Help: "Seconds since 1970 at which the group has come to this phase that has been in it longest, as the leading replica has seen it.",
}, "phase")

// Labels: namespace, name of the set.
//
// PromQL: sets that are to have groups:
//
//	count(lws_set_replicas_desired > 0)
var setDesired = perSet(prometheus.GaugeOpts{
	Name: "lws_set_replicas_desired",
	Help: "Groups that the set is to have, its spec.replicas.",
})

// Labels: namespace, name of the set.
//
// PromQL: groups that exist beyond those wanted, as surge does:
//
//	sum by (namespace, name) (lws_set_replicas - lws_set_replicas_desired)
var setExist = perSet(prometheus.GaugeOpts{
	Name: "lws_set_replicas",
	Help: "Groups of the set that exist, as in its status.replicas.",
})

// Labels: namespace, name of the set.
//
// PromQL: share of the groups that is Ready, for sets that are to have some:
//
//	sum by (namespace, name) (lws_set_replicas_ready) / (sum by (namespace, name) (lws_set_replicas_desired) > 0)
var setReady = perSet(prometheus.GaugeOpts{
	Name: "lws_set_replicas_ready",
	Help: "Groups of the set whose pods are all Ready, as in its status.readyReplicas.",
})

// Labels: namespace, name of the set.
//
// PromQL: groups that have the update revision, Ready or not:
//
//	sum by (namespace, name) (lws_set_replicas_updated)
var setUpdated = perSet(prometheus.GaugeOpts{
	Name: "lws_set_replicas_updated",
	Help: "Groups of the set whose pods all exist and have the update revision, as in its status.updatedReplicas.",
})

// setProgress counts the groups that a partition does not hold back.
// Labels: namespace, name of the set.
//
// PromQL: the sets that are furthest from done:
//
//	bottomk(10, lws_set_rollout_progress_ratio)
var setProgress = perSet(prometheus.GaugeOpts{
	Name: "lws_set_rollout_progress_ratio",
	Help: "Share, from 0 to 1, of the groups that are to have the update revision that have it and are Ready; 1 where there are none.",
})

// setRolloutStart is absent for a set that has not been updated, or not since this
// replica leads. In the middle of a rollout the next leader reads it from the status
// (where a pause has been in between: when the rollout went on).
// Labels: namespace, name of the set.
//
// PromQL: sets that have set out to another revision within the last hour:
//
//	count(time() - lws_set_rollout_start_timestamp_seconds < 3600) or vector(0)
var setRolloutStart = perSet(prometheus.GaugeOpts{
	Name: "lws_set_rollout_start_timestamp_seconds",
	Help: "Seconds since 1970 at which the rollout under way, or else the last one, began: condition UpdateInProgress became True.",
})

// setRolloutEnd is absent while a rollout is under way. The next leader reads from the
// status when the last group was taken to the new revision, which is a little earlier.
// Labels: namespace, name of the set.
//
// PromQL: seconds since the last rollout of each set has ended:
//
//	time() - max by (namespace, name) (lws_set_rollout_end_timestamp_seconds)
var setRolloutEnd = perSet(prometheus.GaugeOpts{
	Name: "lws_set_rollout_end_timestamp_seconds",
	Help: "Seconds since 1970 at which the last rollout ended: all groups are at the revision that they are to have, and Ready.",
})

// setRolloutDuration is there where the start is.
// Labels: namespace, name of the set.
//
// PromQL: the longest:
//
//	topk(10, max by (namespace, name) (lws_set_rollout_duration_seconds))
var setRolloutDuration = perSet(prometheus.GaugeOpts{
	Name: "lws_set_rollout_duration_seconds",
	Help: "Seconds that the rollout under way has taken so far, or else the last one took, pauses included.",
})

// Labels: namespace, name of the set; current_revision, update_revision: keys as in
// its status. A new revision is a new series.
//
// PromQL: which sets run which revision:
//
//	max by (namespace, name, current_revision, update_revision) (lws_set_revision_info)
var setRevision = perSet(prometheus.GaugeOpts{
	Name: "lws_set_revision_info",
	Help: "Always 1; the labels say which revision all groups had when a rollout last ended, and which that of the present spec is.",
}, "current_revision", "update_revision")

// Labels: namespace, name of the set.
//
// PromQL: how many sets are paused:
//
//	sum(lws_set_paused)
var setPaused = perSet(prometheus.GaugeOpts{
	Name: "lws_set_paused",
	Help: "1 while condition RolloutPaused of the set is True, else 0.",
})

// Labels: namespace, name of the set.
//
// PromQL: how many sets are stalled:
//
//	sum(lws_set_stalled)
var setStalled = perSet(prometheus.GaugeOpts{
	Name: "lws_set_stalled",
	Help: "1 while condition Stalled of the set is True: nothing has moved for its progress deadline; else 0.",
})

// Labels: namespace, name of the set.
//
// PromQL: how many sets are degraded:
//
//	sum(lws_set_degraded)
var setDegraded = perSet(prometheus.GaugeOpts{
	Name: "lws_set_degraded",
	Help: "1 while condition Degraded of the set is True: something needs a person; else 0.",
})

// setDegradedInfo has a series only for sets that are degraded.
// Labels: namespace, name of the set; reason: that of the condition.
//
// PromQL: degraded sets by reason:
//
//	sum by (reason) (lws_set_degraded_info) or vector(0)
var setDegradedInfo = perSet(prometheus.GaugeOpts{
	Name: "lws_set_degraded_info",
	Help: "Always 1; the labels say why a set is degraded, as its condition Degraded does.",
}, "reason")

// setRestarts is read from status.groupRestarts, so a restart of the controller
// changes nothing. It falls when the group has been Ready for 10 minutes.
// Labels: namespace, name of the set.
//
// PromQL: sets with a group that fails again and again:
//
//	count(lws_set_group_restarts_max >= 3) or vector(0)
var setRestarts = perSet(prometheus.GaugeOpts{
	Name: "lws_set_group_restarts_max",
	Help: "Recreations because of failures of the group of the set that has the most, those left out after which it has been Ready for long, as in status.groupRestarts.",
})

// setUnsynced is a matter of milliseconds while all is well.
// Labels: namespace, name of the set.
//
// PromQL: the set that has been waiting longest:
//
//	max(lws_set_unsynced_seconds)
var setUnsynced = perSet(prometheus.GaugeOpts{
	Name: "lws_set_unsynced_seconds",
	Help: "Seconds since the first news about the set that no sync has followed that came to its end without an error; 0 if there are none.",
})

// groupSince is there with --metrics-per-group only: it has a series for each group.
// Labels: namespace, name of the set; group: its index; phase as of lws_groups.
//
// PromQL: seconds that each group has been in its phase:
//
//	time() - max by (namespace, name, group, phase) (lws_group_phase_timestamp_seconds)
var groupSince = perSet(prometheus.GaugeOpts{
	Name: "lws_group_phase_timestamp_seconds",
	Help: "Seconds since 1970 at which the group has come to the phase it is in, as the leading replica has seen it. With --metrics-per-group only.",
}, "group", "phase")

// leading is 1 also where no lease is asked for.
//
// PromQL: replicas that lead, which should be 1:
//
//	sum(lws_controller_leading)
var leading = collected(prometheus.GaugeOpts{
	Name: "lws_controller_leading",
	Help: "1 while this replica syncs sets, 0 while it stands by or stops.",
})

// fenced is 0 on replicas that stand by.
//
// PromQL: whether nothing is written:
//
//	max(lws_controller_fenced)
var fenced = collected(prometheus.GaugeOpts{
	Name: "lws_controller_fenced",
	Help: "1 while this replica leads and writes nothing, since another controller of LeaderWorkerSets is at work; else 0.",
})

// collector asks for the state at each scrape.
type collector struct{ state func() State }

// NewCollector returns the collector of the gauges of a controller.
func NewCollector(state func() State) prometheus.Collector { return collector{state} }

func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range sets {
		out <- d
	}
}

// output sends series to a registry.
type output chan<- prometheus.Metric

func (o output) gauge(d *prometheus.Desc, value float64, labels ...string) {
	o <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (o output) time(d *prometheus.Desc, at time.Time, labels ...string) {
	if !at.IsZero() {
		o.gauge(d, float64(at.UnixMicro())/1e6, labels...)
	}
}

func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s, out := c.state(), output(ch)
	out.gauge(leading, bit(s.Leading))
	out.gauge(fenced, bit(s.Fenced))
	told := make(map[types.NamespacedName]bool, len(s.Sets))
	for _, set := range s.Sets {
		told[set.NamespacedName] = true
		set.collect(out, s.Now)
		out.gauge(setUnsynced, s.Unsynced[set.NamespacedName].Seconds(), set.Namespace, set.Name)
	}
	for key, d := range s.Unsynced {
		if !told[key] {
			out.gauge(setUnsynced, d.Seconds(), key.Namespace, key.Name)
		}
	}
}

func (s *Set) collect(out output, now time.Time) {
	for _, phase := range phases {
		out.gauge(setGroups, float64(s.Phases[phase]), s.Namespace, s.Name, string(phase))
		out.time(setOldest, s.Oldest[phase], s.Namespace, s.Name, string(phase))
	}
	out.gauge(setDesired, float64(s.Desired), s.Namespace, s.Name)
	out.gauge(setExist, float64(s.Exist), s.Namespace, s.Name)
	out.gauge(setReady, float64(s.Ready), s.Namespace, s.Name)
	out.gauge(setUpdated, float64(s.Updated), s.Namespace, s.Name)
	out.gauge(setProgress, s.Progress, s.Namespace, s.Name)
	out.time(setRolloutStart, s.RolloutStart, s.Namespace, s.Name)
	out.time(setRolloutEnd, s.RolloutEnd, s.Namespace, s.Name)
	if !s.RolloutStart.IsZero() {
		end := s.RolloutEnd
		if end.IsZero() {
			end = now
		}
		out.gauge(setRolloutDuration, end.Sub(s.RolloutStart).Seconds(), s.Namespace, s.Name)
	}
	out.gauge(setRevision, 1, s.Namespace, s.Name, s.Current, s.Update)
	out.gauge(setPaused, bit(s.Paused), s.Namespace, s.Name)
	out.gauge(setStalled, bit(s.Stalled), s.Namespace, s.Name)
	out.gauge(setDegraded, bit(s.Degraded != ""), s.Namespace, s.Name)
	if s.Degraded != "" {
		out.gauge(setDegradedInfo, 1, s.Namespace, s.Name, s.Degraded)
	}
	out.gauge(setRestarts, float64(s.Restarts), s.Namespace, s.Name)
	for _, g := range s.Groups {
		out.time(groupSince, g.Since, s.Namespace, s.Name, g.Index, string(g.Phase))
	}
}

package metrics

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// syncTime is the time of one sync without that in the queue.
// Labels: result: success, or error for one that is tried again.
//
// PromQL: share of syncs that fail:
//
//	sum(rate(lws_sync_duration_seconds_count{result="error"}[5m])) / sum(rate(lws_sync_duration_seconds_count[5m]))
var syncTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_sync_duration_seconds",
	Help:    "Seconds that one sync of a set took, requests included.",
	Buckets: []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
}, []string{"result"})

// eventToWrite leaves out news that lead to no write.
//
// PromQL: 99th percentile:
//
//	histogram_quantile(0.99, sum by (le) (rate(lws_event_to_write_duration_seconds_bucket[5m])))
var eventToWrite = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "lws_event_to_write_duration_seconds",
	Help:    "Seconds from news about a set, such as a pod that has changed, to the first write of the sync that takes them in being accepted.",
	Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
}, nil)

// writes counts requests, retries by the client left out. Events and leases are not in it.
// Labels: kind: LeaderWorkerSet, Pod, Service, PersistentVolumeClaim,
// PodDisruptionBudget, PodGroup, Workload or ControllerRevision; verb: create, update, patch, patch_status,
// delete or force_delete; result: accepted, exists (the name is taken), conflict (the
// object has changed), gone, throttled (429), refused (any other answer 4xx, or 500), or
// error (no answer, or another 5xx).
//
// PromQL: writes a second by kind and result:
//
//	sum by (kind, result) (rate(lws_writes_total[5m]))
var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_writes_total",
	Help: "Requests to the API server that write, by what came of them.",
}, []string{"kind", "verb", "result"})

// staleDelays are no failures: the sync looks again a moment later.
// Labels: cache: revisions, podgroups or workloads (it has not seen our own write yet),
// sets or pods (a write was based on an object that has changed since).
//
// PromQL: delays a second by cache:
//
//	sum by (cache) (rate(lws_stale_cache_delays_total[5m]))
var staleDelays = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "lws_stale_cache_delays_total",
	Help: "Syncs that were put off because a cache was behind.",
}, []string{"cache"})

// Caches that can be behind.
const (
	CacheRevisions = "revisions"
	CachePodGroups = "podgroups"
	CacheWorkloads = "workloads"
	CacheSets      = "sets"
	CachePods      = "pods"
)

// Synced takes down a sync.
func (r *Recorder) Synced(took time.Duration, err error) {
	if r == nil {
		return
	}
	result := "success"
	if err != nil {
		result = "error"
	}
	syncTime.WithLabelValues(result).Observe(took.Seconds())
}

// Answered takes down how long it took from news to the first write.
func (r *Recorder) Answered(after time.Duration) {
	if r != nil {
		eventToWrite.WithLabelValues().Observe(after.Seconds())
	}
}

// Stale counts a sync that was put off.
func (r *Recorder) Stale(cache string) {
	if r != nil {
		staleDelays.WithLabelValues(cache).Inc()
	}
}

// Wrote counts a request that writes.
func (r *Recorder) Wrote(kind, verb string, err error) {
	if r != nil {
		writes.WithLabelValues(kind, verb, resultOf(err)).Inc()
	}
}

func resultOf(err error) string {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return "accepted"
	case apierrors.IsAlreadyExists(err):
		return "exists"
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsNotFound(err):
		return "gone"
	case apierrors.IsTooManyRequests(err):
		return "throttled"
	case errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code <= http.StatusInternalServerError:
		return "refused"
	default:
		return "error"
	}
}

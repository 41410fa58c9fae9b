package metrics

import (
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/tools/leaderelection"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"lws-controller/controller/group"
)

// buildInfo has one series, whose labels are the version given to New and the Go
// version of the binary (go1.26.1).
//
// PromQL: how many replicas run which version, seen during an upgrade:
//
//	count by (version) (lws_controller_build_info)
var buildInfo = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "lws_controller_build_info",
	Help: "Always 1; the labels say which version of the controller this is and which Go version built it.",
}, []string{"version", "goversion"})

// clientGo are the metrics that client-go drives. Its hooks belong to the process
// and each takes only the first provider it is given, so there is one set of
// vectors for the process, whatever the number of registries.
var clientGo = []prometheus.Collector{
	clientLatency, clientThrottle, clientRequests, clientRetries,
	queueDepth, queueAdds, queueRetries, queueWait, queueWork, queueUnfinished, queueLongest,
	leaderStatus, leaderSlowPath,
}

// own are the metrics that a Recorder drives.
var own = []prometheus.Collector{
	transitions, undeclared, phaseTime, startTime, recreationTime, rolloutTime, recreations, failures,
	syncTime, eventToWrite, writes, staleDelays,
}

// begin has the series of the counters be there, at 0, that can be told in advance: what
// is counted first would be no increase otherwise.
func begin() {
	undeclared.WithLabelValues()
	for _, h := range []*prometheus.HistogramVec{startTime, rolloutTime, eventToWrite} {
		h.WithLabelValues()
	}
	for _, edge := range group.Edges() {
		transitions.WithLabelValues(string(edge[0]), string(edge[1]))
	}
	for _, cause := range causes {
		recreationTime.WithLabelValues(cause)
	}
	for _, cache := range []string{CacheRevisions, CachePodGroups, CacheWorkloads, CacheSets, CachePods} {
		staleDelays.WithLabelValues(cache)
	}
	for _, result := range []string{"success", "error"} {
		syncTime.WithLabelValues(result)
	}
	for _, phase := range phases {
		phaseTime.WithLabelValues(string(phase))
	}
}

var hook = sync.OnceFunc(func() {
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestLatency:     latency{clientLatency},
		RateLimiterLatency: latency{clientThrottle},
		RequestResult:      results{},
		RequestRetry:       retries{},
	})
	workqueue.SetProvider(queues{})
	leaderelection.SetProvider(leaders{})
})

// New returns a registry with the metrics of the process: build, operating system
// process, Go runtime, what client-go can tell, and what a Recorder is told. The gauges
// of sets come with NewCollector.
//
// The first call also connects client-go. It must come before the first client,
// queue or leader elector is made: queues and electors made earlier stay silent
// for ever, and client-go reads its hooks for requests without a lock. Later
// calls return registries that show the same client-go counts.
func New(version string) *prometheus.Registry {
	hook()
	buildInfo.Reset()
	buildInfo.WithLabelValues(version, runtime.Version()).Set(1)
	reg := prometheus.NewRegistry()
	reg.MustRegister(buildInfo,
		// process_*: CPU, memory, file descriptors, start time of the process.
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		// go_*: goroutines, heap, garbage collection.
		collectors.NewGoCollector())
	reg.MustRegister(clientGo...)
	begin()
	reg.MustRegister(own...)
	return reg
}

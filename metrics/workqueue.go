package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// The label name is the name that the code gives to a queue when it makes it: a
// constant, one per queue. Queues without a name are not measured.

// queueBuckets go from "at once" to far beyond the two seconds that one sync of a
// set may take.
var queueBuckets = []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// queueDepth leaves out keys that wait for a later time, and keys being worked on
// unless they were added again meanwhile.
// Labels: name.
//
// PromQL: above 0 for a queue that never runs empty:
//
//	min_over_time(workqueue_depth[10m])
var queueDepth = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "workqueue_depth",
	Help: "Keys in the queue that no worker has taken yet, as client-go's work queue counts them.",
}, []string{"name"})

// queueAdds does not count a key that is in the queue already.
// Labels: name.
//
// PromQL: keys a second:
//
//	sum by (name) (rate(workqueue_adds_total[5m]))
var queueAdds = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "workqueue_adds_total",
	Help: "Keys added to the queue, as client-go's work queue counts them.",
}, []string{"name"})

// queueRetries counts every key that was added for a later time: a failed sync
// that is tried again, and also a wake-up that was planned.
// Labels: name.
//
// PromQL: share of the work that was put off once:
//
//	sum by (name) (rate(workqueue_retries_total[5m])) / sum by (name) (rate(workqueue_adds_total[5m]))
var queueRetries = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "workqueue_retries_total",
	Help: "Keys added to the queue for a later time, failures and planned wake-ups alike, as client-go's work queue counts them.",
}, []string{"name"})

// queueWait says whether there are enough workers.
// Labels: name.
//
// PromQL: 99th percentile:
//
//	histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket[5m])))
var queueWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "workqueue_queue_duration_seconds",
	Help:    "Seconds that a key waited in the queue before a worker took it, as client-go's work queue measures it.",
	Buckets: queueBuckets,
}, []string{"name"})

// queueWork is the time of one sync.
// Labels: name.
//
// PromQL: how many workers are busy on average:
//
//	sum by (name) (rate(workqueue_work_duration_seconds_sum[5m]))
var queueWork = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "workqueue_work_duration_seconds",
	Help:    "Seconds that a worker was busy with a key, as client-go's work queue measures it.",
	Buckets: queueBuckets,
}, []string{"name"})

// queueUnfinished is what queueWork does not show yet; brought up to date twice a
// second.
// Labels: name.
//
// PromQL: number of workers that are stuck, since each adds a second a second:
//
//	round(deriv(workqueue_unfinished_work_seconds[5m]))
var queueUnfinished = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "workqueue_unfinished_work_seconds",
	Help: "Seconds that workers have been busy with the keys they have not finished, all workers together, as client-go's work queue measures it.",
}, []string{"name"})

// queueLongest is brought up to date twice a second.
// Labels: name.
//
// PromQL: above 60 where a worker is stuck:
//
//	max by (name) (workqueue_longest_running_processor_seconds)
var queueLongest = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "workqueue_longest_running_processor_seconds",
	Help: "Seconds that the worker that has been busy longest has spent on its key, as client-go's work queue measures it.",
}, []string{"name"})

// queues is what client-go asks for the metrics of a new queue.
type queues struct{}

func (queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	return queueDepth.WithLabelValues(name)
}

func (queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return queueAdds.WithLabelValues(name)
}

func (queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return queueRetries.WithLabelValues(name)
}

func (queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return queueWait.WithLabelValues(name)
}

func (queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return queueWork.WithLabelValues(name)
}

func (queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return queueUnfinished.WithLabelValues(name)
}

func (queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return queueLongest.WithLabelValues(name)
}

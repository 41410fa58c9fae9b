package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/leaderelection"
)

// leaderStatus has a series as soon as a replica takes part in the election. A
// leader that gives up its lease because it shuts down still says 1 until the
// process ends, so two may lead for the length of a scrape or two.
// Labels: name, the name given to the elector: a constant, one per process.
//
// PromQL: replicas that hold the lease, which should be 1:
//
//	sum by (name) (leader_election_master_status)
var leaderStatus = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "leader_election_master_status",
	Help: "1 while this replica holds the lease, 0 while it stands by, as client-go's leader election says.",
}, []string{"name"})

// leaderSlowPath counts renewals for which the leader had to read the lease first,
// since writing from memory had failed.
// Labels: name, as above.
//
// PromQL: a leader whose lease is written by others, or whose writes fail:
//
//	sum(rate(leader_election_slowpath_total[5m])) or vector(0)
var leaderSlowPath = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "leader_election_slowpath_total",
	Help: "Renewals of the lease that needed a read before the write, as client-go's leader election counts them.",
}, []string{"name"})

// leaders is what client-go asks for the metrics of a new elector.
type leaders struct{}

func (leaders) NewLeaderMetric() leaderelection.LeaderMetric { return leaders{} }

func (leaders) On(name string)                { leaderStatus.WithLabelValues(name).Set(1) }
func (leaders) Off(name string)               { leaderStatus.WithLabelValues(name).Set(0) }
func (leaders) SlowpathExercised(name string) { leaderSlowPath.WithLabelValues(name).Inc() }

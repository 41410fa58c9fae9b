// Package monitoring has a real Prometheus scrape two replicas of the controller while
// sets are created, updated and fail, and while the replicas take over from each other.
// Each alert fires for its real reason and ends when that is gone; each query of rules,
// documentation and dashboards returns data; and what is measured is compared with what
// the API says.
//
// prometheus.sh finds Prometheus, or fetches it.
package monitoring

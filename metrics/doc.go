// Package metrics holds every metric of the controller: its name, its labels,
// its help text. Nothing else may go here; what a metric counts is decided where
// it happens.
//
//	registry.go   the registry that /metrics serves; build, process and Go runtime
//	client.go     requests to the API server
//	workqueue.go  work queues
//	leader.go     leader election
//	sets.go       sets and their groups as they are, read from the state at each scrape
//	groups.go     what has happened to groups: counters and distributions
//	sync.go       syncs, writes, and how long they take
//
// Rules, checked by the tests:
//
//   - a metric stands in a package variable whose comment lists the values of
//     each label and shows a PromQL query under the word "PromQL:";
//   - the help text says the unit, if there is one, and where the value comes from;
//   - no label holds a URL, a host or a pod; namespace and name are those of a set, and
//     of metrics that say so. The number of series is bounded by what is written in the
//     comments, and docs/metrics.md states it;
//   - docs/metrics.md lists every metric: go test ./metrics -update writes it.
//
// Metrics that all Kubernetes components have (rest_client_*, workqueue_*,
// leader_election_*) keep the names, types and label names known from there, so
// that dashboards and alerts made for kube-controller-manager work. The one
// difference is the host label of rest_client_*, which is left out: the
// controller talks to one API server. Bucket bounds are our own.
//
// client-go also has a hook for reflectors, which nothing calls any more, and one
// for informers, which reports only on informers that carry a name unique within
// the process. Ours carry none, so both are left alone.
package metrics

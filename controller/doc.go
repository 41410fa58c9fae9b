// Package controller runs the sync of a set: it feeds the pure core with what the
// informers see, carries out the plans it returns, and writes the status.
//
//	controller.go  the queue, the workers, the wiring
//	memory.go      what is kept in memory of each set
//	sync.go        the path of one sync
//	input.go       what the planner gets to know
//	api.go         every request that is made to the API server
//	firstlook.go   a live look before the first act after a restart
//	adopt.go       adoption of pods and services without a controller
//	revisions.go   the revisions that the present sync works with
//	execute.go     carrying out a plan: order, parallelism, what an error stops
//	parallel.go    how many requests are under way at a time
//	claims.go      claims of pods: made before them, and going with them
//	names.go       names that something else holds; release of pods
//	status.go      the status as a function of what is known
//	statuswrite.go when and how it is written
//	events.go      Kubernetes events
//	debug.go       what /debug/groups and the status page show of groups
//	measure.go     what metrics are told: the state for gauges, what happens for counters
//	counted.go     every write, counted
//
// When a group may be taken down is decided in controller/rollout, never here.
package controller

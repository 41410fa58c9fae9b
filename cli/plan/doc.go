// Package plan says what a change of a LeaderWorkerSet would do, before it is made:
// which groups are taken down, in which order, what stands in for them, and how many
// are Ready at the worst moment.
//
// It decides nothing itself. The API server says, by a dry run, what the set would be;
// the controller's own functions say what a plan is then made from; and the planner
// is asked again and again, each of its plans being carried out on pods that exist in
// memory only: what is deleted goes, what is created becomes Ready where it fits, and
// when nothing else is left to happen the clock moves to the time the planner named.
// What is not Ready at the beginning is taken to stay so until it is recreated.
//
//	command.go   the command line
//	read.go      what is read of the cluster; the only requests
//	manifest.go  the change that a manifest and annotations amount to
//	forward.go   the planner's answers, carried out one after the other
//	steps.go     what of that is told
//	pods.go      the pods in memory, and what happens to them
//	capacity.go  which pods fit the nodes
//	resources.go what a pod asks for
//	report.go    what comes out
//	block.go     what could hold the change up
//	diff.go      what differs between two specs, in words
//	print.go     the report as text
package plan

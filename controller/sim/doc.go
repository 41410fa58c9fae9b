// Package sim runs the controller in a world of its own, in one goroutine, on
// virtual time and from a seed: an API server in memory, caches that lag, nodes,
// a garbage collector, a user who changes his mind, and faults. All of the
// controller is the production code; only client-go is replaced, at the narrow
// interfaces that package controller has for that. After each write
// controller/invariant looks at the true state.
//
// Only tests import it, and the command in cmd/simulate, which is not part of
// what is shipped. A failing seed is run again with a recorder, which prints
// what happened and the command that replays it:
//
//	go test ./controller/sim -run TestRandom -seed=N
//	go run ./controller/sim/cmd/simulate -seed=N
//	go run ./controller/sim/cmd/simulate -runs=100000   (the longer mode)
//
//	table.go       objects of one kind and the history of their versions
//	server.go      the API server: what requests do to objects
//	patch.go       merge patches
//	client.go      what the controller asks of the API server, and its faults
//	informer.go    caches with their own lag: watches, lists, bookmarks
//	process.go     one controller process: queue, caches, crash and restart
//	nodes.go       what happens to pods on nodes, and what goes wrong with them
//	kubelet.go     the end of a pod
//	machines.go    nodes with room, their loss, and the scheduler
//	collector.go   the garbage collector
//	namespace.go   the namespace controller
//	finalizers.go  other parties that hold objects
//	autoscaler.go  an autoscaler
//	names.go       two sets whose names meet
//	actors.go      which of these a run has
//	user.go        the user and a monkey
//	steer.go       annotations that steer a rollout
//	world.go       all of them together, the clock and the checker
//	script.go      worlds without chance, in which things happen as they are told to
//	run.go         a random run
//	many.go        many of them
//	exhaustive.go  a fault at every write of a scenario
//	lag.go         caches that stop for a while
//	reach.go       what the runs have come to: moves, faults at writes
//	lease.go       the loss of a lease
//	lasting.go     faults that never heal
//	amnesia.go     what a controller with empty memory would plan
package sim

// Package rollout is the pure planner: from what a set should be, what is known
// of its groups and one clock reading, to a Plan of what to do now.
//
// It is the only place that decides when a group is created and when it may be
// taken down. Every limit comes in as a parameter; nothing is remembered from
// one plan to the next, so a crash after any part of a plan has been carried out
// leads to the same end.
//
//	plan.go      Input, Plan and the order of the decisions
//	steering.go  what the annotations of a set ask for
//	entries.go   teardowns under way: which are over, which are withdrawn
//	recycle.go   which groups are taken down because they failed or are not wanted
//	replace.go   which groups are made anew elsewhere, as their pods find no node
//	update.go    the rolling update: order, floor, surge
//	request.go   recreation of groups that somebody asks for
//	deadline.go  when a rollout is stalled
//	disruption.go  what evictions may take: the PodDisruptionBudget of the set
//	spent.go     which groups are left as they are after too many failures
//	stuck.go     pods that should have ended, and which of them are deleted by force
//	waiting.go   what a group waits for, in words
//	budget.go    maxUnavailable and maxSurge in groups
//	create.go    which pods are created, at which revision and incarnation
//	gangs.go     which PodGroups and Workloads exist, and how pods come by theirs
//	services.go  which headless Services exist
//	count.go     a recount of the groups, for the status
//	mark.go      the GroupReady condition of leaders
package rollout

// Package invariant says what must hold of the true state of the API server, one
// function per invariant, named after its number (see docs/invariants). It is fed
// with the committed writes, one after the other, of whoever made them, and keeps
// what it needs of the past. The simulator feeds it, and so can anything that has
// a complete record of writes, such as an audit log.
//
// Only tests import it. It is written against the contract, not against the
// controller: apart from types, names and the meaning of a stored revision, it
// computes everything anew from the objects.
//
//	change.go     one committed write, and what its author could know
//	truth.go      the objects as they are now
//	facts.go      what the past tells of each group
//	checker.go    the list of invariants
//	identity.go   S1-S4
//	order.go      S5, S6
//	budget.go     S7-S10
//	established.go  the part of S7 about establishedReplicas
//	steering.go   what annotations ask for: S7, S11
//	recycle.go    S11, S12
//	restarts.go   the parts of S11 and S12 about policies and restart budgets
//	revisions.go  S13, S14
//	effort.go     S15, S16, S17
//	lease.go      S19
//	share.go      L2
//	disruption.go  S23
//	gangs.go      S24, and the part of L1 about PodGroups
//	rest.go       L1, L5, L6: what must hold when everything has come to rest
package invariant

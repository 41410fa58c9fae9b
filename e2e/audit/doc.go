// Package audit judges what happened in a control plane: it feeds the invariant
// checker of the controller's module with every write that a real API server
// committed.
//
// Two records are joined. What etcd stored tells every state of every object in
// the order of resourceVersions, and misses nothing. The audit log tells who asked
// for a write, when, and under which preconditions. A state that no request in the
// log explains, or a creation in the log that etcd does not know, is an error:
// nothing is passed over because it is not known.
//
//	state.go    what etcd stored, as objects
//	request.go  what the audit log says of a write
//	authors.go  which request made which state
//	record.go   both, read from a cluster or from files
//	seen.go     what the controller could know when it made a write
//	judge.go    the checker run over it, and what is told when something is broken
package audit

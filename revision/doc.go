// Package revision keeps the history of a set: what a revision records and how
// it is written (data.go), its key (key.go), when two of them mean the same
// (equal.go, defaults.go) and how the stored ones are searched and added to
// (history.go).
//
// All of that is pure. store.go alone does I/O: it reads and writes the
// ControllerRevisions.
package revision

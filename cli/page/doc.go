// Package page is the status page: what the controller knows of the sets and their
// groups, as HTML for people. It decides nothing, writes nothing, and words nothing that
// /debug/groups words already: what a group waits for comes from there.
//
// Numbers, conditions and revisions are those of the stored status, so any replica can
// show them; phases and journals of single groups are in the memory of the leader.
//
// A page is bounded in size, however many sets and groups there are, and needs nothing
// but itself: style and script stand in it, and a policy in its header allows no others.
//
//	handler.go   the addresses, and what is read for each; the only I/O
//	fleet.go     all sets, those in trouble first
//	set.go       one set with its groups
//	group.go     one group with its journal
//	summary.go   what the pages say of a set
//	phases.go    phases as cells
//	frame.go     what all pages share; the templates
package page

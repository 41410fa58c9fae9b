// Package revisions tests what becomes of a set while its revisions change: groups of
// an old revision that have to be built again, updates that meet with something else on
// their way, and what kubectl, kstatus and Argo CD make of the status meanwhile. That
// budgets hold at every instant is judged at the end of the run, from the record.
package revisions

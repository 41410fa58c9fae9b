// Package api tests the API of LeaderWorkerSets on a real API server: what the
// CRD and the admission policy accept, refuse and fill in, for people with
// kubectl and for other software with its own clients. No controller runs here.
//
// All tests share one cluster. Before the CRD and the policy of this project are
// installed in it, setup stores objects that break their rules, by way of the
// same CRD without rules; stored_test.go shows what can still be done to them.
package api

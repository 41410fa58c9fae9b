// Package robust tests the controller against what goes wrong around it: its own
// death, that of the API server and of etcd, a second replica, requests that are
// refused, missing rights; and what it costs when nothing happens. It also tests
// the command: flags, signals, pages.
//
// Almost everything is counted in the API server's audit log: that a pod was
// created once can be seen nowhere else, since the name is the same each time.
//
// Tests with controllers of their own share the cluster of TestMain, each bound
// to a namespace. Those that need the cluster for themselves start another one.
// What becomes of a healthy set is tested in package lifecycle.
package robust

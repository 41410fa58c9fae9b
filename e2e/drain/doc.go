// Package drain tests that evictions take whole groups, and no more of them at a time
// than annotation disruption-budget says: kubectl drain against the real eviction API
// and the disruption controller of kube-controller-manager. What happened is read
// from the history of etcd: every state of every pod, in order.
package drain

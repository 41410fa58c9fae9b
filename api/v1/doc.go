// Package v1 holds the Go types of the LeaderWorkerSet resource
// (leaderworkerset.x-k8s.io/v1) and the names that users and other software
// meet on it: labels, annotations, conditions and their reasons.
//
// The CRD in deploy/crd is generated from the markers in this package
// (`make generate`). Nothing but types, constants and trivial accessors
// belongs here.
//
// +kubebuilder:object:generate=true
// +groupName=leaderworkerset.x-k8s.io
package v1

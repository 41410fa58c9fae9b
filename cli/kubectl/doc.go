// Package kubectl is the plugin `kubectl lws`: it shows the groups of a set and
// steers its rollout. It has no more than the API server to ask, and what it shows
// is computed by the core that the controller decides with, from the pods, revisions
// and status that anybody can read.
//
// It writes nothing but the annotations by which everybody can steer a rollout, in
// one request, and says which: who keeps their manifests elsewhere does the same by
// hand. A file a command; what they share is in command.go (the tree), connect.go
// (the cluster), status.go to changes.go (what is shown) and steer.go (what is
// written).
package kubectl

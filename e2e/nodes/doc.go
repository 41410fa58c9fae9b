// Package nodes has the end-to-end tests about nodes that die, and pods that do not go:
// deleted nodes, silent ones, ones that are out of service, and finalizers.
package nodes

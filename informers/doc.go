// Package informers watches the API server: it says what is watched (informers.go),
// what is kept of it (trim.go), turns notifications into events of groups
// (handlers.go), answers reads from the caches (cache.go), knows whether a
// cache has caught up with our own writes (gate.go), and sees whether another
// controller is at work (fence.go).
//
// It decides nothing. What is seen goes to a Sink; what it means is for the
// core.
package informers

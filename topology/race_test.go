//go:build race

package topology_test

// raced: the race detector makes everything ten times as slow, and there is no goroutine
// here. It is given a sample.
const raced = true

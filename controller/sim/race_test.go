//go:build race

package sim

// raced: the race detector makes everything ten times as slow, and a world has one
// goroutine. It is given a sample.
const raced = true

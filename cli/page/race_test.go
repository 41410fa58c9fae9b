//go:build race

package page

// raced: the race detector makes the tests several times slower.
const raced = true

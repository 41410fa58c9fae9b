//go:build race

package metrics

// raced: the race detector makes a scrape some times as slow.
const raced = true

//go:build !race

package topology_test

const raced = false

package informers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

// Gate tells whether a cache has caught up with our own writes. It is needed only
// for what is listed without knowing the names, where an object that is missing
// from the cache would be made again: answers to all other writes are folded at
// once. Deletions are not covered.
type Gate struct {
	passed func(Kind, string) bool

	mu    sync.Mutex
	wrote map[types.NamespacedName]map[Kind]string
}

// NewGate returns a gate that asks passed how far a cache is.
func NewGate(passed func(kind Kind, version string) bool) *Gate {
	return &Gate{passed: passed, wrote: map[types.NamespacedName]map[Kind]string{}}
}

// Wrote remembers the version of an object that we wrote for a set.
func (g *Gate) Wrote(set types.NamespacedName, kind Kind, version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kinds := g.wrote[set]
	if kinds == nil {
		kinds = map[Kind]string{}
		g.wrote[set] = kinds
	}
	if !group.Reached(kinds[kind], version) {
		kinds[kind] = version
	}
}

// Behind says that the cache of this kind has not yet seen what we wrote for the
// set. That is no failure: wait a moment and look again.
func (g *Gate) Behind(set types.NamespacedName, kind Kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	version, waiting := g.wrote[set][kind]
	if !waiting {
		return false
	}
	if !g.passed(kind, version) {
		return true
	}
	delete(g.wrote[set], kind)
	if len(g.wrote[set]) == 0 {
		delete(g.wrote, set)
	}
	return false
}

// Forget drops what is remembered of a set.
func (g *Gate) Forget(set types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrote, set)
}

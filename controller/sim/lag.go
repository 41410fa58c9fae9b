package sim

import (
	"fmt"
	"slices"
	"time"

	"lws-controller/informers"
)

// Lag is caches that stop taking things in for a while.
type Lag struct {
	// Kinds are the kinds whose caches stop; empty: all.
	Kinds []informers.Kind
	// Syncs is after how many further syncs it ends, For after what time; whichever
	// comes first, of those that are not 0. It ends in any case when nothing else
	// would happen any more.
	Syncs int
	For   time.Duration
	// Relist: the watch has ended, and the cache takes in a list. Otherwise what
	// was missed comes one by one.
	Relist bool
}

func (l Lag) String() string {
	what, how := "all caches", "one by one"
	if len(l.Kinds) > 0 {
		what = fmt.Sprintf("caches of %v", l.Kinds)
	}
	if l.Relist {
		how = "as a list"
	}
	return fmt.Sprintf("%s stop for %d syncs or %s, and catch up %s", what, l.Syncs, l.For, how)
}

// lag is a Lag under way. A nil lag holds nothing.
type lag struct {
	Lag
	world *World
	// syncs and until are when it ends.
	syncs int
	until time.Time
	over  bool
}

// stop has caches stop from now on.
func (w *World) stop(l Lag) {
	w.note("%s", l)
	w.lag = &lag{Lag: l, world: w, syncs: w.syncs + l.Syncs, until: w.clock.Now().Add(l.For)}
}

// holds says that a cache takes nothing in.
func (l *lag) holds(f follower) bool {
	return l.underWay() && l.covers(f)
}

func (l *lag) underWay() bool { return l != nil && !l.over }

func (l *lag) covers(f follower) bool {
	return len(l.Kinds) == 0 || slices.Contains(l.Kinds, f.kind())
}

// endsInTime ends the lag if it has lasted for long enough.
func (l *lag) endsInTime() {
	if !l.underWay() {
		return
	}
	if l.Syncs > 0 && l.world.syncs >= l.syncs || l.For > 0 && !l.world.clock.Now().Before(l.until) {
		l.ends()
	}
}

// ends ends the lag. It is false if that was so already.
func (l *lag) ends() bool {
	if !l.underWay() {
		return false
	}
	l.over = true
	l.world.note("caches catch up")
	if l.Relist {
		for _, p := range l.world.processes {
			for _, f := range p.feeds() {
				if l.covers(f) {
					f.relist(f.lag())
				}
			}
		}
	}
	return true
}

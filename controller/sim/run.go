package sim

import (
	"fmt"
	"slices"
	"time"
)

// options are what a run draws at its start: which actors and faults there are,
// and how often they act. A run in which some are missing goes further into what
// the others do.
type options struct {
	weights map[string]int
	// changes, monkeys and faults are the ones that there are.
	changes, monkeys []int
	faults           []Fault
	// faulty is how many of 1000 requests go wrong, busy how many of 100 have
	// something else happen meanwhile.
	faulty, busy int
	// relists: watches end, and caches take in lists. bookmarks: they get some.
	// past: they begin in the past.
	// two: leases are lost, and for a while two controllers are at work.
	relists, bookmarks, past, two bool
	steps                         int
	// lasting: in the end some faults come that stay; see sicken.
	lasting bool
	quota   int
	actorOptions
}

// drawOptions draws the options of a run.
func (w *World) drawOptions() options {
	o := options{weights: map[string]int{"deliver": 10, "sync": 10, "nodes": 10, "collector": 3, "clock": 2, "user": 1, "replace": 2},
		steps: 100 + w.rng.IntN(200)}
	maybe := func(n int) bool { return w.rng.IntN(n) == 0 }
	for _, name := range []string{"deliver", "sync", "nodes", "collector", "clock"} {
		o.weights[name] = 1 + w.rng.IntN(o.weights[name]*2)
	}
	if maybe(2) {
		o.weights["trouble"] = 1
	}
	if maybe(2) {
		o.weights["monkey"] = 1
	}
	if maybe(2) {
		o.weights["crash"] = 1
	}
	o.relists, o.bookmarks, o.past, o.two = maybe(2), maybe(2), maybe(2), maybe(6)
	if o.two {
		o.weights["lease"] = 2
	}
	if maybe(2) {
		o.busy = 5 + w.rng.IntN(30)
	}
	if maybe(2) {
		o.faulty = 5 + w.rng.IntN(100)
		for _, f := range append(append([]Fault{}, crashes...), failures...) {
			if maybe(2) {
				o.faults = append(o.faults, f)
			}
		}
		if len(o.faults) == 0 {
			o.faulty = 0
		}
	}
	if maybe(8) {
		o.quota = 3 + w.rng.IntN(6)
	}
	o.lasting = maybe(6)
	w.drawActors(&o)
	o.changes, o.monkeys = w.some(len(changes)), w.some(len(monkeys))
	return o
}

// some draws at least one of the numbers below n.
func (w *World) some(n int) []int {
	out := []int{w.rng.IntN(n)}
	for i := range n {
		if w.rng.IntN(2) == 0 {
			out = append(out, i)
		}
	}
	return out
}

// actors in the order in which chance picks them.
var actors = []string{"deliver", "sync", "nodes", "collector", "clock", "user", "replace", "trouble", "monkey", "crash", "lease",
	"machines", "namespace", "autoscaler", "finalizers", "evictions", "budgets"}

// Result is how a run went.
type Result struct {
	World *World
	// Steps is how many things happened while faults could.
	Steps int
}

// Run makes a random run.
func Run(seed uint64, told bool) *Result {
	w := newWorld(seed, told)
	defer w.end()
	w.options = w.drawOptions()
	w.note("options: %+v", w.options)
	w.server.quota, w.compares = w.options.quota, true
	w.fault, w.meanwhile = w.randomFault, w.randomMeanwhile
	w.begin()
	w.startProcess(w.behind)
	r := &Result{World: w}
	for r.Steps < w.options.steps && len(w.broken) == 0 {
		w.act(actors)
		r.Steps++
	}
	w.note("no faults from here on")
	if w.options.two {
		w.leaveOne()
	}
	w.server.quota = 0
	w.mend()
	w.cleanUp()
	w.lastWishes()
	if len(w.broken) == 0 && w.settle() {
		// Pods that were orphaned and fit no group are for a person to remove.
		if w.removeOrphans() {
			w.settle()
		}
		w.atRest()
		if w.options.lasting {
			w.sicken()
		}
		w.part()
	}
	return r
}

// act has one actor do something.
func (w *World) act(among []string) {
	total := 0
	for _, name := range among {
		total += w.options.weights[name]
	}
	k := w.rng.IntN(total)
	for _, name := range among {
		if k -= w.options.weights[name]; k < 0 {
			w.actor(name)
			return
		}
	}
}

func (w *World) actor(name string) {
	switch name {
	case "deliver":
		w.deliverActs()
	case "sync":
		if p := w.processes[w.rng.IntN(len(w.processes))]; !p.busy && !p.dead {
			if due := p.due(); len(due) > 0 {
				p.sync(due[w.rng.IntN(len(due))])
			}
		}
	case "nodes":
		w.nodesAct()
	case "collector":
		w.collectorActs()
	case "clock":
		steps := []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 6 * time.Second, time.Minute, 6 * time.Minute}
		w.clock.Step(steps[w.rng.IntN(len(steps))])
	case "user":
		w.userActs()
	case "replace":
		w.replaceDead(w.behind)
	case "trouble":
		w.troubleActs()
	case "monkey":
		w.monkeyActs()
	case "lease":
		w.leaseActs()
	case "machines":
		w.machinesAct()
	case "namespace":
		if !w.namespaceActs() && w.rng.IntN(10) == 0 {
			w.DeleteNamespace()
		}
	case "autoscaler":
		w.at = w.keys[w.rng.IntN(len(w.keys))]
		w.autoscale()
	case "finalizers":
		w.finalizersAct()
	case "evictions":
		w.evictionsAct()
	case "budgets":
		w.budgetsAct()
	case "crash":
		if p := w.processes[w.rng.IntN(len(w.processes))]; !p.busy && !p.dead {
			w.note("%s is killed", p.name)
			w.covered["killed"]++
			w.reached.points[randomHits]++
			p.dead = true
		}
	}
}

// deliverActs has a cache take in the next write. At times its watch has ended,
// and it takes in a list, or a bookmark comes.
func (w *World) deliverActs() {
	p := w.processes[w.rng.IntN(len(w.processes))]
	if p.dead {
		return
	}
	feeds := p.feeds()
	w.shuffle(len(feeds), func(i, j int) { feeds[i], feeds[j] = feeds[j], feeds[i] })
	if w.options.bookmarks && w.rng.IntN(8) == 0 {
		w.covered["bookmark"]++
		feeds[0].bookmark(w.clock.Now(), w.server.version)
		return
	}
	if w.options.relists && w.rng.IntN(8) == 0 {
		w.covered["relist"]++
		feeds[0].relist(w.rng.IntN(feeds[0].lag() + 1))
		return
	}
	for _, f := range feeds {
		if f.deliver() {
			return
		}
	}
}

// behind is how far in the past a cache begins.
func (w *World) behind() int {
	if !w.options.past || w.rng.IntN(2) == 0 {
		return 0
	}
	return w.rng.IntN(30)
}

// randomFault decides by chance what goes wrong with a request.
func (w *World) randomFault(c *call) Fault {
	if w.rng.IntN(1000) >= w.options.faulty {
		return noFault
	}
	f := w.options.faults[w.rng.IntN(len(w.options.faults))]
	w.faults++
	w.covered[fmt.Sprintf("%s: %s", c.what, f)]++
	w.note("fault: %s: %s", c.what, f)
	if f == unanswered || slices.Contains(crashes, f) {
		w.reached.points[randomHits]++
	}
	return f
}

// randomMeanwhile has others act while a request is under way.
func (w *World) randomMeanwhile(*Process) {
	if w.rng.IntN(100) < w.options.busy {
		w.act([]string{"deliver", "nodes", "collector", "clock", "user", "trouble", "monkey", "lease", "machines", "namespace", "autoscaler", "finalizers", "evictions", "budgets"})
	}
	if w.options.two && w.rng.IntN(8) == 0 {
		w.actor("sync")
	}
}

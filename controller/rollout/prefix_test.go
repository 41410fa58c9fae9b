package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// clone is the same world, to go another way.
func (w *world) clone() *world {
	c := *w
	c.story = slices.Clone(w.story)
	c.pods = maps.Clone(w.pods)
	for name, p := range c.pods {
		own := *p
		c.pods[name] = &own
	}
	c.bad, c.revisionOf = maps.Clone(w.bad), maps.Clone(w.revisionOf)
	return &c
}

// drain syncs until there is nothing left to do at this moment.
func (w *world) drain() {
	for range 50 {
		before := w.writes
		if w.sync(1000); w.writes == before {
			return
		}
	}
	w.fail("S16", "the planner finds something to do for ever")
}

// shape is the state without what may differ from one way to another: UIDs,
// versions, what is going, and surge groups, since none is made once the last
// group that they stand in for is on record as being torn down.
func (w *world) shape() string {
	out := []string{fmt.Sprintf("current %s established %d", w.current, w.established)}
	for _, name := range w.names() {
		p := w.pods[name]
		if indexOf(name) >= w.spec.Replicas || p.Terminating {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s#%d ready %t marked %v", name, p.Revision, p.Incarnation, p.Ready, p.GroupReady))
	}
	for _, e := range w.recycling {
		if e.Index >= w.spec.Replicas {
			continue
		}
		out = append(out, fmt.Sprintf("entry %d.%d %s→%s since %s", e.Index, e.Incarnation, e.Cause, e.Revision, e.StartedAt))
	}
	for _, r := range w.restarts {
		out = append(out, fmt.Sprintf("restarts %d %s %d %s", r.Index, r.Revision, r.Count, r.LastAt))
	}
	return strings.Join(out, "\n")
}

// size is how many writes a plan has, the status included.
func (p *Plan) size() int {
	n := len(p.Delete) + len(p.Mark) + 1
	for _, c := range p.Create {
		n += len(c.Workers)
	}
	if p.Ahead {
		n++
	}
	return n
}

// TestPrefixes: a plan is carried out up to any of its writes, and then a process
// with empty memory plans anew, and is cut off once more. All that is safe, and leads
// to where the whole plan leads: at this moment and at rest (S22).
func TestPrefixes(t *testing.T) {
	first, last := uint64(1), uint64(max(1, *runs/5))
	if *seed != 0 {
		first, last = *seed, *seed
	}
	plans, prefixes := 0, 0
	for n := first; n <= last; n++ {
		w := newWorld(t, n)
		for range 60 {
			w.step()
			plan := Make(w.input())
			if plan.size() == 1 || w.rnd.IntN(3) > 0 {
				continue
			}
			plans++
			whole := w.clone()
			whole.drain()
			want := whole.shape()
			for cut := range plan.size() {
				prefixes++
				c := w.clone()
				c.tell("the plan is cut off after %d writes", cut)
				c.sync(cut)
				c.sync(cut / 2)
				c.drain()
				if got := c.shape(); got != want {
					c.fail("S22", "after %d of %d writes and planning anew:\n%s\nnot\n%s", cut, plan.size(), got, want)
				}
			}
			if w.rnd.IntN(4) == 0 {
				checkSameEnd(w, whole, w.rnd.IntN(plan.size()))
			}
		}
	}
	t.Logf("%d plans, %d prefixes", plans, prefixes)
}

// checkSameEnd compares the ends when pods come up and go between the cut and the
// next plan: the way may differ then, and the incarnations with it.
func checkSameEnd(w, whole *world, cut int) {
	c := w.clone()
	c.tell("the plan is cut off after %d writes, and time passes", cut)
	c.sync(cut)
	c.settle()
	whole.settle()
	if got, want := c.end(), whole.end(); got != want {
		c.fail("S22", "after %d writes, time and planning anew:\n%s\nnot\n%s", cut, got, want)
	}
}

// end is what a world at rest has of each group.
func (w *world) end() string {
	var out []string
	for _, v := range w.views() {
		out = append(out, fmt.Sprintf("%d %s of %d ready %t", v.Index, v.Revision, v.Size, v.AllReady))
	}
	return strings.Join(out, "\n")
}

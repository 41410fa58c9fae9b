package sim

import "time"

// renewDeadline is how long a process tries to renew its lease until it gives up
// and exits: main.go's default.
const renewDeadline = 10 * time.Second

// loses has a process lose its lease, without knowing. Its successor is at work at
// once, on caches of any age; it goes on until it has written so much, or tried to
// renew for so long.
func (w *World) loses(p *Process) {
	p.lost, p.left = w.clock.Now(), 1+w.rng.IntN(30)
	w.note("%s loses its lease, and goes on for up to %d writes", p.name, p.left)
	w.covered["lease lost"]++
	w.reached.points[randomHits]++
	w.checker.Several = true
	w.startProcess(w.behind)
}

// leaseActs has a process lose its lease, if that of the last loss is gone.
func (w *World) leaseActs() {
	if len(w.processes) == 1 && !w.processes[0].dead {
		w.loses(w.processes[0])
	}
}

// exits ends a process whose lease is lost, when it has found out.
func (p *Process) exits(c call) {
	if p.lost.IsZero() {
		return
	}
	if c.write {
		p.left--
	}
	if p.left < 0 || p.world.clock.Since(p.lost) > renewDeadline {
		p.dead = true
	}
}

package rollout

// setStalled says whether nothing has moved for longer than the deadline allows:
// no pod was created, asked to go or became Ready, and no teardown begun, since the
// set has been on its way. All of that is read from objects, so a restart of the
// controller neither ends nor renews the wait. A pause stops the deadline.
func (p *planner) setStalled() {
	if p.ProgressDeadline <= 0 || p.ProgressingSince.IsZero() || p.Paused {
		return
	}
	last := p.ProgressingSince
	for i := range p.Groups {
		// One that waits until it has been Ready for long enough moves.
		if from, known := AvailableFrom(&p.Groups[i], p.MinReady); known && from.After(last) {
			last = from
		}
		if at := p.Groups[i].LastMove; at.After(last) {
			last = at
		}
	}
	for _, entry := range p.entries {
		if at := entry.StartedAt.Time; at.After(last) {
			last = at
		}
	}
	if due := last.Add(p.ProgressDeadline); p.Now.Before(due) {
		p.wake(due)
	} else {
		p.Stalled = true
	}
}

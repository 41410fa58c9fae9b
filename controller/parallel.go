package controller

import "sync"

// pace is how many requests of one kind may be under way: one at first, one more
// after each success, up to Options.InFlight.
type pace struct{ window int }

// each calls f for 0..n-1 at the given pace. It starts no more calls after an
// error, or when the time of the sync is up.
func (x *execution) each(p *pace, n int, f func(i int) error) error {
	if x.InFlight == 1 {
		return x.inTurn(n, f)
	}
	var (
		mu      sync.Mutex
		freed   = sync.NewCond(&mu)
		running int
		first   error
	)
	mu.Lock()
	for i := 0; i < n; i++ {
		for running >= max(p.window, 1) && first == nil {
			freed.Wait()
		}
		if first != nil {
			break
		}
		if x.late() {
			break
		}
		running++
		go func() {
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			running--
			if err == nil {
				p.window = min(max(p.window, 1)+1, x.InFlight)
			} else if first == nil {
				first = err
			}
			freed.Signal()
		}()
	}
	for running > 0 {
		freed.Wait()
	}
	mu.Unlock()
	return first
}

// inTurn is each with one call at a time, in the caller's goroutine.
func (x *execution) inTurn(n int, f func(i int) error) error {
	for i := 0; i < n && !x.late(); i++ {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// late says that the time of the sync is up; then there is another one at once.
func (x *execution) late() bool {
	if x.Clock.Since(x.start) <= syncTime {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wait.Again = true
	return true
}

package invariant

import (
	"fmt"
	"time"

	v1 "lws-controller/api/v1"
)

const (
	// renewDeadline is how long a process may go on after its lease was lost: it
	// finds out, and exits.
	renewDeadline = 10 * time.Second
	// inFlight is how many writes it may have under way then.
	inFlight = 32
)

// S19: what a process writes after it has lost its lease is bounded, and harmless:
// each write carries what makes it fail if the successor has come first. A
// creation has its name for that, a deletion the UID. A patch needs the
// resourceVersion, where it is about more than one condition of a pod.
func S19(c *Checker, ch *Change) string {
	if ch.By != Controller || ch.Seen == nil || ch.Seen.Lost.At.IsZero() {
		return ""
	}
	c.count("S19")
	c.afterLoss[ch.Seen.Lost]++
	o := ch.object()
	name := fmt.Sprintf("%s of %T %s", ch.Verb, o, o.GetName())
	if after := ch.At.Sub(ch.Seen.Lost.At); after > renewDeadline || c.afterLoss[ch.Seen.Lost] > inFlight {
		return fmt.Sprintf("%s is write %d, and %s, after the lease was lost", name, c.afterLoss[ch.Seen.Lost], after)
	}
	_, isSet := o.(*v1.LeaderWorkerSet)
	mark := !isSet && ch.Subresource == "status"
	if ch.Verb == Delete && !ch.UID || ch.Verb == Update && !(ch.UID && (ch.Version || mark)) {
		return fmt.Sprintf("%s after the lease was lost: UID as precondition %t, resourceVersion %t", name, ch.UID, ch.Version)
	}
	return ""
}

package invariant

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// S15: nothing is written for a set that was known to be going, and no pod is
// touched that was known to be, but by the forced deletion that S1 judges.
func S15(c *Checker, ch *Change) string {
	if ch.By != Controller || ch.Seen == nil {
		return ""
	}
	c.count("S15")
	if ch.Seen.Set != nil && terminating(ch.Seen.Set) {
		return fmt.Sprintf("%s of %T %s for a set that was known to be deleted", ch.Verb, ch.object(), ch.object().GetName())
	}
	if ch.Before != nil && terminating(ch.Before) && parseVersion(ch.Before) <= ch.Seen.Pods {
		_, isSet := ch.Before.(*v1.LeaderWorkerSet)
		_, isPod := ch.Before.(*corev1.Pod)
		if forced := isPod && ch.Verb == Delete && ch.Force; !isSet && !forced {
			return fmt.Sprintf("%s of %T %s, which was known to be terminating", ch.Verb, ch.Before, ch.Before.GetName())
		}
	}
	return ""
}

// S16 says that something which should have cost no write did.
func (c *Checker) S16(format string, args ...any) {
	c.violations = append(c.violations, Violation{"S16", fmt.Sprintf(format, args...)})
}

// S17: observedGeneration never goes back, nor above the generation. That the
// numbers are right is checked at rest.
func S17(c *Checker, ch *Change) string {
	after, ok := ch.After.(*v1.LeaderWorkerSet)
	if !ok || ch.By != Controller {
		return ""
	}
	c.count("S17")
	before := ch.Before.(*v1.LeaderWorkerSet)
	if after.Status.ObservedGeneration < before.Status.ObservedGeneration || after.Status.ObservedGeneration > after.Generation {
		return fmt.Sprintf("observedGeneration goes from %d to %d at generation %d",
			before.Status.ObservedGeneration, after.Status.ObservedGeneration, after.Generation)
	}
	return ""
}

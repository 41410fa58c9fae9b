package rollout

import (
	"fmt"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// WaitingFor says in words what a group waits for, as far as its pods and the status
// of its set tell; empty if it waits for nothing. entry is its teardown under way, if
// there is one.
func WaitingFor(v *group.View, entry *v1.RecyclingGroup, restarts []v1.GroupRestarts) string {
	if entry != nil && v.HasPods && v.Incarnation <= entry.Incarnation {
		return fmt.Sprintf("%d pods to be gone (%s)", v.Terminating+len(v.Live), entry.Cause)
	}
	if v.Failure != nil && v.Failure.Counts {
		for _, r := range restarts {
			if r.Index == v.Index && r.Revision == v.Revision {
				due := r.LastAt.Add(RestartDelay(r.Count))
				return fmt.Sprintf("its recreation at %s: %s", due.UTC().Format(time.RFC3339), v.Failure.Message)
			}
		}
	}
	return v.WaitingFor
}

package rollout

import (
	"fmt"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// WaitingFor says in words what a group waits for, as far as its pods, the templates
// and the restart counts tell; empty if it waits for nothing. entry is its teardown
// under way, if there is one.
func (in *Input) WaitingFor(v *group.View, entry *v1.RecyclingGroup) string {
	if entry != nil && v.HasPods && v.Incarnation <= entry.Incarnation {
		return fmt.Sprintf("%d pods to be gone (%s)", v.Terminating+len(v.Live), entry.Cause)
	}
	if s := in.SpentBy(v); s != nil {
		return "somebody's help: " + s.String()
	}
	if f := v.FailureUnder(in.Templates[v.Revision].RestartPolicy); f != nil && f.Counts {
		for i := range in.Restarts {
			if r := &in.Restarts[i]; r.Index == v.Index && r.Revision == v.Revision {
				due := r.LastAt.Add(delayOf(r))
				return fmt.Sprintf("its recreation at %s: %s", due.UTC().Format(time.RFC3339), f.Message)
			}
		}
	}
	return v.WaitingFor
}

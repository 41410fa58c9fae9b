package rollout

import (
	"fmt"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// spent says that the restart budget allows no recreation after so many. With N =
// maxGroupRestarts:
//
//	N 2: count 0 and 1 → no, count 2 and more → yes
//	N 0: always; without N: never
func (t Template) spent(count int32) bool {
	return t.MaxGroupRestarts != nil && count >= *t.MaxGroupRestarts
}

// Spent is a group that is left as it is: it has failed, and the budget of its revision
// allows no further recreation.
type Spent struct {
	Index int32
	// Count is how often it was recreated, Failure what has happened since.
	Count   int32
	Failure *group.Failure
}

// String says why nothing is done about the group, and what would help.
func (s *Spent) String() string {
	if s.Count == 0 {
		return fmt.Sprintf("maxGroupRestarts is 0, and it has failed: %s; annotation %s recreates it once", s.Failure.Message, v1.AnnotationRecycle)
	}
	return fmt.Sprintf("it was recreated as often as maxGroupRestarts allows (%d), and has failed again: %s; annotation %s has it begin anew",
		s.Count, s.Failure.Message, v1.AnnotationRecover)
}

// SpentBy says whether a group is left as it is, nil if not. A failure that does not
// count is none of the group's own: then it is recreated.
func (in *Input) SpentBy(v *group.View) *Spent {
	t := in.Templates[v.Revision]
	if t.MaxGroupRestarts == nil || !v.HasPods {
		return nil
	}
	failures := v.FailuresUnder(t.RestartPolicy)
	if len(failures) == 0 {
		return nil
	}
	for _, f := range failures {
		if !f.Counts {
			return nil
		}
	}
	count := restartsOf(in.Restarts, v)
	if !t.spent(count) {
		return nil
	}
	return &Spent{Index: v.Index, Count: count, Failure: failures[0]}
}

// restartsOf is how often a group was recreated at its revision.
func restartsOf(restarts []v1.GroupRestarts, v *group.View) int32 {
	for i := range restarts {
		if r := &restarts[i]; r.Index == v.Index && r.Revision == v.Revision {
			return r.Count
		}
	}
	return 0
}

package plan

import (
	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

// actions of the teardowns that a plan begins.
var actions = map[v1.RecycleCause]string{
	v1.RecycleUpdate:    ActionUpdate,
	v1.RecycleRequested: ActionRecreate,
	v1.RecycleFailure:   ActionFailed,
	v1.RecycleReplace:   ActionFailed,
	v1.RecycleScaleDown: ActionRemove,
}

// note writes down what a plan does to whole groups: one step for each action and
// revision.
func (w *world) note(in *rollout.Input, plan *rollout.Plan, ready int32) {
	first := len(w.report.Steps)
	step := func(action, revision string, index int32) {
		for i := first; i < len(w.report.Steps); i++ {
			if s := &w.report.Steps[i]; s.Action == action && s.Revision == revision {
				s.Groups = append(s.Groups, index)
				return
			}
		}
		w.report.Steps = append(w.report.Steps, Step{After: Duration{w.now.Sub(w.start)}, Action: action, Revision: revision,
			Groups: []int32{index}, SurgeGroups: w.surgeGroups(in.Replicas), Ready: ready})
	}
	for _, s := range plan.Started {
		revision := s.Entry.Revision
		if s.Entry.Cause == v1.RecycleScaleDown {
			revision = ""
		} else {
			w.report.Recreated++
		}
		step(actions[s.Entry.Cause], revision, s.Entry.Index)
	}
	there := map[int32]bool{}
	for i := range in.Groups {
		there[in.Groups[i].Index] = in.Groups[i].HasPods
	}
	for _, c := range plan.Create {
		switch {
		case there[c.Index]: // only some of its pods
		case c.Index >= in.Replicas:
			step(ActionSurge, c.Revision, c.Index)
		default:
			step(ActionCreate, c.Revision, c.Index)
		}
	}
	if plan.Stalled && !w.stalled {
		w.report.Steps = append(w.report.Steps, Step{After: Duration{w.now.Sub(w.start)}, Action: ActionStalled, Groups: []int32{},
			SurgeGroups: w.surgeGroups(in.Replicas), Ready: ready})
	}
	w.stalled = plan.Stalled
	if len(w.report.Steps) > first {
		w.report.AtLeast = Duration{w.now.Sub(w.start) + in.MinReady}
	}
}

// surgeGroups counts the groups above the replicas that are not on their way out.
func (w *world) surgeGroups(replicas int32) (n int32) {
	going := map[int32]bool{}
	for i := range w.known.Set.Status.Recycling {
		going[w.known.Set.Status.Recycling[i].Index] = true
	}
	for i := range w.known.Groups {
		if v := &w.known.Groups[i]; v.Index >= replicas && v.HasPods && !going[v.Index] {
			n++
		}
	}
	return n
}

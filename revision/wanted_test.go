package revision

import (
	"testing"
	"time"

	v1 "lws-controller/api/v1"
)

// TestLostBudget: a spec that the published CRD has taken maxGroupRestarts from is the
// one that was recorded with it. One that somebody has taken it from is not.
func TestLostBudget(t *testing.T) {
	budget := func(n int32) func(*v1.LeaderWorkerSet) {
		return func(s *v1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.MaxGroupRestarts = &n }
	}
	image := func(s *v1.LeaderWorkerSet) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "a:2"
	}
	status := func(observed int64, update string) func(*v1.LeaderWorkerSet) {
		return func(s *v1.LeaderWorkerSet) {
			s.Status.ObservedGeneration, s.Status.UpdateRevision = observed, update
		}
	}
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		edits   []func(*v1.LeaderWorkerSet)
		restart time.Time
		// found: it is the recorded revision; kept: what is wanted has its budget.
		found, kept bool
	}{
		"nothing lost":                 {edits: []func(*v1.LeaderWorkerSet){budget(2), status(3, "r")}, found: true, kept: true},
		"status dropped too":           {edits: []func(*v1.LeaderWorkerSet){status(2, "")}, found: true, kept: true},
		"status there again":           {edits: []func(*v1.LeaderWorkerSet){status(3, "r")}, found: true, kept: true},
		"taken out by somebody":        {edits: []func(*v1.LeaderWorkerSet){status(2, "r")}},
		"taken out long ago":           {edits: []func(*v1.LeaderWorkerSet){status(3, "other")}},
		"no status yet":                {},
		"another budget":               {edits: []func(*v1.LeaderWorkerSet){budget(3), status(2, "")}},
		"something else changed":       {edits: []func(*v1.LeaderWorkerSet){image, status(2, "")}},
		"and a restart is asked for":   {edits: []func(*v1.LeaderWorkerSet){status(2, "")}, restart: at, kept: true},
		"taken out, and restarted":     {edits: []func(*v1.LeaderWorkerSet){status(2, "r")}, restart: at},
		"another, and a restart asked": {edits: []func(*v1.LeaderWorkerSet){budget(3), status(2, "")}, restart: at},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := set(t, simple)
			budget(2)(recorded)
			none := history(t)
			r, err := none.New(recorded, FromSet(recorded), time.Time{}, "")
			if err != nil {
				t.Fatal(err)
			}
			r.Object.Labels[v1.LabelRevision] = "r"
			h := history(t, r.Object)
			s := set(t, simple)
			s.Generation = 3
			for _, edit := range tc.edits {
				edit(s)
			}
			wanted := h.Wanted(s, tc.restart)
			if found := h.Find(wanted) != nil; found != tc.found {
				t.Errorf("found: %v, want %v", found, tc.found)
			}
			got := wanted.Template.MaxGroupRestarts
			if kept := got != nil && *got == 2; kept != tc.kept {
				t.Errorf("has the budget: %v, want %v", kept, tc.kept)
			}
		})
	}
}

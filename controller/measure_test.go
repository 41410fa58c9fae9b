package controller_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/invariant"
	"lws-controller/controller/sim"
	"lws-controller/metrics"
)

// counts is what all series of ours have counted; of distributions, how often.
func counts(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "lws_") {
			continue
		}
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "lws_")
			for _, l := range m.GetLabel() {
				if l.GetName() != "namespace" && l.GetName() != "name" {
					name += " " + l.GetValue()
				}
			}
			out[name] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// world is a simulated cluster with a controller that tells of what it does.
type world struct {
	*sim.Script
	t      *testing.T
	reg    *prometheus.Registry
	before map[string]float64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, reg: metrics.New("test"), Script: sim.NewMeasuredScript(&broken{t}, &metrics.Recorder{})}
	t.Cleanup(w.End)
	w.before = counts(t, w.reg)
	return w
}

// counted compares what was counted since the last time. Of what is not named, nothing
// may have been, but syncs and writes.
func (w *world) counted(when string, want map[string]float64) {
	w.t.Helper()
	now := counts(w.t, w.reg)
	got := map[string]float64{}
	for name, n := range now {
		named := false
		if _, named = want[name]; !named && (strings.HasPrefix(name, "sync_") || strings.HasPrefix(name, "writes_") || strings.HasPrefix(name, "event_")) {
			continue
		}
		if d := n - w.before[name]; d != 0 || named {
			got[name] = d
		}
	}
	if !maps.Equal(got, want) {
		w.t.Errorf("%s: counted\n%v\nwant\n%v", when, got, want)
	}
	w.before = now
}

// told is what the gauges tell of the only set. It must agree with the stored status.
func (w *world) told() *metrics.Set {
	w.t.Helper()
	w.Controller().Lead()
	state := w.Controller().State()
	if len(state.Sets) != 1 {
		w.t.Fatalf("told of %d sets", len(state.Sets))
	}
	set, s := state.Sets[0], &w.Set().Status
	want := fmt.Sprint(*w.Set().Spec.Replicas, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.Groups.Ready, s.Groups.Pending, s.Groups.Failed, s.CurrentRevision, s.UpdateRevision)
	got := fmt.Sprint(set.Desired, set.Exist, set.Ready, set.Updated, set.Phases[group.Ready], set.Phases[group.Pending], set.Phases[group.Failed], set.Current, set.Update)
	if got != want {
		w.t.Errorf("told %s, the status says %s", got, want)
	}
	return set
}

// broken fails the test where an invariant does not hold.
type broken struct{ t *testing.T }

func (*broken) Wrote(*invariant.Change)        {}
func (*broken) Refused(string, error)          {}
func (*broken) Event(_, _, _ string)           {}
func (*broken) Log(string, []any)              {}
func (*broken) Process(_, _ string)            {}
func (b *broken) Broken(v invariant.Violation) { b.t.Errorf("%v", v) }

func (w *world) settle() {
	w.t.Helper()
	if !w.Settle() {
		w.t.Fatal("the world does not come to rest")
	}
}

func image(name string) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = name
	}
}

// TestWhatIsTold follows a set through its life, with a change of leader in each state:
// the new one counts what happens from then on, and nothing again.
func TestWhatIsTold(t *testing.T) {
	w := newWorld(t)
	set := sim.NewSet()
	replicas, size := int32(3), int32(2)
	set.Spec.Replicas, set.Spec.LeaderWorkerTemplate.Size = &replicas, &size
	w.Apply(set)
	w.settle()
	created := map[string]float64{
		"group_transitions_total Pending LeaderReady":         3,
		"group_transitions_total LeaderReady WorkersStarting": 3,
		"group_transitions_total WorkersStarting Ready":       3,
		"group_startup_duration_seconds":                      3,
		"writes_total Pod accepted create":                    6,
		"writes_total Pod accepted patch_status":              3,
		"writes_total ControllerRevision accepted create":     1,
		"writes_total Service accepted create":                1,
		"group_phase_duration_seconds Pending":                3,
	}
	got := counts(t, w.reg)
	for _, phase := range []string{"LeaderReady", "WorkersStarting"} { // may be passed between two looks
		name := "group_phase_duration_seconds " + phase
		if n := got[name] - w.before[name]; n > 0 {
			created[name] = min(n, 3)
		}
	}
	w.counted("creation", created)
	if s := w.told(); s.Progress != 1 || !s.RolloutStart.IsZero() || !s.RolloutEnd.IsZero() || s.Degraded != "" || s.Paused || s.Oldest[group.Ready].IsZero() {
		t.Errorf("after creation: %+v", s)
	}
	w.handOver()

	w.Edit(image("example.com/model:2"))
	for s := w.told(); s.RolloutStart.IsZero(); s = w.unchecked() {
		w.Pass(time.Millisecond)
	}
	if s := w.unchecked(); s.Progress == 1 || !s.RolloutEnd.IsZero() {
		t.Errorf("in the middle of a rollout: %+v", s)
	}
	w.settle()
	w.has("an update", map[string]float64{"group_recreations_total Update": 3, "group_recreation_duration_seconds Update": 3,
		"rollout_duration_seconds": 1, "group_startup_duration_seconds": 3, "group_transitions_total Ready Recycling": 3,
		"group_transitions_total Recycling Pending": 3, "group_failures_total PodFailed": 0})
	s := w.told()
	if s.Progress != 1 || s.RolloutStart.IsZero() || s.RolloutEnd.Before(s.RolloutStart) {
		t.Errorf("after the rollout: %+v", s)
	}
	end := s.RolloutEnd
	w.handOver()
	if s := w.told(); !s.RolloutStart.IsZero() || math.Abs(s.RolloutEnd.Sub(end).Seconds()) > 10 {
		t.Errorf("after the rollout and a change of leader: %+v, want the end %s", s, end)
	}

	if err := w.Trouble("restart", w.Pods()[3].Name); err != nil {
		t.Fatal(err)
	}
	for i := 0; w.unchecked().Restarts != 1; i++ {
		if w.Pass(time.Millisecond); i > 5000 {
			t.Fatal("the failure does not show in the highest number of restarts")
		}
	}
	w.settle()
	w.has("a failure", map[string]float64{"group_recreations_total Failure": 1, "group_recreation_duration_seconds Failure": 1,
		"group_failures_total ContainerRestarted": 1, "group_startup_duration_seconds": 1, "rollout_duration_seconds": 0})
	w.handOver()

	w.DeleteSet(metav1.DeletePropagationBackground)
	w.settle()
	w.Controller().Lead()
	if state := w.Controller().State(); len(state.Sets) != 0 || len(state.Unsynced) != 0 {
		t.Errorf("told of a set that is gone: %+v", state)
	}
	families, err := w.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "lws_group_recreations_total" && len(f.GetMetric()) > 0 {
			t.Errorf("%s is still there", f.GetName())
		}
	}
}

// unchecked is told without looking at the status, which may be about to change.
func (w *world) unchecked() *metrics.Set { return w.Controller().State().Sets[0] }

// has looks at some of what was counted.
func (w *world) has(when string, want map[string]float64) {
	w.t.Helper()
	now := counts(w.t, w.reg)
	for name, n := range want {
		if got := now[name] - w.before[name]; got != n {
			w.t.Errorf("%s: %s counted %g, want %g", when, name, got, n)
		}
	}
	w.before = now
}

// handOver has another process take over, which must count nothing.
func (w *world) handOver() {
	w.t.Helper()
	w.Restart()
	w.settle()
	w.Touch()
	w.settle()
	w.counted("a change of leader", map[string]float64{})
	w.told()
}

// TestNewsAndWrites has a set wait for what keeps its syncs from coming to their end.
func TestNewsAndWrites(t *testing.T) {
	w := newWorld(t)
	w.Controller().Lead()
	w.Plan(sim.PlannedFault{Fault: sim.Faults["unreachable"], What: "create pod", Times: 5})
	w.Apply(sim.NewSet())
	w.Pass(2 * time.Millisecond)
	longest := time.Duration(0)
	for range 2000 {
		w.Pass(time.Millisecond)
		for _, d := range w.Controller().State().Unsynced {
			longest = max(longest, d)
		}
		if w.Planned() == 0 {
			break
		}
	}
	if longest < 50*time.Millisecond { // the backoff of the first tries
		t.Errorf("the set has waited for %s at most, while its pods could not be created", longest)
	}
	w.settle()
	if waits := w.Controller().State().Unsynced; len(waits) > 0 {
		t.Errorf("sets wait, at rest: %v", waits)
	}
	w.has("trouble", map[string]float64{"writes_total Pod error create": 5, "writes_total Pod accepted create": 1, "sync_duration_seconds error": 5})
	now := counts(t, w.reg)
	if err := w.Trouble("restart", w.Pods()[0].Name); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if n := counts(t, w.reg)["event_to_write_duration_seconds"] - now["event_to_write_duration_seconds"]; n < 1 || n > 4 {
		t.Errorf("%g times was it measured how long a write took after news, of a recreation", n)
	}
}

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"lws-controller/controller/invariant"
	"lws-controller/controller/rollout"
)

// planned is the first plan of a sync, with what it was made from.
type planned struct {
	in rollout.Input
	// version is that of the API server when it was made: what is planned after a
	// write of the sync itself has no counterpart.
	version int64
	known   bool
}

// planned takes down the first plan of a sync.
func (p *Process) planned(_ types.NamespacedName, in rollout.Input, _ rollout.Plan) {
	if !p.plan.known {
		p.plan = planned{in: in, version: p.world.server.version, known: true}
	}
	if p.ghost {
		panic(saidEnough)
	}
}

// saidEnough ends the sync of a process that was only asked for its plan.
const saidEnough = "said enough"

// upToDate says that the caches have taken in everything.
func (p *Process) upToDate() bool {
	for _, f := range p.feeds() {
		if f.lag() > 0 {
			return false
		}
	}
	return true
}

// moment is a state of the API server at a time.
type moment struct {
	version int64
	at      time.Time
}

// somethingNew says that a plan made now may differ from the one that was compared
// last for the set: something was written since, or it is some time ago.
func (w *World) somethingNew(key types.NamespacedName) bool {
	now, last := moment{w.server.version, w.clock.Now()}, w.compared[key]
	if now.version == last.version && now.at.Sub(last.at) < time.Second {
		return false
	}
	w.compared[key] = now
	return true
}

// amnesiac is what a controller with empty memory, whose caches show the same,
// would plan for a set now. It may read, but not write: where something is to be
// written before it can plan, such as a revision, there is no plan.
func (p *Process) amnesiac(key types.NamespacedName) (fresh planned) {
	a := p.world.blankProcess("amnesiac")
	defer a.stop()
	a.ghost, a.ctx = true, klog.NewContext(context.Background(), klog.Logger{})
	a.sets, a.pods, a.services, a.revisions, a.nodes, a.budgets = p.sets, p.pods, p.services, p.revisions, p.nodes, p.budgets
	a.workloads, a.podGroups, a.volcano = p.workloads, p.podGroups, p.volcano
	defer func() {
		if why := recover(); why != nil && why != saidEnough {
			panic(why)
		}
		fresh = a.plan
	}()
	_, _ = a.ctrl.Sync(a.ctx, key)
	return a.plan
}

// remembersNothing compares the plan of a sync with that of the amnesiac, made
// just before from the same objects (L4).
func (w *World) remembersNothing(p *Process, fresh planned) {
	if !fresh.known || !p.plan.known || fresh.version != p.plan.version || !fresh.in.Now.Equal(p.plan.in.Now) {
		return
	}
	w.reached.points[samePlans]++
	mine, its := rollout.Make(forgetful(p.plan.in, fresh.in)), rollout.Make(fresh.in)
	if !reflect.DeepEqual(mine, its) {
		w.breach(invariant.Violation{Invariant: "L4", Message: fmt.Sprintf("%s plans other than with empty memory:%s", p.name, planDifference(mine, its))})
	}
}

// forgetful is what a plan was made from, without what only a memory adds, and
// may: how long to wait until the next try at what the API server has refused.
// A restart tries at once.
func forgetful(in, fresh rollout.Input) rollout.Input {
	in.Held = fresh.Held
	services := map[string]rollout.Service{}
	for name, s := range in.Services {
		if _, exists := fresh.Services[name]; exists || s.Unusable == "" {
			services[name] = s
		}
	}
	in.Services = services
	return in
}

// planDifference are the fields in which two plans differ.
func planDifference(mine, its rollout.Plan) string {
	var out strings.Builder
	a, b := reflect.ValueOf(mine), reflect.ValueOf(its)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			fmt.Fprintf(&out, " %s %s, not %s;", a.Type().Field(i).Name, inJSON(x), inJSON(y))
		}
	}
	return out.String()
}

func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

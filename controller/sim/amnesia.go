package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

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
}

// upToDate says that the caches have taken in everything.
func (p *Process) upToDate() bool {
	for _, f := range p.feeds() {
		if f.lag() > 0 {
			return false
		}
	}
	return true
}

// amnesiac is what a controller with empty memory, whose caches show the same,
// would plan for a set now. It may read, but not write: where something is to be
// written before it can plan, such as a revision, there is no plan.
func (w *World) amnesiac(key types.NamespacedName) planned {
	p := w.newProcess("amnesiac", upToDate)
	defer p.stop()
	p.ghost, p.ctx = true, klog.NewContext(context.Background(), klog.Logger{})
	_, _ = p.ctrl.Sync(p.ctx, key)
	return p.plan
}

// remembersNothing compares the plan of a sync with that of the amnesiac, made
// just before from the same objects (L4).
func (w *World) remembersNothing(p *Process, fresh planned) {
	if !fresh.known || !p.plan.known || fresh.version != p.plan.version || !fresh.in.Now.Equal(p.plan.in.Now) {
		return
	}
	w.covered["L4 compared"]++
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

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/topology"
)

// tracked is one group, kept as the controller keeps it.
type tracked struct {
	state *group.State
	view  group.View
	stale bool
}

// body is what of a pod the planner need not know.
type body struct {
	spec     *corev1.PodSpec
	requests corev1.ResourceList
	// comesUp: it becomes Ready as soon as it has a place.
	comesUp bool
}

// group returns the group of this index, making it if need be.
func (w *world) group(index int32) *tracked {
	t := w.groups[index]
	if t == nil {
		t = &tracked{state: group.NewState(index)}
		w.groups[index] = t
	}
	return t
}

func (w *world) fold(index int32, e group.Event) {
	t := w.group(index)
	if t.state.Fold(e, w.now) {
		t.stale = true
	}
}

// views are the groups by ascending index, without those of which nothing is left.
func (w *world) views() []group.View {
	out := make([]group.View, 0, len(w.groups))
	for _, index := range slices.Sorted(maps.Keys(w.groups)) {
		t := w.groups[index]
		if t.state.Empty() {
			delete(w.groups, index)
			continue
		}
		if t.stale {
			t.view, t.stale = t.state.View(w.known.Set.UID, w.sizes), false
		}
		out = append(out, t.view)
	}
	return out
}

// pods are the set's pods that are there, in the order in which they were created.
func (w *world) pods(each func(index int32, p *group.Pod)) {
	type placed struct {
		index int32
		pod   *group.Pod
	}
	var all []placed
	for index, t := range w.groups {
		for _, p := range t.state.Pods() {
			if p.Controller == w.known.Set.UID {
				all = append(all, placed{index, p})
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(a.pod.Created.Compare(b.pod.Created), cmp.Compare(a.index, b.index), cmp.Compare(a.pod.Worker, b.pod.Worker))
	})
	for _, one := range all {
		each(one.index, one.pod)
	}
}

// nextVersion is later than any that the API server has given out.
func (w *world) nextVersion() string {
	w.version++
	return strconv.FormatUint(1<<62+w.version, 10)
}

// observed is what the planner gets to see of a pod. Nobody here knows where affinity puts
// a leader, so that its workers are taken to be able to follow it.
func observed(p *corev1.Pod, worker int32) group.Pod {
	seen := group.ObservePod(p, worker)
	seen.DomainKeys = nil
	return seen
}

// observe takes in a pod that exists.
func (w *world) observe(index, worker int32, p *corev1.Pod) {
	seen := observed(p, worker)
	w.bodies[p.UID] = &body{spec: &p.Spec, requests: requests(&p.Spec), comesUp: w.options.AssumeRecovery || seen.Node == ""}
	if w.capacity != nil && seen.Node != "" {
		w.capacity.use(seen.Node, w.bodies[p.UID].requests)
	}
	add(w.usage, w.bodies[p.UID].requests)
	w.fold(index, group.Observed(seen))
}

// createPod makes a pod as the controller would.
func (w *world) createPod(c *rollout.Creation, worker int32) {
	g := controller.GroupOf(w.known.Set, w.known.History.ByKey(c.Revision), c.Index, c.Incarnation)
	g.RecycledAt, g.Gang = c.RecycledAt, c.Gang
	w.claims.make(w.known.Set, g.Claims(worker))
	made := g.Pod(worker)
	made.UID = types.UID(fmt.Sprintf("made-%d", w.version))
	made.ResourceVersion = w.nextVersion()
	p := observed(made, worker)
	p.Created, p.ReadyChanged = w.now, w.now
	b := &body{spec: &made.Spec, requests: requests(&made.Spec), comesUp: !w.broken[c.Revision]}
	w.bodies[p.UID] = b
	add(w.usage, b.requests)
	raise(w.peak, w.usage)
	w.fold(c.Index, group.Observed(p))
}

// vanish lets all pods go that are being deleted, and says whether there were any.
func (w *world) vanish() bool {
	any := false
	w.pods(func(index int32, p *group.Pod) {
		if !p.Terminating {
			return
		}
		b := w.bodies[p.UID]
		if w.capacity != nil && p.Node != "" {
			w.capacity.release(p.Node, b.requests)
		}
		subtract(w.usage, b.requests)
		w.fold(index, group.Event{Kind: group.PodGone, Worker: p.Worker, UID: p.UID, Version: w.nextVersion()})
		any = true
	})
	return any
}

// comeUp gives pods their places and makes those Ready that have one, and says whether
// anything changed.
func (w *world) comeUp() bool {
	any := false
	gangs := map[types.UID]string{}
	tried := map[int32]bool{}
	w.pods(func(index int32, p *group.Pod) {
		b := w.bodies[p.UID]
		next := *p
		if p.Ready || p.Terminating {
			return
		}
		switch {
		case next.Node != "":
		case p.Gang != "" && topology.IsGang(w.known.Set.Spec.Scheduling) && w.capacity != nil:
			if !tried[index] {
				tried[index] = true
				w.placeGang(index, gangs)
			}
			next.Node = gangs[p.UID]
		default:
			next.Node = w.place(index, p, b)
		}
		if next.Node == "" || next.Node == p.Node && !b.comesUp {
			return
		}
		if b.comesUp {
			next.Ready, next.ReadyChanged, next.Phase, next.Stuck = true, w.now, corev1.PodRunning, ""
		}
		next.Version = w.nextVersion()
		w.fold(index, group.Observed(next))
		any = true
	})
	return any
}

// placeGang gives places to all pods of a group that have none, or to none of them: in
// one domain, where the set asks for that.
func (w *world) placeGang(index int32, places map[types.UID]string) {
	var pods []*group.Pod
	for _, p := range w.group(index).state.Pods() {
		if p.Controller == w.known.Set.UID && p.Node == "" && !p.Terminating {
			pods = append(pods, p)
		}
	}
	key := ""
	if c := w.known.Set.Spec.Scheduling.SchedulingConstraints; c != nil && len(c.Topology) > 0 {
		key = c.Topology[0].Key
	}
	why := ""
	for _, domain := range w.capacity.domains(key) {
		got := map[types.UID]string{}
		fits := true
		for _, p := range pods {
			b := w.bodies[p.UID]
			name, lacks := w.capacity.placeIn(key, domain, b.spec, b.requests)
			if name == "" {
				fits, why = false, fmt.Sprintf("pod %s fits no node now: %s", p.Name, lacks)
				break
			}
			got[p.UID] = name
		}
		if fits {
			maps.Copy(places, got)
			return
		}
		for uid, name := range got {
			w.capacity.release(name, w.bodies[uid].requests)
		}
	}
	if w.homeless[index] == "" {
		w.homeless[index] = "all pods need a place at once, and " + cmp.Or(why, "no node has the label "+key)
		if key != "" && why != "" {
			w.homeless[index] = fmt.Sprintf("all pods need a place at once with one %s, and in the last one tried %s", key, why)
		}
	}
}

// somewhere is the node of all pods where nodes are not known.
const somewhere = "somewhere"

func (w *world) place(index int32, p *group.Pod, b *body) string {
	if w.capacity == nil {
		return somewhere
	}
	name, why := w.capacity.place(b.spec, b.requests)
	if why != "" {
		if w.homeless[index] == "" {
			w.homeless[index] = fmt.Sprintf("pod %s fits no node now: %s", p.Name, why)
		}
	}
	return name
}

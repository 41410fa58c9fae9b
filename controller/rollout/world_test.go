package rollout

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

var (
	runs = flag.Int("rollout.runs", 1000, "random runs of the planner against a small world")
	seed = flag.Uint64("rollout.seed", 0, "run only this seed, and tell its story")
)

// world is a cluster reduced to what the planner's decisions touch: the pods of
// one set, its status and its spec. Plans are carried out write by write and may
// be cut off after any of them, as by a crash.
type world struct {
	t     *testing.T
	seed  uint64
	rnd   *rand.Rand
	now   time.Time
	story []string

	spec   Input // Replicas, Partition, Budget, LeaderFirst, Update, Templates
	bad    map[string]bool
	policy v1.RestartPolicyType

	pods        map[string]*group.Pod // by name
	version     int
	recycling   []v1.RecyclingGroup
	restarts    []v1.GroupRestarts
	established int32
	current     string
	services    map[string]Service

	failures, recreations int
	writes                int
	revisionOf            map[int32]string // of a group's last pods
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *world) fail(invariant, format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s broken: %s\nstory:\n  %s\nreplay: go test ./controller/rollout -run %s -rollout.seed %d",
		invariant, fmt.Sprintf(format, args...), strings.Join(w.story, "\n  "), w.t.Name(), w.seed)
}

func newWorld(t *testing.T, n uint64) *world {
	w := &world{t: t, seed: n, rnd: rand.New(rand.NewPCG(n, n)), now: now, pods: map[string]*group.Pod{}, bad: map[string]bool{},
		services: map[string]Service{"s": {}}, revisionOf: map[int32]string{}, current: "r0"}
	w.policy = []v1.RestartPolicyType{v1.RecreateGroupOnPodRestart, v1.RecreateGroupOnPodRestart, v1.NoneRestartPolicy}[w.rnd.IntN(3)]
	w.spec = Input{Update: "r0", Templates: map[string]Template{}, LeaderFirst: w.rnd.IntN(3) == 0,
		SharedService: "s", GroupService: func(i int32) string { return fmt.Sprintf("s-%d", i) }, MaxWrites: 6, MaxEntries: 2000}
	w.template("r0")
	w.scale()
	return w
}

func (w *world) template(key string) {
	w.spec.Templates[key] = Template{Size: 1 + w.rnd.Int32N(3), RestartPolicy: w.policy, Subdomain: v1.SubdomainShared}
	w.spec.Update = key
}

func (w *world) scale() {
	w.spec.Replicas = w.rnd.Int32N(5)
	w.established = min(w.established, w.spec.Replicas)
	w.setBudget()
}

func (w *world) setBudget() {
	w.spec.Budget = Budget{Unavailable: w.rnd.Int32N(3), Surge: min(w.rnd.Int32N(3), w.spec.Replicas)}
	if w.spec.Budget.Surge > 0 {
		w.spec.Budget.Unavailable = min(w.spec.Budget.Unavailable, w.spec.Replicas-1)
	}
	if w.spec.Budget.Surge == 0 {
		w.spec.Budget.Unavailable = max(1, w.spec.Budget.Unavailable)
	}
}

func (w *world) touch(p *group.Pod) { w.version++; p.Version = strconv.Itoa(w.version) }

// views are what a process with empty memory would see.
func (w *world) views() []group.View {
	states := map[int32]*group.State{}
	for _, p := range w.pods {
		index := indexOf(p.Name)
		if states[index] == nil {
			states[index] = group.NewState(index)
		}
		states[index].Fold(group.Observed(*p), w.now)
	}
	var out []group.View
	for _, s := range states {
		out = append(out, s.View("set", nil))
	}
	slices.SortFunc(out, func(a, b group.View) int { return int(a.Index - b.Index) })
	return out
}

func indexOf(name string) int32 {
	n, _ := strconv.ParseInt(strings.Split(name, "-")[1], 10, 32)
	return int32(n)
}

func (w *world) input() Input {
	in := w.spec
	in.Now, in.Groups, in.Services = w.now, w.views(), w.services
	in.Recycling, in.Restarts, in.Established, in.Current = w.recycling, w.restarts, w.established, w.current
	return in
}

func (w *world) inTeardown(v *group.View) bool {
	return slices.ContainsFunc(w.recycling, func(e v1.RecyclingGroup) bool { return e.Index == v.Index && v.Incarnation <= e.Incarnation })
}

// available counts the groups that are available and stay.
func (w *world) available() int32 {
	n := int32(0)
	for _, v := range w.views() {
		if v.AllReady && !w.inTeardown(&v) {
			n++
		}
	}
	return n
}

// writeStatus is what the controller stores besides a plan's entries.
func (w *world) writeStatus() {
	views, ready, settled := w.views(), int32(0), true
	for _, v := range views {
		if v.Index < w.spec.Replicas && v.AllReady && !w.inTeardown(&v) {
			ready++
			settled = settled && v.Revision == w.spec.Update
		}
	}
	w.established = min(w.spec.Replicas, max(w.established, ready))
	if settled && ready == w.spec.Replicas {
		w.current = w.spec.Update
	}
	settledNow := Settle(w.input())
	w.recycling, w.restarts = settledNow.Recycling, settledNow.Restarts
}

// sync makes a plan and carries it out, but for the writes after the first limit.
func (w *world) sync(limit int) {
	in := w.input()
	plan := Make(in)
	w.checkDeterminism(in, plan)
	if plan.Ahead {
		if limit--; limit < 0 {
			return
		}
		w.recordAhead(&plan)
	}
	for _, d := range plan.Delete {
		if limit--; limit < 0 {
			return
		}
		w.deletePod(d)
	}
	for _, c := range plan.Create {
		for _, worker := range c.Workers {
			if limit--; limit < 0 {
				return
			}
			w.createPod(&c, worker)
		}
	}
	for _, m := range plan.Mark {
		if limit--; limit < 0 {
			return
		}
		w.writes++
		p := w.pods[m.Leader.Name]
		p.GroupReady = &group.GroupReady{True: m.Ready, Since: w.now}
		w.touch(p)
	}
	if limit--; limit >= 0 {
		w.writeStatus()
	}
}

func (w *world) checkDeterminism(in Input, plan Plan) {
	if again := Make(in); show(again) != show(plan) {
		w.fail("S21", "the same input gives another plan:\n  %s\n  %s", show(plan), show(again))
	}
}

func (w *world) recordAhead(plan *Plan) {
	w.tell("record: %s", show(Plan{Started: plan.Started}))
	w.writes++
	taken := int32(0)
	for _, s := range plan.Started {
		for _, v := range w.views() {
			if v.Index != s.Entry.Index || !v.AllReady || w.inTeardown(&v) {
				continue
			}
			if s.Entry.Cause == v1.RecycleUpdate && s.Failure == nil {
				taken++
			}
		}
		if s.Entry.Cause == v1.RecycleFailure {
			w.recreations++
		}
		if s.Entry.Cause == v1.RecycleUpdate && s.Entry.Index < w.spec.Partition {
			w.fail("S9", "group %d is below the partition %d and is taken to %s", s.Entry.Index, w.spec.Partition, s.Entry.Revision)
		}
	}
	w.recycling, w.restarts = plan.Recycling, plan.Restarts
	w.checkUnproven(plan)
	if left, floor := w.available(), min(w.spec.Replicas, w.established)-w.spec.Budget.Unavailable; taken > 0 && left < floor {
		w.fail("S7", "an update leaves %d groups available, the floor is %d", left, floor)
	}
}

// checkUnproven: while some group of another revision still serves or may again,
// a revision that never made a group Ready is given to no more groups than the
// budget allows, those that were never there aside.
func (w *world) checkUnproven(plan *Plan) {
	moved := slices.ContainsFunc(plan.Started, func(r Recycle) bool { return r.Entry.Cause == v1.RecycleUpdate })
	present, held, serving := int32(0), int32(0), false
	for _, v := range w.views() {
		if v.Revision == w.spec.Update && v.EverReady() && !w.inTeardown(&v) {
			return // proven, if only by a surge group
		}
		if v.Index >= w.spec.Replicas {
			continue
		}
		present++
		entry := slices.IndexFunc(w.recycling, func(e v1.RecyclingGroup) bool { return e.Index == v.Index && v.Incarnation <= e.Incarnation })
		switch {
		case entry >= 0 && w.recycling[entry].Revision == w.spec.Update:
			held++
		case entry >= 0:
		case v.Revision != w.spec.Update:
			serving = serving || v.AllReady
		case !v.AllReady:
			held++
		}
	}
	held += max(0, w.spec.Replicas-present-w.spec.Partition) // about to be built at it
	limit := max(1, w.spec.Budget.Unavailable+w.spec.Budget.Surge) + w.spec.Replicas - min(w.spec.Replicas, w.established)
	if moved && serving && held > limit {
		w.fail("S10a", "%d groups are given to the unproven revision %s, the limit is %d", held, w.spec.Update, limit)
	}
}

func (w *world) deletePod(d Deletion) {
	w.writes++
	p := w.pods[d.Pod.Name]
	if p == nil || p.UID != d.Pod.UID {
		w.fail("S2", "deletes pod %s, UID %s, which does not exist", d.Pod.Name, d.Pod.UID)
	}
	if p.Terminating {
		w.fail("S15", "deletes pod %s again", d.Pod.Name)
	}
	w.tell("delete %s (%s)", p.Name, d.Why)
	p.Terminating = true
	w.touch(p)
}

func (w *world) createPod(c *Creation, worker int32) {
	w.writes++
	name := fmt.Sprintf("s-%d-%d", c.Index, worker)
	w.tell("create %s at %s#%d", name, c.Revision, c.Incarnation)
	if w.pods[name] != nil {
		w.fail("S18", "creates pod %s, which exists", name)
	}
	alive := map[int32]bool{c.Index: true}
	fresh := true
	for _, p := range w.pods {
		alive[indexOf(p.Name)] = true
		if indexOf(p.Name) != c.Index {
			continue
		}
		fresh = false
		if p.Incarnation != c.Incarnation {
			w.fail("S3", "pod %s of incarnation %d beside %s of %d", name, c.Incarnation, p.Name, p.Incarnation)
		}
		if p.Revision != c.Revision {
			w.fail("S4", "pod %s of revision %s beside %s of %s", name, c.Revision, p.Name, p.Revision)
		}
	}
	if fresh && int32(len(alive)) > w.spec.Replicas+w.spec.Budget.Surge {
		w.fail("S8", "%d groups alive, %d wanted with a surge of %d", len(alive), w.spec.Replicas, w.spec.Budget.Surge)
	}
	leader := w.pods[fmt.Sprintf("s-%d-0", c.Index)]
	if worker > 0 && (leader == nil || leader.Terminating || w.spec.LeaderFirst && !leader.Ready && leader.GroupReady == nil) {
		w.fail("S5", "worker %s before its leader", name)
	}
	if last := w.revisionOf[c.Index]; fresh && last != "" && c.Index < w.spec.Partition && c.Revision != last && c.Revision != w.current && c.Verify {
		w.fail("S9", "group %d below the partition comes back at %s, was %s", c.Index, c.Revision, last)
	}
	w.revisionOf[c.Index] = c.Revision
	p := &group.Pod{Name: name, Worker: worker, UID: types.UID(strconv.Itoa(w.version)), Controller: "set", Revision: c.Revision,
		Incarnation: c.Incarnation, Size: w.spec.Templates[c.Revision].Size, ReadyChanged: w.now}
	w.touch(p)
	w.pods[name] = p
}

// names are the pods in an order that does not depend on the map.
func (w *world) names() []string {
	var out []string
	for name := range w.pods {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// kubelet lets one thing happen to one pod.
func (w *world) kubelet(p *group.Pod, faults bool) {
	switch {
	case p.Terminating:
		delete(w.pods, p.Name)
		w.tell("gone %s", p.Name)
		return
	case !p.Ready && !w.bad[p.Revision]:
		p.Ready = true
	case faults && w.rnd.IntN(4) == 0:
		p.Ready = false
		w.tell("not ready %s", p.Name)
	default:
		return
	}
	p.ReadyChanged = w.now
	w.touch(p)
}

func (w *world) monkey(p *group.Pod) {
	if p.Terminating {
		return
	}
	w.failures++
	w.touch(p)
	if w.rnd.IntN(2) == 0 {
		p.Terminating = true
		w.tell("monkey deletes %s", p.Name)
	} else {
		p.Restarts++
		p.Died = &group.Death{Container: "c"}
		w.tell("container of %s restarts", p.Name)
	}
}

func (w *world) user() {
	switch w.rnd.IntN(5) {
	case 0:
		w.scale()
	case 1:
		key := fmt.Sprintf("r%d", len(w.spec.Templates))
		w.template(key)
		w.bad[key] = w.rnd.IntN(3) == 0
	case 2:
		w.spec.Partition = w.rnd.Int32N(3)
	case 3:
		w.setBudget()
	case 4: // back to an older one
		w.spec.Update = fmt.Sprintf("r%d", w.rnd.IntN(len(w.spec.Templates)))
	}
	w.tell("spec: replicas %d, partition %d, budget %+v, update %s, bad %v", w.spec.Replicas, w.spec.Partition, w.spec.Budget, w.spec.Update, w.bad[w.spec.Update])
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(4000)) * time.Millisecond)
	names := w.names()
	switch n := w.rnd.IntN(20); {
	case n == 0:
		w.user()
	case n == 1 && len(names) > 0:
		w.monkey(w.pods[names[w.rnd.IntN(len(names))]])
	case n < 10 && len(names) > 0:
		w.kubelet(w.pods[names[w.rnd.IntN(len(names))]], true)
	case n < 12:
		w.sync(w.rnd.IntN(6)) // and then it crashes
	default:
		w.sync(1000)
	}
}

// settle ends all faults and lets the set come to rest.
func (w *world) settle() {
	w.tell("faults stop")
	w.bad = map[string]bool{}
	for range 80 {
		w.now = w.now.Add(time.Minute)
		for _, name := range w.names() {
			w.kubelet(w.pods[name], false)
		}
		w.sync(1000)
	}
	before := w.writes
	w.sync(1000)
	if w.writes != before {
		w.fail("S16", "a set at rest was written to")
	}
	views := w.views()
	if int32(len(views)) != w.spec.Replicas || len(w.recycling) > 0 {
		w.fail("L1", "at rest there are %d groups of %d, teardowns %v", len(views), w.spec.Replicas, w.recycling)
	}
	for _, v := range views {
		if !v.AllReady || v.Index >= w.spec.Partition && v.Revision != w.spec.Update {
			w.fail("L1", "at rest group %d is Ready %t at %s, want %s", v.Index, v.AllReady, v.Revision, w.spec.Update)
		}
	}
	if w.policy == v1.RecreateGroupOnPodRestart && w.recreations > w.failures {
		w.fail("S11", "%d failures led to %d recreations", w.failures, w.recreations)
	}
}

// TestWorld runs the planner against random worlds: people change the spec, pods
// come up, fail and vanish, and the controller crashes after any of its writes.
func TestWorld(t *testing.T) {
	first, last := uint64(1), uint64(*runs)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	steps, writes := 0, 0
	for n := first; n <= last; n++ {
		w := newWorld(t, n)
		for range 100 {
			w.step()
			steps++
		}
		w.settle()
		writes += w.writes
	}
	t.Logf("%d runs, %d steps, %d writes", last-first+1, steps, writes)
}

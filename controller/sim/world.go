package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/invariant"
	"lws-controller/informers"
	"lws-controller/metrics"
	"lws-controller/revision"
)

// epoch is when every world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is one cluster with all that happens in it.
type World struct {
	clock   *testingclock.FakeClock
	server  *Server
	checker *invariant.Checker
	rng     *rand.Rand
	aside   *rand.Rand // what is drawn from it shifts nothing else
	// noGangs is why the API of PodGroups cannot be used, empty if it can.
	noGangs   string
	options   options
	processes []*Process
	// nodes by name, nodesMade how many there ever were, nodesGone since when those
	// that were deleted are not there.
	nodes     map[string]*node
	nodesMade int
	nodesGone map[string]time.Time
	// keys are the sets of the run, at the one that the user has to do with now.
	keys []types.NamespacedName
	at   types.NamespacedName
	// draining is the node that is being drained, empty if none is.
	draining string
	// orphans are what the collector has yet to let go of, by the UID of the set.
	orphans map[types.UID][]func()

	// fault decides what goes wrong with a request, meanwhile what others do
	// while it is under way.
	fault     func(*call) Fault
	meanwhile func(*Process)

	// story is what happened, if it is recorded.
	story []string
	// told: the story is recorded.
	told bool

	// ill is what never heals by itself.
	ill []ailment

	// lag is what keeps caches from taking things in; nil: nothing.
	lag *lag

	// watcher is told what happens; script, if there is one, decides it.
	watcher Watcher
	// metrics are told what the controllers do, if anybody is to be.
	metrics *metrics.Recorder
	script  *Script

	// compares: plans are compared with what a controller with empty memory would
	// plan. compared is when that was done last for each set, and at which version.
	compares bool
	compared map[types.NamespacedName]moment

	// hasty: controllers act on what their caches show before these catch up.
	hasty bool

	syncs, writes, faults int
	started               int
	// tally is how often each object was created and deleted by the controller.
	tally map[string]int
	// covered is how often each thing happened.
	covered map[string]int
	// reached are the moves and the faults at writes that there were.
	reached reach
	broken  []invariant.Violation
}

// newWorld is an empty world without faults.
func newWorld(seed uint64, told bool) *World {
	w := &World{
		clock:     testingclock.NewFakeClock(epoch),
		checker:   invariant.New(),
		rng:       rand.New(rand.NewPCG(seed, 0)),
		aside:     rand.New(rand.NewPCG(seed, 1)),
		nodes:     map[string]*node{},
		nodesGone: map[string]time.Time{},
		keys:      []types.NamespacedName{theKey},
		at:        theKey,
		orphans:   map[types.UID][]func(){},
		told:      told,
		compared:  map[types.NamespacedName]moment{},
		tally:     map[string]int{},
		covered:   map[string]int{},
		reached:   newReach(),
		fault:     func(*call) Fault { return noFault },
		meanwhile: func(*Process) {},
		watcher:   nobody{},
	}
	w.server = NewServer(w.clock, w.observe)
	w.addNode("rack-1", plenty)
	return w
}

// observe is told of every accepted request.
func (w *World) observe(c *invariant.Change, version int64) {
	if c.By == invariant.Controller {
		w.writes++
		w.count(c)
	}
	if w.told {
		w.note("%s", describeChange(c, version))
	}
	w.watcher.Wrote(c)
	for _, v := range w.checker.Observe(c, version) {
		w.breach(v)
	}
}

func (w *World) breach(v invariant.Violation) {
	w.note("VIOLATION %s", v)
	w.broken = append(w.broken, v)
	w.watcher.Broken(v)
}

// note adds a line to the story.
func (w *World) note(format string, args ...any) {
	if w.told {
		w.story = append(w.story, fmt.Sprintf("%9.3fs ", w.clock.Since(epoch).Seconds())+fmt.Sprintf(format, args...))
	}
}

func (w *World) shuffle(n int, swap func(i, j int)) { w.rng.Shuffle(n, swap) }

// startProcess starts a controller process.
func (w *World) startProcess(behind func() int) *Process {
	w.started++
	p := w.newProcess(fmt.Sprintf("controller-%d", w.started), behind)
	w.note("%s has started", p.name)
	w.watcher.Process(p.name, "has started")
	w.processes = append(w.processes, p)
	return p
}

func upToDate() int { return 0 }

// replaceDead buries the processes that have crashed and starts others.
func (w *World) replaceDead(behind func() int) bool {
	for i, p := range w.processes {
		if p.dead && !p.busy {
			p.stop()
			w.processes = append(w.processes[:i:i], w.processes[i+1:]...)
			if p.lost.IsZero() {
				w.startProcess(behind)
			}
			return true
		}
	}
	return false
}

// leaveOne stops all processes but the last that was started.
func (w *World) leaveOne() {
	for _, p := range w.processes[:len(w.processes)-1] {
		p.stop()
	}
	w.processes = w.processes[len(w.processes)-1:]
}

// end stops all processes.
func (w *World) end() {
	for _, p := range w.processes {
		p.stop()
	}
}

const (
	// settleTime is how long after the last fault everything must have come to
	// rest: backoffs of 5 minutes and restart counts that are kept for 10.
	settleTime = time.Hour
	// settleSyncs is how many syncs may be needed for that.
	settleSyncs = 600
	// quietTime is how long nothing was written when sets whose names meet are at
	// rest: one that waits for a name asks for it again and again.
	quietTime = 15 * time.Minute
)

// settle lets everything happen that is to happen, without faults, until nothing
// is left and no process asks to be woken. It reports whether that came about.
func (w *World) settle() bool {
	return w.rest(func(*call) Fault { return noFault }, upToDate)
}

// pass lets everything happen that is to happen within a time.
func (w *World) pass(d time.Duration) {
	until := w.clock.Now().Add(d)
	for w.clock.Now().Before(until) && len(w.broken) == 0 {
		if w.calm(upToDate) {
			continue
		}
		next := w.wakeUp()
		if next.IsZero() || next.After(until) {
			next = until
		}
		w.clock.SetTime(later(next, w.clock.Now().Add(time.Millisecond)))
	}
}

// wakeUp is when the first process or node asks to be woken, zero if none does.
func (w *World) wakeUp() time.Time {
	next := w.alarm()
	for _, p := range w.processes {
		if t := p.next(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// rest is settle with faults, of which there must come an end. Processes that are
// started in place of others begin so many writes behind.
func (w *World) rest(fault func(*call) Fault, behind func() int) bool {
	w.fault, w.meanwhile = fault, func(*Process) {}
	until, syncs := w.clock.Now().Add(settleTime), w.syncs
	version, since := w.server.version, w.clock.Now()
	for {
		if w.server.version != version {
			version, since = w.server.version, w.clock.Now()
		}
		if len(w.broken) > 0 {
			return false
		}
		if w.lag.underWay() {
			syncs = w.syncs // a sync that only waits for a cache comes every few milliseconds
		}
		if w.syncs-syncs <= settleSyncs && w.calm(behind) {
			continue
		}
		next := w.wakeUp()
		switch {
		case next.IsZero() && w.lag.ends():
			continue
		case next.IsZero():
			return true
		case w.clock.Since(since) >= quietTime && w.namesMeet():
			return true
		case next.After(until):
			w.breach(invariant.Violation{Invariant: "L1", Message: fmt.Sprintf("not at rest %s after the last fault", settleTime)})
			return false
		case w.syncs-syncs > settleSyncs:
			w.breach(invariant.Violation{Invariant: "S16", Message: fmt.Sprintf("%d syncs after the last fault, and still not at rest", settleSyncs)})
			return false
		}
		w.clock.SetTime(later(next, w.clock.Now().Add(time.Millisecond)))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// calm does the next thing that needs no time to pass, if there is one.
func (w *World) calm(behind func() int) bool {
	if w.script != nil {
		return w.script.calm()
	}
	if w.replaceDead(behind) {
		return true
	}
	for _, p := range w.processes {
		w.lag.endsInTime()
		if !w.hasty && p.deliverAll() {
			return true
		}
		if due := p.due(); len(due) > 0 {
			p.sync(due[0])
			// Without this a loop of syncs would stop the time.
			w.clock.Step(time.Millisecond)
			return true
		}
		if w.hasty && p.deliverAll() {
			return true
		}
	}
	return w.nodesAct() || w.collectorActs() || w.namespaceActs() || w.budgetsAct()
}

// atRest checks what must hold at rest, and that rest costs nothing: neither a
// minute, nor another look at everything, nor a restart writes anything.
func (w *World) atRest() {
	for _, v := range w.checker.AtRest(isBad) {
		w.breach(v)
	}
	writes := w.writes
	for _, p := range w.processes {
		for key := range p.sets.items {
			p.Touch(key)
		}
	}
	w.clock.Step(time.Minute)
	w.settle()
	if w.writes != writes {
		w.breach(invariant.Violation{Invariant: "S16", Message: fmt.Sprintf("%d writes for another look at a set at rest", w.writes-writes)})
		writes = w.writes
	}
	for _, p := range w.processes {
		p.dead = true
	}
	w.settle()
	if w.writes != writes {
		w.breach(invariant.Violation{Invariant: "S16", Message: fmt.Sprintf("%d writes after a restart at rest", w.writes-writes)})
	}
}

// isBad says that pods of this revision can never become Ready.
func isBad(c *revision.Content) bool {
	return c.Template.WorkerTemplate.Spec.Containers[0].Image == badImage
}

func (p *Process) deliverAll() bool {
	if p.dead {
		return false
	}
	some := false
	for _, f := range p.feeds() {
		if p.world.lag.holds(f) {
			continue
		}
		for f.deliver() {
			some = true
		}
		if now := p.world.clock.Now(); f.bookmarkDue(now) {
			f.bookmark(now, p.world.server.version)
		}
	}
	return some
}

// follower is a feed of any kind.
type follower interface {
	kind() informers.Kind
	lag() int
	deliver() bool
	relist(n int)
	bookmarkDue(now time.Time) bool
	bookmark(now time.Time, server int64)
}

func (p *Process) feeds() []follower {
	feeds := []follower{p.sets, p.pods, p.services, p.revisions, p.nodes}
	if len(p.budgets.table.log) > 0 { // most worlds have none
		feeds = append(feeds, p.budgets)
	}
	if len(p.podGroups.table.log)+len(p.workloads.table.log) > 0 {
		feeds = append(feeds, p.podGroups, p.workloads)
	}
	if len(p.volcano.table.log) > 0 {
		feeds = append(feeds, p.volcano)
	}
	return feeds
}

func incarnationOf(p *corev1.Pod) string { return p.Annotations[v1.AnnotationIncarnation] }

func revisionOf(p *corev1.Pod) string { return p.Labels[v1.LabelRevision] }

func restartCounts(s *v1.LeaderWorkerSet) []string {
	var out []string
	for _, r := range s.Status.GroupRestarts {
		out = append(out, fmt.Sprintf("%d:%d", r.Index, r.Count))
	}
	return out
}

func nameOf(c *invariant.Change) string {
	o := c.After
	if o == nil {
		o = c.Before
	}
	return KindOf(o) + " " + o.GetName()
}

// count tallies what the controller creates and deletes. Of the PodGroups of a group only
// what is left: a process that knows an old one makes the next rather than the same
// again, and drops the other.
func (w *World) count(c *invariant.Change) {
	name, verb := nameOf(c), string(c.Verb)
	switch podGroup, is := strings.CutPrefix(name, "podgroup "); {
	case c.Verb == invariant.Update:
	case !is:
		w.tally[verb+" "+name]++
	case c.Verb == invariant.Create:
		w.tally["podgroups of "+podGroup[:strings.LastIndex(podGroup, "-")]]++
	default:
		w.tally["podgroups of "+podGroup[:strings.LastIndex(podGroup, "-")]]--
	}
}

// KindOf is the kind of an object in a word.
func KindOf(o invariant.Object) string {
	switch o.(type) {
	case *v1.LeaderWorkerSet:
		return "set"
	case *corev1.Pod:
		return "pod"
	case *corev1.Service:
		return "service"
	case *schedulingv1beta1.PodGroup:
		return "podgroup"
	case *schedulingv1beta1.Workload:
		return "workload"
	case *unstructured.Unstructured:
		return "podgroup of Volcano"
	case *appsv1.ControllerRevision:
		return "revision"
	case *corev1.Node:
		return "node"
	case *corev1.PersistentVolumeClaim:
		return "claim"
	case *policyv1.PodDisruptionBudget:
		return "budget"
	}
	return fmt.Sprintf("%T", o)
}

// describeChange is a line of the story.
func describeChange(c *invariant.Change, version int64) string {
	what := ""
	switch o := c.After.(type) {
	case nil:
		what = "gone"
	case *corev1.Pod:
		what = fmt.Sprintf("incarnation %s revision %s %s ready %t", incarnationOf(o), revisionOf(o), o.Status.Phase, ready(o))
		if o.DeletionTimestamp != nil {
			what += " terminating"
		}
		if len(o.Status.ContainerStatuses) > 0 && o.Status.ContainerStatuses[0].RestartCount > 0 {
			what += " restarted"
		}
	case *v1.LeaderWorkerSet:
		s := &o.Status
		what = fmt.Sprintf("%s; status: generation %d, groups %d ready %d updated %d established %d, update %s current %s", describeSpec(o),
			s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.EstablishedReplicas, s.UpdateRevision, s.CurrentRevision)
		for _, e := range s.Recycling {
			what += fmt.Sprintf(" recycling{%d.%d %s %s}", e.Index, e.Incarnation, e.Cause, e.Revision)
		}
		for _, r := range s.GroupRestarts {
			what += fmt.Sprintf(" restarts{%d %s %d}", r.Index, r.Revision, r.Count)
		}
		for _, cond := range s.Conditions {
			if cond.Status == "True" {
				what += " " + cond.Type
				if cond.Type == v1.ConditionDegraded {
					what += fmt.Sprintf(" (%s: %s)", cond.Reason, cond.Message)
				}
			}
		}
	case *appsv1.ControllerRevision:
		what = fmt.Sprintf("number %d", o.Revision)
	case *unstructured.Unstructured:
		what = fmt.Sprintf("incarnation %s, %v", o.GetAnnotations()[v1.AnnotationIncarnation], o.Object["spec"])
	case *corev1.Node:
		what = fmt.Sprintf("%+v", group.ObserveNode(o))
	case *policyv1.PodDisruptionBudget:
		what = describeBudget(o)
	}
	if c.Before == c.After {
		what = "unchanged"
	}
	return fmt.Sprintf("%-10s %s %s %s @%d: %s", c.By, c.Verb, nameOf(c), c.Subresource, version, what)
}

func describeSpec(s *v1.LeaderWorkerSet) string {
	t, r := &s.Spec.LeaderWorkerTemplate, s.Spec.RolloutStrategy.RollingUpdateConfiguration
	parts := []string{
		fmt.Sprintf("uid %s generation %d: %d groups of %d", s.UID, s.Generation, *s.Spec.Replicas, *t.Size),
		string(s.Spec.StartupPolicy), string(t.RestartPolicy), string(*s.Spec.NetworkConfig.SubdomainPolicy),
		"image " + t.WorkerTemplate.Spec.Containers[0].Image,
		fmt.Sprintf("unavailable %s surge %s partition %d", r.MaxUnavailable.String(), r.MaxSurge.String(), *r.Partition),
	}
	if s.DeletionTimestamp != nil {
		parts = append(parts, fmt.Sprint("terminating ", s.Finalizers))
	}
	return strings.Join(parts, ", ")
}

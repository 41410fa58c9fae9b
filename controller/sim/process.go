package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/invariant"
	"lws-controller/informers"
	"lws-controller/revision"
)

// Process is one controller process. It is also what its controller sees of the
// world: cache, recorder and log.
type Process struct {
	world *World
	name  string
	ctrl  *controller.Controller
	ctx   context.Context

	sets      *feed[*v1.LeaderWorkerSet]
	pods      *feed[*corev1.Pod]
	services  *feed[*corev1.Service]
	revisions *feed[*appsv1.ControllerRevision]
	nodes     *feed[*corev1.Node]
	budgets   *feed[*policyv1.PodDisruptionBudget]
	workloads *feed[*schedulingv1beta1.Workload]
	podGroups *feed[*schedulingv1beta1.PodGroup]
	volcano   *feed[*unstructured.Unstructured]

	// queue says when each set is to be synced.
	queue map[types.NamespacedName]*turn
	// dead: it has crashed, and makes no request any more. busy: within a sync.
	// ghost: it is asked what it would do, and leaves no trace.
	dead, busy, ghost bool
	// lost is when it has lost its lease, zero while it has it; left how many writes
	// it then makes at most.
	lost time.Time
	left int
	// plan is the first plan of the last sync.
	plan planned
	seen *invariant.Seen
	// known is the newest state of each set that an answer showed.
	known map[types.NamespacedName]*v1.LeaderWorkerSet
}

// turn is when a set is due: at once, or at a time.
type turn struct {
	now      bool
	at       time.Time
	failures int
}

// newProcess starts a controller with empty memory, whose caches begin some
// writes ago.
func (w *World) newProcess(name string, behind func() int) *Process {
	p := w.blankProcess(name)
	isSet := func(key types.NamespacedName) bool { _, exists := p.sets.items[key]; return exists }
	p.sets = newFeed(w.server.sets, false, behind(), informers.SetHandler(p))
	p.pods = newFeed(w.server.pods, true, behind(), informers.PodHandler(p, isSet))
	p.services = newFeed(w.server.services, true, behind(), informers.OwnedHandler[*corev1.Service](p))
	p.revisions = newFeed(w.server.revisions, true, behind(), informers.OwnedHandler[*appsv1.ControllerRevision](p))
	p.nodes = newFeed(w.server.nodes, false, behind(), informers.NodeHandler(p))
	past := 0
	if len(w.server.budgets.log) > 0 {
		past = behind()
	}
	p.budgets = newFeed(w.server.budgets, false, past, informers.BudgetHandler(p, func(string) []*v1.LeaderWorkerSet {
		return slices.Collect(maps.Values(p.sets.items))
	}))
	past = 0
	if len(w.server.podGroups.log) > 0 {
		past = behind()
	}
	p.workloads = newFeed(w.server.workloads, true, past, informers.OwnedHandler[*schedulingv1beta1.Workload](p))
	p.podGroups = newFeed(w.server.podGroups, true, past, informers.OwnedHandler[*schedulingv1beta1.PodGroup](p))
	past = 0
	if len(w.server.volcano.log) > 0 {
		past = behind()
	}
	p.volcano = newFeed(w.server.volcano, true, past, informers.VolcanoHandler(p))
	p.sets.announce()
	p.pods.announce()
	p.services.announce()
	p.revisions.announce()
	p.nodes.announce()
	p.budgets.announce()
	p.workloads.announce()
	p.podGroups.announce()
	p.volcano.announce()
	return p
}

// blankProcess is a controller with empty memory that has no caches yet.
func (w *World) blankProcess(name string) *Process {
	p := &Process{world: w, name: name, queue: map[types.NamespacedName]*turn{},
		known: map[types.NamespacedName]*v1.LeaderWorkerSet{}}
	p.ctrl = controller.New(controller.Options{
		API: api{p}, Revisions: revision.Store{Client: api{p}}, Cache: processCache{p}, Recorder: p, InFlight: 1, Clock: w.clock, Planned: p.planned, Metrics: w.metrics, Volcano: true,
	})
	p.ctx = klog.NewContext(context.Background(), klog.New(logSink{p}))
	return p
}

// stop ends the goroutines of the queue that the controller has and that the
// simulator does without.
func (p *Process) stop() {
	p.dead = true
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.ctrl.Run(ctx)
}

func (p *Process) turn(key types.NamespacedName) *turn {
	if p.queue[key] == nil {
		p.queue[key] = &turn{}
	}
	return p.queue[key]
}

// due are the sets to be synced now.
func (p *Process) due() []types.NamespacedName {
	var out []types.NamespacedName
	for key, t := range p.queue {
		if t.now || !t.at.IsZero() && !p.world.clock.Now().Before(t.at) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// next is when the first set is due by time alone, zero if never.
func (p *Process) next() time.Time {
	var next time.Time
	for _, t := range p.queue {
		if !t.at.IsZero() && (next.IsZero() || t.at.Before(next)) {
			next = t.at
		}
	}
	return next
}

const (
	firstRetry = 5 * time.Millisecond
	maxRetry   = 30 * time.Second
)

// sync runs one sync as the controller's queue would, except that a wake-up which
// an earlier sync asked for does not outlive the next: what a sync does not ask
// for must not be needed.
func (p *Process) sync(key types.NamespacedName) {
	t := p.turn(key)
	t.now, t.at = false, time.Time{}
	p.seen = &invariant.Seen{Pods: p.pods.version, Set: p.sets.items[key], Nodes: map[string]*corev1.Node{}}
	if known := p.known[key]; known != nil && p.seen.Set != nil {
		p.learn(known)
	}
	p.plan = planned{}
	var fresh planned
	if p.world.compares && p.upToDate() && p.world.somethingNew(key) {
		fresh = p.amnesiac(key)
	}
	p.busy = true
	p.world.syncs++
	wait, err := p.ctrl.Sync(p.ctx, key)
	p.busy = false
	p.world.remembersNothing(p, fresh)
	if p.dead {
		p.world.note("%s has crashed", p.name)
		p.world.watcher.Process(p.name, "has crashed")
		return
	}
	p.world.note("%s synced %s: again %t, after %s, error %v", p.name, key.Name, wait.Again, wait.After, err)
	now := p.world.clock.Now()
	switch {
	case err != nil:
		t.at = now.Add(min(firstRetry<<min(t.failures, 20), maxRetry))
		t.failures++
		return
	case wait.Again:
		t.now = true
	case wait.After > 0:
		t.at = now.Add(wait.After)
	}
	t.failures = 0
}

// learn notes what an answer shows of the set, if that is newer than what the
// cache does. That it is being deleted or was replaced is only waited for.
func (p *Process) learn(s *v1.LeaderWorkerSet) {
	if s == nil || p.seen == nil || p.seen.Set == nil || s.UID != p.seen.Set.UID || s.DeletionTimestamp != nil || !group.Reached(s.ResourceVersion, p.seen.Set.ResourceVersion) {
		return
	}
	p.known[keyOf(s)] = s
	p.seen = &invariant.Seen{Pods: p.seen.Pods, Set: s, Nodes: p.seen.Nodes}
}

// Pod, Touch and Freed make the process the Sink of its informers.
func (p *Process) Pod(set types.NamespacedName, index int32, e group.Event) {
	p.turn(set).now = true
	p.ctrl.Pod(set, index, e)
}

// Touch has the set synced.
func (p *Process) Touch(set types.NamespacedName) { p.turn(set).now = true }

// Freed has the set synced.
func (p *Process) Freed(set types.NamespacedName, index int32) {
	p.turn(set).now = true
	p.ctrl.Freed(set, index)
}

// Node has the controller sync those sets that wait for pods on it.
func (p *Process) Node(name string) {
	for _, set := range p.ctrl.AwaitNode(name) {
		p.turn(set).now = true
	}
}

// processCache is the Cache of the controller of a process.
type processCache struct{ *Process }

func (c processCache) Set(key types.NamespacedName) (*v1.LeaderWorkerSet, bool) {
	s, exists := c.sets.items[key]
	return s, exists
}

func (c processCache) Pod(key types.NamespacedName) (*corev1.Pod, bool) {
	pod, exists := c.pods.items[key]
	return pod, exists
}

func (c processCache) Events(set types.NamespacedName, each func(index int32, e group.Event)) {
	for _, pod := range c.pods.ofSet(set) {
		if _, index, worker, ok := informers.Place(pod); ok {
			each(index, group.Observed(group.ObservePod(pod, worker)))
		}
	}
}

func (c processCache) Services(set types.NamespacedName) []*corev1.Service {
	return c.services.ofSet(set)
}

func (c processCache) Revisions(set types.NamespacedName) []*appsv1.ControllerRevision {
	return c.revisions.ofSet(set)
}

func (c processCache) Node(name string) (*corev1.Node, bool) {
	return c.nodes.items[types.NamespacedName{Name: name}], true
}

func (c processCache) Budget(key types.NamespacedName) (*policyv1.PodDisruptionBudget, bool) {
	b, exists := c.budgets.items[key]
	return b, exists
}

func (c processCache) Budgets(namespace string) []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for _, key := range c.budgets.keys() {
		if key.Namespace == namespace {
			out = append(out, c.budgets.items[key])
		}
	}
	return out
}

func (c processCache) Workloads(set types.NamespacedName) []*schedulingv1beta1.Workload {
	return c.workloads.ofSet(set)
}

func (c processCache) PodGroups(set types.NamespacedName) []*schedulingv1beta1.PodGroup {
	return c.podGroups.ofSet(set)
}

func (c processCache) NoGangs() string { return c.world.noGangs }

func (c processCache) VolcanoGroups(set types.NamespacedName) []*unstructured.Unstructured {
	return c.volcano.ofSet(set)
}

func (c processCache) NoVolcano() string { return c.world.noGangs }

func (c processCache) Passed(kind informers.Kind, version string) bool {
	switch kind {
	case informers.Sets:
		return c.sets.passed(version)
	case informers.Pods:
		return c.pods.passed(version)
	case informers.Services:
		return c.services.passed(version)
	case informers.Budgets:
		return c.budgets.passed(version)
	case informers.Workloads:
		return c.workloads.passed(version)
	case informers.PodGroups:
		return c.podGroups.passed(version)
	case informers.VolcanoGroups:
		return c.volcano.passed(version)
	default:
		return c.revisions.passed(version)
	}
}

var _ controller.Cache = processCache{}

// Eventf makes the process the recorder of its controller.
func (p *Process) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	if p.ghost {
		return
	}
	p.world.note("event %s %s: %s", eventType, reason, fmt.Sprintf(note, args...))
	p.world.watcher.Event(eventType, reason, fmt.Sprintf(note, args...))
}

// logSink watches the log for moves of groups, those that no table declares
// above all, and puts everything into the story.
type logSink struct{ p *Process }

func (l logSink) Init(klog.RuntimeInfo)          {}
func (l logSink) WithValues(...any) klog.LogSink { return l }
func (l logSink) WithName(string) klog.LogSink   { return l }
func (l logSink) Enabled(level int) bool         { return level <= 2 || l.p.world.told && level <= 4 }
func (l logSink) Info(_ int, message string, kv ...any) {
	l.p.world.moved(message, kv)
	if l.p.world.told {
		l.p.world.note("%s", line(message, kv))
	}
	l.p.world.watcher.Log(message, kv)
}
func (l logSink) Error(err error, message string, kv ...any) {
	var undeclared *group.UndeclaredTransitionError
	if errors.As(err, &undeclared) {
		l.p.world.breach(l.p.world.checker.S6(err))
	}
	l.p.world.note("%s: %v", line(message, kv), err)
}

func line(message string, kv []any) string {
	var b strings.Builder
	b.WriteString(message)
	for i := 0; i+1 < len(kv); i += 2 {
		fmt.Fprintf(&b, " %v=%v", kv[i], kv[i+1])
	}
	return b.String()
}

package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/invariant"
	"lws-controller/metrics"
)

// Watcher is told of what happens in a world, in order.
type Watcher interface {
	// Wrote: the API server has accepted a write, of whomever.
	Wrote(c *invariant.Change)
	// Refused: a write of the controller has failed, by fault or by rule.
	Refused(what string, err error)
	// Event: the controller has recorded an event.
	Event(kind, reason, note string)
	// Log: the controller has written a line of its log.
	Log(message string, keysAndValues []any)
	// Process: a controller process has started or crashed.
	Process(name, what string)
	// Broken: an invariant does not hold.
	Broken(v invariant.Violation)
}

// nobody watches.
type nobody struct{}

func (nobody) Wrote(*invariant.Change)    {}
func (nobody) Refused(string, error)      {}
func (nobody) Event(_, _, _ string)       {}
func (nobody) Log(string, []any)          {}
func (nobody) Process(_, _ string)        {}
func (nobody) Broken(invariant.Violation) {}

// Script is a world without chance, in which things happen as they are told to:
// nodes act on pods in the order of their names, and caches and pods can be held
// back.
type Script struct {
	world *World
	// held are the pods on which no node acts, lagging the caches that take
	// nothing in by themselves.
	held    map[string]bool
	lagging map[string]bool
	// behind is how many writes ago the caches of the next process begin.
	behind int
	// plan are the faults to come.
	plan []*PlannedFault
	// patient: nothing happens by itself.
	patient bool
}

// PlannedFault comes upon requests of the controller that write.
type PlannedFault struct {
	Fault Fault
	// What are the requests, such as "delete pod"; empty: all.
	What string
	// Skip is how many of them go well before, Times how many do not.
	Skip, Times int
}

// Faults are the faults by the names they have in scripts.
var Faults = map[string]Fault{
	"crash-before": crashBefore, "crash-after": crashAfter, "unanswered": unanswered, "conflict": conflict,
	"too-many-requests": tooManyRequests, "internal-error": internalError, "timeout": timedOut, "unreachable": unreachable,
}

// Caches are the names of the caches of a process.
var Caches = []string{"sets", "pods", "services", "revisions", "nodes", "budgets", "podgroups", "workloads"}

// NewScript returns an empty cluster with one controller process.
func NewScript(watcher Watcher) *Script { return NewMeasuredScript(watcher, nil) }

// NewMeasuredScript has the controller tell of what it does, too.
func NewMeasuredScript(watcher Watcher, r *metrics.Recorder) *Script {
	w := newWorld(1, false)
	w.metrics = r
	s := &Script{world: w, held: map[string]bool{}, lagging: map[string]bool{}}
	w.watcher, w.script = watcher, s
	w.startProcess(upToDate)
	return s
}

// End stops the process.
func (s *Script) End() { s.world.end() }

// Time is how long the world has been there.
func (s *Script) Time() time.Duration { return s.world.clock.Since(epoch) }

// Patient has nothing happen by itself any more, or again.
func (s *Script) Patient(is bool) { s.patient = is }

// Pass lets a time pass and everything happen meanwhile.
func (s *Script) Pass(d time.Duration) {
	s.world.fault = s.fault
	if s.patient {
		s.world.clock.Step(d)
		return
	}
	s.world.pass(d)
}

// Settle lets everything happen until nothing is left to happen.
func (s *Script) Settle() bool { return s.world.rest(s.fault, upToDate) }

// AtRest checks what must hold at rest, and that rest costs nothing.
func (s *Script) AtRest() {
	if s.Settle() {
		s.world.atRest()
	}
}

// calm does the next thing that needs no time to pass, if there is one.
func (s *Script) calm() bool {
	w := s.world
	if s.replaceDead() || !w.hasty && s.deliverOne() || s.Sync() {
		return true
	}
	if w.hasty {
		w.hasty = s.deliverOne()
		return true
	}
	return w.collectorActs() || w.namespaceActs() || w.budgetsAct() || s.Nodes()
}

// replaceDead starts a process in place of one that has crashed. If its caches
// begin in the past it acts on them before they catch up.
func (s *Script) replaceDead() bool {
	if !s.world.replaceDead(func() int { return s.behind }) {
		return false
	}
	s.world.hasty, s.behind = s.behind > 0, 0
	return true
}

// deliverOne has a cache that does not lag take in one write, if there is one.
func (s *Script) deliverOne() bool {
	for i, f := range s.world.processes[0].feeds() {
		if !s.lagging[Caches[i]] && f.deliver() {
			return true
		}
	}
	return false
}

// Sync has the controller sync the sets that are due, and reports whether any was.
func (s *Script) Sync() bool {
	s.world.fault = s.fault
	s.replaceDead()
	p := s.world.processes[0]
	due := p.due()
	for _, key := range due {
		p.sync(key)
		// Without this a loop of syncs would stop the time.
		s.world.clock.Step(time.Millisecond)
	}
	return len(due) > 0
}

// Touch has the controller look at all sets.
func (s *Script) Touch() {
	for _, set := range s.world.server.sets.list() {
		s.world.processes[0].Touch(keyOf(set))
	}
}

// Nodes has scheduler and kubelets take one step with each of the pods, or with
// all that are not held back. It reports whether there was one to take.
func (s *Script) Nodes(only ...string) bool {
	some := len(only) == 0 && s.world.nodeControllerActs()
	for _, p := range s.world.server.pods.list() {
		if len(only) > 0 && !slices.Contains(only, p.Name) || len(only) == 0 && s.held[p.Name] {
			continue
		}
		if act := s.world.step(p); act != nil {
			act()
			some = true
		}
	}
	return some
}

// Collect has the garbage collector do all it has to do.
func (s *Script) Collect() {
	for s.world.collectorActs() {
	}
}

// Hold keeps nodes from acting on these pods, or lets them again.
func (s *Script) Hold(is bool, pods ...string) {
	for _, name := range pods {
		s.held[name] = is
	}
}

// Lag keeps a cache from taking anything in by itself, or lets it again.
func (s *Script) Lag(cache string, is bool) { s.lagging[cache] = is }

// Deliver has a cache take in the next n writes, all of them if n is negative, one
// by one or as one list. It returns how many are left.
func (s *Script) Deliver(cache string, n int, listed bool) int {
	feeds, i := s.world.processes[0].feeds(), slices.Index(Caches, cache)
	if i >= len(feeds) {
		return 0 // there is nothing of that kind
	}
	f := feeds[i]
	if n < 0 || n > f.lag() {
		n = f.lag()
	}
	if listed && n > 0 {
		f.relist(n)
		return f.lag()
	}
	for range n {
		f.deliver()
	}
	return f.lag()
}

// Restart kills the process; another takes its place.
func (s *Script) Restart() {
	p := s.world.processes[0]
	p.dead = true
	s.world.watcher.Process(p.name, "is killed")
}

// Behind says how many writes ago the caches of the next process begin.
func (s *Script) Behind(n int) { s.behind = n }

// Plan has faults come.
func (s *Script) Plan(f PlannedFault) { s.plan = append(s.plan, &f) }

// Planned is how many of the planned faults have not come yet.
func (s *Script) Planned() int {
	n := 0
	for _, f := range s.plan {
		n += f.Times
	}
	return n
}

// fault decides what goes wrong with a request.
func (s *Script) fault(c *call) Fault {
	for _, f := range s.plan {
		switch {
		case !c.write || f.What != "" && f.What != c.what || f.Times == 0:
		case f.Skip > 0:
			f.Skip--
		default:
			f.Times--
			return f.Fault
		}
	}
	return noFault
}

// Quota limits how many pods there may be; 0: any number.
func (s *Script) Quota(n int) { s.world.server.quota = n }

// PublishedCRD has the CRD be the published one, which drops what it does not know of
// each set that is written, or ours again. What is put on record cannot be judged from
// then on.
func (s *Script) PublishedCRD(is bool) {
	s.world.server.prunes = is
	s.world.checker.Unrecorded = true
	if is {
		s.world.Edit("an annotation, under the published CRD", func(set *v1.LeaderWorkerSet) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, "example.com/touched", "")
		})
	}
}

// NewSet is a set as the API server stores it, with all defaults.
func NewSet() *v1.LeaderWorkerSet { return newSet(1, 1) }

// Apply creates the set.
func (s *Script) Apply(set *v1.LeaderWorkerSet) { s.world.Apply(set) }

// Edit changes the set.
func (s *Script) Edit(f func(*v1.LeaderWorkerSet)) { s.world.Edit("edit", f) }

// DeleteSet deletes the set.
func (s *Script) DeleteSet(how metav1.DeletionPropagation) { s.world.DeleteSet(how) }

// DeleteNamespace deletes the namespace and all that is in it.
func (s *Script) DeleteNamespace() { s.world.DeleteNamespace() }

// Trouble has something go wrong with a pod.
func (s *Script) Trouble(name, pod string) error {
	p, err := s.pod(pod)
	if err != nil {
		return err
	}
	for _, t := range troubles {
		if t.name == name {
			t.do(s.world, p)
			return nil
		}
	}
	return fmt.Errorf("there is no trouble called %s", name)
}

// Evict evicts a pod, if that is allowed.
func (s *Script) Evict(name string) error {
	p, err := s.pod(name)
	if err == nil {
		err = s.world.Evict(p)
	}
	return err
}

// ChangePod changes a pod as a person does.
func (s *Script) ChangePod(name string, f func(*corev1.Pod)) error {
	p, err := s.pod(name)
	if err == nil {
		s.world.podUpdate(p, invariant.User, f)
	}
	return err
}

// ChangeRevision changes a revision as a person does.
func (s *Script) ChangeRevision(name string, f func(*appsv1.ControllerRevision)) error {
	_, err := update(s.world.server, s.world.server.revisions, s.key(name), request{by: invariant.User}, func(r *appsv1.ControllerRevision) error {
		f(r)
		return nil
	})
	return err
}

// ChangePodGroup changes a PodGroup as a person does.
func (s *Script) ChangePodGroup(name string, f func(*schedulingv1beta1.PodGroup)) error {
	_, err := update(s.world.server, s.world.server.podGroups, s.key(name), request{by: invariant.User}, func(g *schedulingv1beta1.PodGroup) error {
		f(g)
		return nil
	})
	return err
}

// Delete deletes a pod, service, revision, budget, claim, podgroup or workload as a person does.
func (s *Script) Delete(kind, name string) error {
	server, r := s.world.server, request{by: invariant.User}
	switch key := s.key(name); kind {
	case "pod":
		return remove(server, server.pods, key, r)
	case "service":
		return remove(server, server.services, key, r)
	case "revision":
		return remove(server, server.revisions, key, r)
	case "budget":
		return remove(server, server.budgets, key, r)
	case "claim":
		return remove(server, server.claims, key, r)
	case "podgroup":
		return remove(server, server.podGroups, key, r)
	case "workload":
		return remove(server, server.workloads, key, r)
	}
	return fmt.Errorf("cannot delete a %s", kind)
}

// foreignOwner stands for the owner of claims that are another's, which exists.
const foreignOwner = types.UID("other")

// Squat creates a pod or a service that is not the set's, with these labels, a
// budget for the pods with these labels, or a claim that a StatefulSet controls.
func (s *Script) Squat(kind, name string, labels map[string]string) error {
	meta := metav1.ObjectMeta{Namespace: theKey.Namespace, Name: name, Labels: labels}
	var err error
	switch server, r := s.world.server, (request{by: invariant.User}); kind {
	case "pod":
		_, err = create(server, server.pods, &corev1.Pod{ObjectMeta: meta,
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}, r)
	case "service":
		_, err = create(server, server.services, &corev1.Service{ObjectMeta: meta}, r)
	case "claim":
		// Another set's, by its controller.
		theirs := true
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "other", UID: foreignOwner, Controller: &theirs}}
		_, err = create(server, server.claims, &corev1.PersistentVolumeClaim{ObjectMeta: meta}, r)
	case "podgroup":
		meta.Annotations = map[string]string{v1.AnnotationIncarnation: name[strings.LastIndex(name, "-")+1:]}
		_, err = create(server, server.podGroups, &schedulingv1beta1.PodGroup{ObjectMeta: meta}, r)
	case "workload":
		_, err = create(server, server.workloads, &schedulingv1beta1.Workload{ObjectMeta: meta}, r)
	case "budget":
		_, err = create(server, server.budgets, budgetOf(meta, labels), r)
	default:
		err = fmt.Errorf("cannot make a %s", kind)
	}
	return err
}

func (s *Script) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: theKey.Namespace, Name: name}
}

func (s *Script) pod(name string) (*corev1.Pod, error) { return get(s.world.server.pods, s.key(name)) }

// Set is the set, nil if there is none.
func (s *Script) Set() *v1.LeaderWorkerSet { return s.world.server.sets.items[theKey] }

// Pods, Services and Revisions are the objects there are, by name.
func (s *Script) Pods() []*corev1.Pod                      { return s.world.server.pods.list() }
func (s *Script) Budgets() []*policyv1.PodDisruptionBudget { return s.world.server.budgets.list() }
func (s *Script) Claims() []*corev1.PersistentVolumeClaim  { return s.world.server.claims.list() }
func (s *Script) Services() []*corev1.Service              { return s.world.server.services.list() }

// PodGroups and Workloads are those there are, by name.
func (s *Script) PodGroups() []*schedulingv1beta1.PodGroup { return s.world.server.podGroups.list() }
func (s *Script) Workloads() []*schedulingv1beta1.Workload { return s.world.server.workloads.list() }
func (s *Script) Revisions() []*appsv1.ControllerRevision  { return s.world.server.revisions.list() }

// Controller is that of the present process.
func (s *Script) Controller() *controller.Controller { return s.world.processes[0].ctrl }

// Debug is what the controller shows of the set on its page.
func (s *Script) Debug() []controller.DebugSet {
	return s.world.processes[0].ctrl.Debug(theKey.String())
}

// AddNode adds a node in a rack, with room for so many pods.
func (s *Script) AddNode(rack string, room int) { s.world.addNode(rack, room) }

// LabelNode sets the label of a node that names its rack; none takes it away.
func (s *Script) LabelNode(name, rack string) error {
	n := s.world.nodes[name]
	if n == nil {
		return fmt.Errorf("there is no node %s", name)
	}
	s.world.nodeUpdate(n, invariant.User, func(o *corev1.Node) {
		if o.Labels["rack"] = rack; rack == "none" {
			delete(o.Labels, "rack")
		}
	})
	return nil
}

// Node has something happen to a node: lost, back, reboot, taint or delete.
func (s *Script) Node(name, what string) error {
	n := s.world.nodes[name]
	if n == nil {
		return fmt.Errorf("there is no node %s", name)
	}
	acts := map[string]func(*node){"lost": s.world.lose, "back": s.world.comeBack, "reboot": s.world.reboot, "taint": s.world.taint, "delete": s.world.deleteNode}
	act := acts[what]
	if act == nil {
		return fmt.Errorf("a node cannot %s", what)
	}
	act(n)
	return nil
}

// Room says for how many pods a node has room.
func (s *Script) Room(name string, room int) error {
	n := s.world.nodes[name]
	if n == nil {
		return fmt.Errorf("there is no node %s", name)
	}
	n.capacity = room
	return nil
}

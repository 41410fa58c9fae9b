package plan

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// world is the set and its pods as they would be, in memory.
type world struct {
	options  Options
	known    controller.Known
	sizes    map[string]int32
	start    time.Time
	now      time.Time
	groups   map[int32]*tracked
	bodies   map[types.UID]*body
	capacity *capacity // nil: not known
	version  uint64
	// broken are revisions of which no group becomes Ready.
	broken map[string]bool
	// usage is what the pods of the set request, before what they did at the start, peak
	// the most they did.
	before, usage, peak corev1.ResourceList
	// homeless are groups with a pod that at some time fitted no node, and why.
	homeless map[int32]string
	claims   claims
	blocked  map[int32]string
	stalled  bool
	report   *Report
}

// Make plans the change.
func Make(s *Snapshot, o Options) (*Report, error) {
	w := &world{options: o, start: s.Now, now: s.Now, groups: map[int32]*tracked{}, bodies: map[types.UID]*body{},
		broken: map[string]bool{}, usage: corev1.ResourceList{}, peak: corev1.ResourceList{},
		homeless: map[int32]string{}, blocked: map[int32]string{}, report: &Report{Steps: []Step{}, Changes: []string{}, Attention: []string{}}}
	if err := w.settle(s); err != nil {
		return nil, err
	}
	w.populate(s)
	in := w.known.Input(w.now)
	r := w.report
	r.Namespace, r.Name, r.Replicas = s.After.Namespace, s.After.Name, in.Replicas
	r.Unavailable, r.Surge, r.Partition = in.Budget.Unavailable, in.Budget.Surge, min(in.Partition, in.Replicas)
	r.Changes = append(r.Changes, changes(s.Before, s.After)...)
	tally := rollout.Count(in)
	r.Ready = Ready{Before: tally.Ready, Lowest: tally.Ready}
	before := attentionBefore(s, w, in)
	ended := w.forward()
	if w.stopped() {
		return nil, ErrStopped
	}
	tally = rollout.Count(w.known.Input(w.now))
	r.Ready.After, r.Ends = tally.Ready, ended && !tally.Progressing
	r.Attention = append(append(append(r.Attention, s.Notes...), before...), attentionAfter(s, w, tally)...)
	return r, nil
}

// settle finds the revisions as the controller does.
func (w *world) settle(s *Snapshot) error {
	steering, problems := rollout.ReadSteering(s.After.Annotations)
	for _, p := range problems {
		w.report.Attention = append(w.report.Attention, p.Error())
	}
	history, unreadable := revision.NewHistory(s.Revisions)
	for _, err := range unreadable {
		w.report.Attention = append(w.report.Attention, fmt.Sprintf("a stored revision cannot be read: %v", err))
	}
	content := history.Wanted(s.After, steering.RestartedAt)
	found := history.Find(content)
	state := RevisionReused
	if found == nil {
		lost := history.Lost(s.After)
		restart, ok := revision.LostRestart(s.After, lost, steering.RestartedAt, s.Pods)
		if lost == "" || !ok {
			lost, restart = "", steering.RestartedAt
		}
		made, err := history.Next(s.After, history.Wanted(s.After, restart), restart, lost)
		if err != nil {
			return err
		}
		history, _ = revision.NewHistory(append(s.Revisions[:len(s.Revisions):len(s.Revisions)], made.Object))
		found, state = made, RevisionNew
	}
	if s.Before != nil && s.Before.Status.UpdateRevision == found.Key {
		state = RevisionUnchanged
	}
	w.report.Revision = Revision{Key: found.Key, State: state}
	w.known = controller.Known{Set: s.After.DeepCopy(), Steering: steering, History: history, Update: found.Key,
		Current: history.Current(s.After, found.Key), Services: map[string]rollout.Service{},
		PodGroups: map[string]rollout.PodGroup{}, Workloads: map[string]rollout.Service{}, NoGangs: s.NoGangs}
	w.sizes = map[string]int32{}
	for _, r := range history.Revisions() {
		w.sizes[r.Key] = controller.GroupOf(s.After, r, 0, 0).Size()
	}
	return nil
}

// populate takes in what exists.
func (w *world) populate(s *Snapshot) {
	if s.Nodes != nil {
		w.capacity = newCapacity(s.Nodes, s.Others)
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if index, worker, ok := topology.ParsePodName(s.After.Name, p.Name); ok {
			w.observe(index, worker, p)
		}
	}
	w.before, w.peak = w.usage.DeepCopy(), w.usage.DeepCopy()
	for i := range s.Services {
		w.known.Services[s.Services[i].Name] = controller.ServiceSeen(s.After, &s.Services[i])
	}
	for i := range s.PodGroups {
		if seen, ok := controller.PodGroupSeen(s.After, &s.PodGroups[i]); ok {
			w.known.PodGroups[s.PodGroups[i].Name] = seen
		}
	}
	for i := range s.Workloads {
		w.known.Workloads[s.Workloads[i].Name] = controller.WorkloadSeen(s.After, w.known.History, &s.Workloads[i])
	}
	w.claims.populate(s)
	w.known.Groups = w.views()
	for key := range w.sizes {
		w.broken[key] = w.options.AssumeBroken && key == w.known.Update && w.report.Revision.State != RevisionUnchanged || w.isBroken(key)
	}
}

// isBroken says that a revision has shown that its groups do not become Ready: some
// pod cannot run, and no group ever was.
func (w *world) isBroken(key string) bool {
	stuck := false
	for i := range w.known.Groups {
		v := &w.known.Groups[i]
		if v.Revision != key {
			continue
		}
		if v.EverReady() || v.AllReady {
			return false
		}
		stuck = stuck || v.Stuck != ""
	}
	return stuck
}

const (
	// horizon is how far ahead is looked: what has not happened by then waits for
	// something that is not known.
	horizon = 30 * 24 * time.Hour
	// rounds bound what happens in no time.
	rounds = 1_000_000
)

// forward lets happen what would, until nothing is left to do, and says whether that
// came to an end.
func (w *world) forward() bool {
	for range rounds {
		if w.stopped() {
			return false
		}
		acted, wake := w.sync()
		switch {
		case acted:
		case w.vanish() || w.comeUp():
			w.count()
		case wake.IsZero() || wake.Sub(w.start) > horizon:
			return true
		default:
			w.now = wake
		}
	}
	return false
}

// ErrStopped: somebody did not want to wait for the end.
var ErrStopped = errors.New("stopped before the plan was made")

func (w *world) stopped() bool { return w.options.Stopped != nil && w.options.Stopped() }

// sync makes a plan and carries it out, as the controller does, and says whether there
// was anything to do, and when there will be if nothing else happens.
func (w *world) sync() (acted bool, wake time.Time) {
	status := &w.known.Set.Status
	w.known.Groups = w.views()
	w.known.Current = w.known.History.Current(w.known.Set, w.known.Update)
	in := w.known.Input(w.now)
	plan := rollout.Make(in)
	if plan.Ahead {
		status.EstablishedReplicas = rollout.Count(in).Established
		status.Recycling, status.GroupRestarts = plan.Recycling, plan.Restarts
	}
	for _, d := range plan.Delete {
		w.claims.condemn(controller.Condemned(w.known.Set, w.known.History, w.group(d.Index).view.Revision, d))
		w.fold(d.Index, group.Event{Kind: group.DeleteAccepted, Worker: d.Pod.Worker, UID: d.Pod.UID})
	}
	for _, name := range plan.DeleteServices {
		delete(w.known.Services, name)
	}
	for _, service := range plan.CreateServices {
		w.known.Services[service.Name] = rollout.Service{}
	}
	w.gangs(&in, &plan)
	for i := range plan.Create {
		for _, worker := range plan.Create[i].Workers {
			w.createPod(&plan.Create[i], worker)
		}
	}
	for _, m := range plan.Mark {
		w.mark(m)
	}
	for _, b := range plan.Blocked {
		w.blocked[b.Index] = fmt.Sprintf("%s %s %s", b.Kind, b.Name, b.Why)
	}
	ready := w.count()
	w.note(&in, &plan, ready)
	return plan.Ahead || plan.Partial || len(plan.Delete)+len(plan.Create)+len(plan.Mark)+len(plan.CreateServices)+len(plan.DeleteServices)+
		len(plan.CreatePodGroups)+len(plan.DeletePodGroups) > 0, plan.WakeAt
}

// gangs takes in which PodGroups and Workloads a plan makes and drops. Workloads alone
// change nothing.
func (w *world) gangs(in *rollout.Input, plan *rollout.Plan) {
	for _, gone := range plan.DeletePodGroups {
		delete(w.known.PodGroups, gone.Name)
	}
	for _, name := range plan.DeleteWorkloads {
		delete(w.known.Workloads, name)
	}
	for _, want := range plan.CreateWorkloads {
		w.known.Workloads[want.Name] = rollout.Service{}
	}
	for _, want := range plan.CreatePodGroups {
		w.known.PodGroups[want.Name] = rollout.PodGroup{Index: want.Index, Incarnation: want.Incarnation, Workload: in.Templates[want.Revision].Workload}
	}
}

func (w *world) mark(m rollout.Mark) {
	for _, p := range w.group(m.Index).state.Pods() {
		if p.UID == m.Leader.UID {
			next := *p
			next.GroupReady = &group.GroupReady{True: m.Ready, Since: w.now}
			next.Version = w.nextVersion()
			w.fold(m.Index, group.Observed(next))
		}
	}
}

// count writes into the status what the controller would, and returns how many groups
// are Ready.
func (w *world) count() int32 {
	status := &w.known.Set.Status
	w.known.Groups = w.views()
	in := w.known.Input(w.now)
	tally, settled := rollout.Count(in), rollout.Settle(in)
	status.EstablishedReplicas, status.CurrentRevision = tally.Established, tally.Current
	status.UpdateRevision = w.known.Update
	status.Recycling, status.GroupRestarts = settled.Recycling, settled.Restarts
	progressing := metav1.ConditionFalse
	if tally.Progressing {
		progressing = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1.ConditionProgressing, Status: progressing, LastTransitionTime: metav1.NewTime(w.now)})
	w.report.Ready.Lowest = min(w.report.Ready.Lowest, tally.Ready)
	return tally.Ready
}

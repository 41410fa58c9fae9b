package sim

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/informers"
	"lws-controller/revision"
)

// The kinds of writes that the controller makes.
const (
	createPod      = "create pod"
	createService  = "create service"
	createRevision = "create revision"
	deletePod      = "delete pod"
	deleteService  = "delete service"
	recordTeardown = "record teardown"
	patchStatus    = "patch status"
	markLeader     = "mark leader"
	noteStart      = "note start"
	patchSet       = "patch set"
	adoptPod       = "adopt pod"
	releasePod     = "release pod"
	adoptService   = "adopt service"
	adoptRevision  = "adopt revision"
	numberRevision = "number revision"
	createClaim    = "create claim"
	patchClaim     = "patch claim"
	createBudget   = "create budget"
	updateBudget   = "update budget"
	deleteBudget   = "delete budget"
	createWorkload = "create workload"
	deleteWorkload = "delete workload"
	createPodGroup = "create pod group"
	deletePodGroup = "delete pod group"
	adoptWorkload  = "adopt workload"
	adoptPodGroup  = "adopt pod group"
	createVolcano  = "create volcano group"
	patchVolcano   = "patch volcano group"
	deleteVolcano  = "delete volcano group"
)

var writes = []string{createPod, createService, createRevision, deletePod, deleteService, recordTeardown, patchStatus, markLeader,
	adoptPod, releasePod, adoptService, adoptRevision, numberRevision}

// The situations that a set may be in, several at a time. They are read off the
// true state, whatever the controller knows of it.
const (
	// creating: no group has ever been available.
	creating = "create"
	// updating: a group that the rollout is to move is not at the revision of the
	// spec, or is being rebuilt for that.
	updating = "update"
	// recycling: a group has failed, or is being rebuilt for that.
	recycling = "recycle"
	// scaling: there are more groups than wanted, or fewer, teardowns aside.
	scaling = "scale"
)

var situations = []string{creating, updating, recycling, scaling}

// cell is a fault that came upon a write in a situation.
type cell struct {
	write, situation string
	fault            Fault
}

// move is a step of a group from one phase to another.
type move struct{ from, to group.Phase }

// The kinds of crash points: moments at which a controller was ended, or its memory
// was taken away, and what followed was judged.
const (
	struckWrites = "a write of a scenario was struck by a crash, a lost answer or an error, and the end was that of the run without"
	pastStarts   = "a controller at rest was killed, and the next began in the past"
	randomHits   = "in a random run the controller was killed, lost its lease, crashed at a request, or missed an answer"
	samePlans    = "a controller with empty memory was asked between two syncs, and planned the same"
)

// reach is what runs have come to: the faults at writes that there were, the moves
// between phases that the controller has seen, and the crash points by kind.
type reach struct {
	cells  map[cell]int
	moves  map[move]int
	points map[string]int
}

func newReach() reach {
	return reach{cells: map[cell]int{}, moves: map[move]int{}, points: map[string]int{}}
}

func (r reach) add(other reach) {
	add(r.cells, other.cells)
	add(r.moves, other.moves)
	add(r.points, other.points)
}

// struck notes that a fault comes upon a request.
func (w *World) struck(c call, f Fault) {
	if f == noFault || !c.write {
		return
	}
	for _, situation := range w.situationsNow() {
		w.reached.cells[cell{c.what, situation, f}]++
	}
}

// moved reads a move between phases off a line of the controller's log.
func (w *World) moved(message string, kv []any) {
	if message != "Group changed phase" {
		return
	}
	var m move
	for i := 0; i+1 < len(kv); i += 2 {
		switch kv[i] {
		case "from":
			m.from, _ = kv[i+1].(group.Phase)
		case "to":
			m.to, _ = kv[i+1].(group.Phase)
		}
	}
	w.reached.moves[m]++
}

// situationsNow are those that the set is in; none if it does not exist or is
// being deleted.
func (w *World) situationsNow() []string {
	s, exists := w.server.sets.items[theKey]
	if !exists || s.DeletionTimestamp != nil {
		return nil
	}
	in := map[string]bool{creating: s.Status.EstablishedReplicas == 0}
	present, wanted := int32(0), w.wantedRevision(s)
	for _, v := range w.views(s) {
		entry := slices.IndexFunc(s.Status.Recycling, func(e v1.RecyclingGroup) bool {
			return e.Index == v.Index && (!v.HasPods || v.Incarnation <= e.Incarnation)
		})
		if v.Index < *s.Spec.Replicas && (v.HasPods || entry >= 0) {
			present++
		}
		if entry < 0 && v.HasPods {
			w.situationOf(s, &v, wanted, in)
		}
	}
	for _, e := range s.Status.Recycling {
		switch e.Cause {
		case v1.RecycleFailure:
			in[recycling] = true
		case v1.RecycleUpdate:
			in[updating] = true
		case v1.RecycleScaleDown:
			in[scaling] = true
		}
	}
	if present < *s.Spec.Replicas && !in[creating] {
		in[scaling] = true
	}
	var out []string
	for _, situation := range situations {
		if in[situation] {
			out = append(out, situation)
		}
	}
	return out
}

// situationOf adds what a group with pods that is not being torn down shows.
func (w *World) situationOf(s *v1.LeaderWorkerSet, v *group.View, wanted string, in map[string]bool) {
	replicas, partition := *s.Spec.Replicas, *s.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition
	starting := !v.EverReady()
	failed := slices.ContainsFunc(s.Status.GroupRestarts, func(r v1.GroupRestarts) bool { return r.Index == v.Index && r.Revision == v.Revision })
	switch {
	case v.Index >= replicas:
		in[scaling] = true
	case v.Failure != nil, starting && v.Incarnation > 1 && failed:
		in[recycling] = true
	case v.Revision != wanted && v.Index >= partition, starting && v.Incarnation > 1:
		in[updating] = true
	case starting && !in[creating]:
		in[scaling] = true
	}
}

// wantedRevision is the key of the revision of the present spec, empty if it has
// not been made.
func (w *World) wantedRevision(s *v1.LeaderWorkerSet) string {
	history, _ := revision.NewHistory(w.server.revisions.list())
	if r := history.Find(revision.FromSet(s)); r != nil {
		return r.Key
	}
	return ""
}

// views are the groups as a controller that knows everything sees them.
func (w *World) views(s *v1.LeaderWorkerSet) []group.View {
	states := map[int32]*group.State{}
	var order []int32
	for _, pod := range w.server.pods.list() {
		if _, index, worker, ok := informers.Place(pod); ok {
			if states[index] == nil {
				states[index] = group.NewState(index)
				order = append(order, index)
			}
			states[index].Fold(group.Observed(group.ObservePod(pod, worker)), w.clock.Now())
		}
	}
	for _, e := range s.Status.Recycling {
		if states[e.Index] == nil {
			states[e.Index] = group.NewState(e.Index)
			order = append(order, e.Index)
		}
	}
	var out []group.View
	for _, index := range order {
		out = append(out, states[index].View(s.UID, nil))
	}
	return out
}

// statusWrite says what a patch of the status is for.
func (w *World) statusWrite(patch []byte) string {
	var p struct {
		Status struct {
			Recycling []v1.RecyclingGroup `json:"recycling"`
		} `json:"status"`
	}
	if s := w.server.sets.items[theKey]; s != nil && json.Unmarshal(patch, &p) == nil && len(p.Status.Recycling) > len(s.Status.Recycling) {
		return recordTeardown
	}
	return patchStatus
}

// podWrite says what a patch of a pod is for.
func podWrite(patch []byte, subresources []string) string {
	var p struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
			Annotations     map[string]string       `json:"annotations"`
		} `json:"metadata"`
	}
	switch {
	case len(subresources) > 0:
		return markLeader
	case json.Unmarshal(patch, &p) == nil && len(p.Metadata.OwnerReferences) > 0 && p.Metadata.OwnerReferences[0].Controller != nil:
		return adoptPod
	case p.Metadata.Annotations[v1.AnnotationRestartsSeen] != "":
		return noteStart
	default:
		return releasePod
	}
}

// revisionWrite says what a patch of a revision is for.
func revisionWrite(patch []byte) string {
	var p struct {
		Revision *int64 `json:"revision"`
	}
	if json.Unmarshal(patch, &p) == nil && p.Revision != nil {
		return numberRevision
	}
	return adoptRevision
}

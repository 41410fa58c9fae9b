package kubectl

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// Status is a set with its groups at one moment.
type Status struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Replicas is how many groups are wanted, Size how many pods each has at the
	// update revision.
	Replicas int32 `json:"replicas"`
	Size     int32 `json:"size"`
	// Partition: groups with a lower index keep their revision.
	Partition int32 `json:"partition"`
	// ReadyGroups and UpdatedGroups are of those wanted.
	ReadyGroups   int32 `json:"readyGroups"`
	UpdatedGroups int32 `json:"updatedGroups"`
	// Observed says that the controller has taken up the set as it is now.
	Observed bool `json:"observed"`
	Paused   bool `json:"paused"`
	// UpdateRevision is that of the present spec.
	UpdateRevision Revision `json:"updateRevision"`
	// Recycle is what was asked for by annotation and is not done for all groups.
	Recycle    *Recycle           `json:"recycle,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Groups     []Group            `json:"groups"`
}

// Revision names a revision. Number is 0 where the key is of none that is stored.
type Revision struct {
	Number int64  `json:"number,omitempty"`
	Key    string `json:"key,omitempty"`
}

// Recycle is a request to recreate groups.
type Recycle struct {
	At time.Time `json:"at"`
	// Open are the groups for which it is not done.
	Open []int32 `json:"open"`
}

// Group is one group of a set.
type Group struct {
	Index       int32       `json:"index"`
	Phase       group.Phase `json:"phase"`
	Since       time.Time   `json:"since,omitzero"`
	Revision    Revision    `json:"revision,omitzero"`
	Incarnation int64       `json:"incarnation"`
	// ReadyPods of Size are Ready.
	ReadyPods int32 `json:"readyPods"`
	Size      int32 `json:"size,omitempty"`
	// Surge: the group is beyond those wanted.
	Surge bool `json:"surge,omitempty"`
	// Nodes of its pods, each once.
	Nodes []string `json:"nodes,omitempty"`
	// WaitingFor says why the group is not Ready.
	WaitingFor string `json:"waitingFor,omitempty"`

	// availableFrom is when a Ready group is available; zero and false: unknown.
	availableFrom      time.Time
	availableFromKnown bool
}

func replicas(set *v1.LeaderWorkerSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// newStatus computes the status from what the API server tells, with the functions
// that the controller uses. Groups are ordered by index.
func newStatus(s *seen) *Status {
	set := s.set
	steering, _ := rollout.ReadSteering(set.Annotations)
	out := &Status{Namespace: set.Namespace, Name: set.Name, Replicas: replicas(set), Size: 1,
		Paused: steering.Paused, Conditions: set.Status.Conditions, Groups: []Group{}}
	out.Partition = *steering.Rolling(&set.Spec, out.Replicas).Partition
	if size := set.Spec.LeaderWorkerTemplate.Size; size != nil {
		out.Size = *size
	}
	history, _ := revision.NewHistory(s.revisions)
	known := names(history)
	update, current := present(history, set)
	out.UpdateRevision = known(update)
	out.Observed = current && steering.Undo == ""
	out.addGroups(s, &steering, history)
	return out
}

// names returns what gives the number of a revision by its key.
func names(history *revision.History) func(key string) Revision {
	return func(key string) Revision {
		out := Revision{Key: key}
		if r := history.ByKey(key); r != nil {
			out.Number = r.Number
		}
		return out
	}
}

// present is the key of the revision that the set asks for, and whether the
// controller knows: it need not have stored it yet, and an annotation does not change
// the generation.
func present(history *revision.History, set *v1.LeaderWorkerSet) (key string, known bool) {
	steering, _ := rollout.ReadSteering(set.Annotations)
	status := &set.Status
	if r := history.Find(history.Wanted(set, steering.RestartedAt)); r != nil {
		return r.Key, r.Key == status.UpdateRevision && status.ObservedGeneration == set.Generation
	}
	return status.UpdateRevision, false
}

// addGroups adds the groups that are wanted or have pods, and counts them.
func (out *Status) addGroups(s *seen, steering *rollout.Steering, history *revision.History) {
	status := &s.set.Status
	entries, sizes := map[int32]*v1.RecyclingGroup{}, map[string]int32{}
	for i := range status.Recycling {
		entries[status.Recycling[i].Index] = &status.Recycling[i]
	}
	for _, r := range history.Revisions() {
		sizes[r.Key] = (&topology.Group{Template: &r.Template}).Size()
	}
	judged := rollout.Input{Templates: controller.Templates(s.set, history, false), Restarts: status.GroupRestarts}
	states := fold(s)
	for index := range out.Replicas {
		if states[index] == nil {
			states[index] = group.NewState(index)
		}
	}
	known := names(history)
	var open []int32
	for _, index := range slices.Sorted(maps.Keys(states)) {
		v := states[index].View(s.set.UID, sizes)
		wanted := index < out.Replicas
		g := Group{Index: index, Phase: group.PhaseOf(&v, wanted, entries[index], judged.SpentBy(&v) != nil), Incarnation: v.Incarnation,
			Size: v.Size, Surge: !wanted, Since: since(&v, entries[index]), Nodes: nodes(states[index], s.set, v.Incarnation)}
		if g.Phase == group.Gone {
			continue
		}
		if v.HasPods {
			g.Revision, g.ReadyPods = known(v.Revision), readyPods(states[index], s.set, v.Incarnation)
		}
		// Also a Ready one may wait for its recreation.
		g.WaitingFor = judged.WaitingFor(&v, entries[index])
		if g.Phase != group.Ready {
			g.WaitingFor = cmp.Or(stuck(&v, s.at), g.WaitingFor, missing(&v))
		}
		g.availableFrom, g.availableFromKnown = rollout.AvailableFrom(&v, steering.MinReady)
		if wanted && g.Phase == group.Ready {
			out.ReadyGroups++
		}
		if wanted && v.Whole && v.Revision == out.UpdateRevision.Key && g.Phase != group.Recycling {
			out.UpdatedGroups++
		}
		if wanted && steering.Recycle.Open(&v) {
			open = append(open, index)
		}
		out.Groups = append(out.Groups, g)
	}
	if len(open) > 0 {
		out.Recycle = &Recycle{At: steering.Recycle.At, Open: open}
	}
}

// fold files the pods by group, as if they had just been observed.
func fold(s *seen) map[int32]*group.State {
	states := map[int32]*group.State{}
	for _, pod := range s.pods {
		index, worker, ok := topology.ParsePodName(s.set.Name, pod.Name)
		if !ok {
			continue
		}
		if states[index] == nil {
			states[index] = group.NewState(index)
		}
		states[index].Fold(group.Observed(group.ObservePod(pod, worker)), time.Time{})
	}
	return states
}

// since is how long the group has been as it is, as far as the objects tell: from the
// start of its teardown, from when it became Ready or ceased to be, else from the last
// move of a pod.
func since(v *group.View, entry *v1.RecyclingGroup) time.Time {
	switch {
	case entry != nil && v.Incarnation <= entry.Incarnation:
		return entry.StartedAt.Time
	case v.EverReady() && v.Leader.GroupReady.True == v.AllReady:
		return v.Leader.GroupReady.Since
	case v.AllReady || v.NotReadySince.IsZero():
		return v.LastMove
	}
	return v.NotReadySince
}

// stuck says which pod of the group should have ended. What its node does is not read:
// few people have rights on nodes.
func stuck(v *group.View, now time.Time) string {
	if s := rollout.StuckIn(v, nil, 0, now); s != nil {
		return s.Message
	}
	return ""
}

// missing says what a group without an obstacle on its pods waits for.
func missing(v *group.View) string {
	switch {
	case len(v.Foreign) > 0:
		return "pod " + v.Foreign[0].Name + ", which is not the set's, to be gone"
	case v.Leader == nil:
		return "its leader pod to be created"
	case len(v.Missing) > 0:
		return "its workers to be created"
	}
	return ""
}

func readyPods(s *group.State, set *v1.LeaderWorkerSet, incarnation int64) (n int32) {
	for _, p := range s.Pods() {
		if p.Controller == set.UID && p.Incarnation == incarnation && p.Ready && !p.Terminating {
			n++
		}
	}
	return n
}

// nodes are those of the group's pods, each once, in the order of the pods.
func nodes(s *group.State, set *v1.LeaderWorkerSet, incarnation int64) (out []string) {
	for _, p := range s.Pods() {
		if p.Controller == set.UID && p.Incarnation == incarnation && p.Node != "" && !slices.Contains(out, p.Node) {
			out = append(out, p.Node)
		}
	}
	return out
}

// condition is the condition of this type if it is True.
func (s *Status) condition(kind string) *metav1.Condition {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == kind && c.Status == metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

// stored lists the numbers of revisions, for messages.
func stored(history *revision.History) string {
	var numbers []string
	for _, r := range history.Revisions() {
		numbers = append(numbers, itoa(r.Number))
	}
	return cmp.Or(strings.Join(numbers, ", "), "none")
}

// byNumber is the revision of that number, the latest if there are several.
func byNumber(history *revision.History, number int64) *revision.Revision {
	for _, r := range slices.Backward(history.Revisions()) {
		if r.Number == number {
			return r
		}
	}
	return nil
}

// created is when a revision was stored.
func created(object *appsv1.ControllerRevision) time.Time { return object.CreationTimestamp.Time }

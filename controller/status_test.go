package controller

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
)

func memoryOf(replicas int32, views ...group.View) *memory {
	m := newMemory(types.NamespacedName{Namespace: "ns", Name: "s"})
	m.set = &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns", UID: "set", Generation: 7},
		Spec: v1.LeaderWorkerSetSpec{Replicas: &replicas}}
	m.history, m.update, m.current = &revision.History{}, "b", "a"
	for _, v := range views {
		m.groups = append(m.groups, &tracked{state: group.NewState(v.Index), view: v})
	}
	return m
}

func readyView(index int32, revision string) group.View {
	return group.View{Index: index, HasPods: true, Revision: revision, Incarnation: 1, Size: 1,
		Leader: &group.Pod{Ready: true}, Whole: true, AllReady: true}
}

func pendingView(index int32, revision string) group.View {
	return group.View{Index: index, HasPods: true, Revision: revision, Incarnation: 1, Size: 1, Leader: &group.Pod{}, Whole: true}
}

// conditionsOf shows the conditions that are there, True ones in upper case.
func conditionsOf(s *v1.LeaderWorkerSetStatus) string {
	var out []string
	for _, c := range s.Conditions {
		name := strings.ToLower(c.Type)
		if c.Status == metav1.ConditionTrue {
			name = strings.ToUpper(c.Type)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestStatus(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tc := range []struct {
		name       string
		m          *memory
		with       func(*memory)
		numbers    [4]int32 // replicas, ready, updated, established
		conditions string
		current    string
	}{
		{name: "nothing yet", m: memoryOf(2), conditions: "PROGRESSING RECONCILING", current: "a"},
		{name: "no replicas", m: memoryOf(0), conditions: "AVAILABLE", current: "b"},
		{name: "all ready", m: memoryOf(2, readyView(0, "b"), readyView(1, "b")), numbers: [4]int32{2, 2, 2, 2}, conditions: "AVAILABLE", current: "b"},
		{name: "one pending", m: memoryOf(2, readyView(0, "b"), pendingView(1, "b")), numbers: [4]int32{2, 1, 2, 1}, conditions: "PROGRESSING RECONCILING", current: "a"},
		{name: "outdated", m: memoryOf(2, readyView(0, "b"), readyView(1, "a")), numbers: [4]int32{2, 2, 1, 2},
			conditions: "PROGRESSING UPDATEINPROGRESS RECONCILING", current: "a"},
		{name: "only the partition holds", m: memoryOf(2, readyView(0, "a"), readyView(1, "b")),
			with: func(m *memory) {
				one := int32(1)
				m.set.Spec.RolloutStrategy.RollingUpdateConfiguration = &v1.RollingUpdateConfiguration{Partition: &one}
			},
			numbers: [4]int32{2, 2, 1, 2}, conditions: "AVAILABLE", current: "a"},
		{name: "surge counts, but not as desired", m: memoryOf(1, readyView(0, "b"), readyView(1, "b")), numbers: [4]int32{2, 2, 2, 1}, conditions: "AVAILABLE", current: "b"},
		{name: "being torn down", m: memoryOf(1, readyView(0, "b")),
			with: func(m *memory) {
				m.set.Status.Recycling = []v1.RecyclingGroup{{Index: 0, Incarnation: 1, Cause: v1.RecycleFailure, Revision: "b"}}
			},
			numbers: [4]int32{1, 0, 0, 0}, conditions: "PROGRESSING RECONCILING", current: "a"},
		{name: "established falls only with replicas", m: memoryOf(2, pendingView(0, "b"), pendingView(1, "b")),
			with: func(m *memory) { m.set.Status.EstablishedReplicas = 5 }, numbers: [4]int32{2, 0, 2, 2}, conditions: "PROGRESSING RECONCILING", current: "a"},
		{name: "pods refused", m: memoryOf(1), with: func(m *memory) { m.held[0] = hold{reason: "FailedCreate", message: "exceeded quota"} },
			conditions: "PROGRESSING RECONCILING DEGRADED", current: "a"},
		{name: "what is over stays in the list", m: memoryOf(1, readyView(0, "b")), with: func(m *memory) {
			for _, kind := range []string{v1.ConditionProgressing, v1.ConditionDegraded} {
				meta.SetStatusCondition(&m.set.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Before"})
			}
		}, numbers: [4]int32{1, 1, 1, 1}, conditions: "progressing degraded AVAILABLE", current: "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.with != nil {
				tc.with(tc.m)
			}
			s := tc.m.status(tc.m.known().Input(now), now)
			if got := [4]int32{s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.EstablishedReplicas}; got != tc.numbers {
				t.Errorf("replicas, ready, updated, established = %v, want %v", got, tc.numbers)
			}
			if got := conditionsOf(s); got != tc.conditions {
				t.Errorf("conditions %q, want %q", got, tc.conditions)
			}
			if s.CurrentRevision != tc.current || s.UpdateRevision != "b" {
				t.Errorf("revisions %s, %s; want %s, b", s.CurrentRevision, s.UpdateRevision, tc.current)
			}
			sum := s.Groups.Pending + s.Groups.LeaderReady + s.Groups.WorkersStarting + s.Groups.Ready + s.Groups.Recycling + s.Groups.Failed
			if want := max(tc.m.replicas(), int32(len(tc.m.groups))); sum != want {
				t.Errorf("phases %+v add up to %d, want %d", s.Groups, sum, want)
			}
			for _, c := range s.Conditions {
				if c.ObservedGeneration != 7 || c.Message == "" {
					t.Errorf("condition %s: generation %d, message %q", c.Type, c.ObservedGeneration, c.Message)
				}
			}
		})
	}
}

func TestTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	m := memoryOf(2, readyView(0, "b"))
	at := func(seconds int64) metav1.Time {
		s := m.status(m.known().Input(time.Unix(seconds, 0)), time.Unix(seconds, 0))
		m.set.Status = *s
		return meta.FindStatusCondition(s.Conditions, v1.ConditionProgressing).LastTransitionTime
	}
	if got := at(10); got.Unix() != 10 {
		t.Errorf("first: %d, want 10", got.Unix())
	}
	m.groups = append(m.groups, &tracked{state: group.NewState(1), view: pendingView(1, "b")})
	if got := at(20); got.Unix() != 10 {
		t.Errorf("still True: %d, want 10", got.Unix())
	}
	m.groups[1].view = readyView(1, "b")
	if got := at(30); got.Unix() != 30 {
		t.Errorf("now False: %d, want 30", got.Unix())
	}
}

func TestOnlyCounts(t *testing.T) {
	m := memoryOf(3, readyView(0, "b"))
	before := m.status(m.known().Input(time.Unix(10, 0)), time.Unix(10, 0))
	m.set.Status = *before
	m.groups = append(m.groups, &tracked{state: group.NewState(1), view: readyView(1, "b")})
	if after := m.status(m.known().Input(time.Unix(20, 0)), time.Unix(20, 0)); !onlyCounts(after, before) || after.ReadyReplicas == before.ReadyReplicas {
		t.Errorf("one more group ready is a matter of counts:\n%+v\n%+v", before, after)
	}
	m.groups = append(m.groups, &tracked{state: group.NewState(2), view: readyView(2, "b")})
	if after := m.status(m.known().Input(time.Unix(20, 0)), time.Unix(20, 0)); onlyCounts(after, before) {
		t.Errorf("becoming Available is more than counts")
	}
}

func TestStatusPatch(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(before, after *v1.LeaderWorkerSetStatus)
		want   string
	}{
		{"nothing", func(_, _ *v1.LeaderWorkerSetStatus) {}, `{}`},
		{"a number, and a list that is gone", func(before, after *v1.LeaderWorkerSetStatus) {
			before.Recycling = []v1.RecyclingGroup{{Index: 0, Incarnation: 1}}
			after.ReadyReplicas, after.Recycling = 1, nil
		}, `{"readyReplicas":1,"recycling":null}`},
		{"an empty list is none", func(_, after *v1.LeaderWorkerSetStatus) { after.Recycling = []v1.RecyclingGroup{} }, `{}`},
		{"back to zero", func(before, after *v1.LeaderWorkerSetStatus) {
			before.EstablishedReplicas, before.Replicas = 3, 3
			before.Groups, after.Groups = &v1.GroupCounts{Ready: 1}, &v1.GroupCounts{Failed: 1}
		}, `{"establishedReplicas":null,"groups":{"pending":0,"leaderReady":0,"workersStarting":0,"ready":0,"recycling":0,"failed":1},"replicas":0}`},
		{"the first one", func(before, after *v1.LeaderWorkerSetStatus) {
			before.ObservedGeneration, before.CurrentRevision = 0, ""
		}, `{"currentRevision":"a","observedGeneration":6,"readyReplicas":0,"replicas":0,"updatedReplicas":0}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := memoryOf(1)
			m.set.ResourceVersion = "42"
			before, after := &m.set.Status, &v1.LeaderWorkerSetStatus{ObservedGeneration: 6, CurrentRevision: "a"}
			*before = *after
			tc.change(before, after)
			data, err := statusPatch(m.set, after)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"metadata":{"resourceVersion":"42","uid":"set"},"status":` + tc.want + `}`; string(data) != want {
				t.Errorf("patch\n got %s\nwant %s", data, want)
			}
		})
	}
}

// kstatus goes by the first of Stalled and Reconciling that is True, so Stalled comes
// first, whichever conditions were there before it.
func TestStalledComesFirst(t *testing.T) {
	m := memoryOf(1, pendingView(0, "b"))
	m.steering.ProgressDeadline = time.Minute
	s := &m.set.Status
	for _, kind := range []string{v1.ConditionProgressing, v1.ConditionReconciling, v1.ConditionAvailable, v1.ConditionRolloutPaused, v1.ConditionUpdateInProgress} {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionFalse})
	}
	now := time.Unix(1000, 0)
	m.conditions(s, &rollout.Tally{Desired: 1, Progressing: true}, true, now)
	if got, want := conditionsOf(s), "STALLED PROGRESSING RECONCILING available rolloutpaused updateinprogress"; got != want {
		t.Errorf("conditions %s, want %s", got, want)
	}
}

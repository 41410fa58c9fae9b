package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is when all pages of these tests are made.
var now = time.Date(2026, 12, 7, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return now.Add(-d) }

// world is what the pages are made from.
type world struct {
	filling, follower bool
	leader, fenced    string
	sets              []*v1.LeaderWorkerSet
	revisions         map[string][]*appsv1.ControllerRevision
	groups            map[string]controller.DebugSet
}

func (w *world) HasSynced() bool             { return !w.filling }
func (w *world) Sets() []*v1.LeaderWorkerSet { return w.sets }
func (w *world) Fenced() string              { return w.fenced }
func (w *world) Revisions(key types.NamespacedName) []*appsv1.ControllerRevision {
	return w.revisions[key.String()]
}
func (w *world) Set(key types.NamespacedName) (*v1.LeaderWorkerSet, bool) {
	for _, s := range w.sets {
		if s.Namespace == key.Namespace && s.Name == key.Name {
			return s, true
		}
	}
	return nil, false
}
func (w *world) Glance(key types.NamespacedName, journals bool, _ time.Time) (controller.DebugSet, bool) {
	s, ok := w.groups[key.String()]
	if !ok || journals {
		return s, ok
	}
	bare := s
	bare.Groups = nil
	for _, g := range s.Groups {
		g.Journal = nil
		bare.Groups = append(bare.Groups, g)
	}
	return bare, true
}

func (w *world) handler() http.Handler {
	mux := http.NewServeMux()
	(&Pages{Caches: w, Controller: w, Leading: func() bool { return !w.follower }, Leader: func() string { return w.leader },
		Now: func() time.Time { return now }}).Register(mux)
	return mux
}

func (w *world) ask(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRecorder()
	w.handler().ServeHTTP(r, httptest.NewRequest(method, path, nil))
	return r
}

// page is the body of a page that must be there.
func (w *world) page(t *testing.T, path string) string {
	t.Helper()
	r := w.ask(t, http.MethodGet, path)
	if r.Code != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, r.Code, r.Body)
	}
	return r.Body.String()
}

// add adds a set of so many groups of two pods with conditions that are True.
func (w *world) add(namespace, name string, replicas int32, conditions ...metav1.Condition) *v1.LeaderWorkerSet {
	size := int32(2)
	set := &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 4},
		Spec:   v1.LeaderWorkerSetSpec{Replicas: &replicas, LeaderWorkerTemplate: v1.LeaderWorkerTemplate{Size: &size}},
		Status: v1.LeaderWorkerSetStatus{ObservedGeneration: 4, Conditions: conditions, CurrentRevision: "aaa", UpdateRevision: "bbb"}}
	w.sets = append(w.sets, set)
	return set
}

func is(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(before(5 * time.Minute))}
}

func stored(key string, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{Revision: number, ObjectMeta: metav1.ObjectMeta{Name: "web-" + key,
		Labels: map[string]string{v1.LabelRevision: key}, CreationTimestamp: metav1.NewTime(before(time.Duration(10-number) * time.Hour))}}
}

func changed(from, to group.Phase, cause string, d time.Duration) group.Record {
	return group.Record{At: before(d), Transition: &group.Transition{From: from, To: to, Cause: cause, At: before(d), After: metav1.Duration{Duration: 90 * time.Second}}}
}

// rollingOut is a fleet with a set in the middle of a rollout, of which a group has
// failed, and some others.
func rollingOut() *world {
	w := &world{revisions: map[string][]*appsv1.ControllerRevision{}, groups: map[string]controller.DebugSet{}}
	idle := w.add("blue", "idle", 1, is(v1.ConditionAvailable, v1.ReasonAllGroupsReady, "All replicas are ready"))
	idle.Status.CurrentRevision = "bbb"
	idle.Status.Replicas, idle.Status.ReadyReplicas, idle.Status.UpdatedReplicas = 1, 1, 1
	idle.Status.Groups = &v1.GroupCounts{Ready: 1}
	w.groups["blue/idle"] = controller.DebugSet{Replicas: 1, UpdateRevision: "bbb", Groups: []controller.DebugGroup{{Phase: group.Ready, Revision: "bbb", Size: 2, Pods: 2}}}
	w.add("blue", "paused", 2, is(v1.ConditionRolloutPaused, v1.ReasonPaused, "No further group is updated"), is(v1.ConditionAvailable, v1.ReasonAllGroupsReady, "All replicas are ready"))
	w.add("green", "fresh", 2).Status = v1.LeaderWorkerSetStatus{}

	web := w.add("green", "web", 4, is(v1.ConditionDegraded, v1.ReasonBudgetExceeded, "Group 0 is left as it is"),
		is(v1.ConditionUpdateInProgress, v1.ReasonGroupsUpdating, "Rolling Upgrade is in progress"), is(v1.ConditionProgressing, v1.ReasonGroupsProgressing, "Replicas are progressing"))
	web.Status.ReadyReplicas, web.Status.UpdatedReplicas = 1, 1
	web.Status.Groups = &v1.GroupCounts{Pending: 1, WorkersStarting: 1, Recycling: 1, Ready: 1, Failed: 1}
	web.Status.GroupRestarts = []v1.GroupRestarts{
		{Index: 2, Revision: "aaa", Count: 1, LastAt: metav1.NewTime(before(3 * time.Minute)), Reason: "container main of pod web-2-1 restarted (exit code 137, OOMKilled)"},
		{Index: 0, Revision: "aaa", Count: 3, LastAt: metav1.NewTime(before(time.Hour)), Reason: "pod web-0 ended with phase Failed"},
	}
	w.revisions["green/web"] = []*appsv1.ControllerRevision{stored("bbb", 2), stored("aaa", 1)}
	w.groups["green/web"] = controller.DebugSet{Namespace: "green", Name: "web", Replicas: 4, UpdateRevision: "bbb", Groups: []controller.DebugGroup{
		{Index: 0, Phase: group.Failed, Since: before(time.Hour), Revision: "aaa", Incarnation: 4, Size: 2, Pods: 2, WaitingFor: "somebody's help: maxGroupRestarts is spent",
			Journal: []group.Record{changed(group.WorkersStarting, group.Ready, "every pod Ready", 2*time.Hour), changed(group.Ready, group.Failed, "restart budget spent", time.Hour)}},
		{Index: 2, Phase: group.Recycling, Since: before(3 * time.Minute), Revision: "aaa", Incarnation: 1, Size: 2, Pods: 2, Terminating: 2, WaitingFor: "2 pods to be gone (Failure)",
			Journal: []group.Record{
				{At: before(4 * time.Minute), Event: &group.Event{Kind: group.PodObserved, Pod: &group.Pod{Name: "web-2-1", Phase: "Running", Ready: true, Restarts: 1}}},
				changed(group.WorkersStarting, group.Ready, "every pod Ready", time.Hour), changed(group.Ready, group.Recycling, "Failure", 3*time.Minute)}},
		{Index: 3, Phase: group.Ready, Since: before(time.Minute), Revision: "bbb", Incarnation: 2, Size: 2, Pods: 2},
		{Index: 4, Phase: group.WorkersStarting, Since: before(2 * time.Second), Revision: "bbb", Incarnation: 1, Size: 2, Pods: 2, WaitingFor: "pod web-4-1 to become Ready"},
	}}
	return w
}

// text is what a page says, without its marks.
func text(html string) string {
	_, html, _ = strings.Cut(html, "<main>")
	html, _, _ = strings.Cut(html, "</main>")
	var b strings.Builder
	for i, part := range strings.Split(html, "<") {
		if _, after, found := strings.Cut(part, ">"); found && i > 0 {
			part = after
		}
		b.WriteString(part + " ")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// crowd is one set of so many groups whose journals are full and whose reasons are long,
// some of them in trouble.
func crowd(n int32) *world {
	w := &world{revisions: map[string][]*appsv1.ControllerRevision{}, groups: map[string]controller.DebugSet{}}
	set := w.add("default", strings.Repeat("long-name-", 5), n, is(v1.ConditionProgressing, v1.ReasonGroupsProgressing, "Replicas are progressing"))
	s := controller.DebugSet{Replicas: n, UpdateRevision: "bbb"}
	for i := range n {
		g := controller.DebugGroup{Index: i, Phase: looks[int(i)%len(looks)].Phase, Since: before(time.Minute), Revision: "aaa", Incarnation: 7, Size: 2, Pods: 2,
			WaitingFor: fmt.Sprintf("pod %s-%d: %s", set.Name, i, strings.Repeat("0/5 nodes are available: 5 Insufficient nvidia.com/gpu. ", 10))}
		for range 16 {
			g.Journal = append(g.Journal, changed(group.Ready, group.Recycling, "Failure", time.Hour), changed(group.Recycling, group.Pending, "all pods gone", time.Hour))
		}
		s.Groups = append(s.Groups, g)
		set.Status.GroupRestarts = append(set.Status.GroupRestarts, v1.GroupRestarts{Index: i, Revision: "aaa", Count: 3, LastAt: metav1.NewTime(before(time.Hour)),
			Reason: fmt.Sprintf("container main of pod %s-%d-1 restarted (exit code 137, OOMKilled)", set.Name, i)})
	}
	w.groups[set.Namespace+"/"+set.Name] = s
	return w
}

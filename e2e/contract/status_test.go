package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(3), harness.Size(2))))
	status := raw(t, set)["status"].(map[string]any)
	key := oneRevision(t, set).Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"]
	for _, c := range status["conditions"].([]any) {
		c := c.(map[string]any)
		if c["observedGeneration"] != float64(set.Generation) {
			t.Errorf("condition %v is of generation %v, the set of %d", c["type"], c["observedGeneration"], set.Generation)
		}
	}
	delete(status, "conditions") // see TestConditions
	want := map[string]any{
		"replicas": 3., "readyReplicas": 3., "updatedReplicas": 3., "observedGeneration": 1.,
		"hpaPodSelector":  "leaderworkerset.sigs.k8s.io/name=web,leaderworkerset.sigs.k8s.io/worker-index=0",
		"currentRevision": key, "updateRevision": key, "establishedReplicas": 3.,
		"groups": map[string]any{"pending": 0., "leaderReady": 0., "workersStarting": 0., "ready": 3., "recycling": 0., "failed": 0.},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (- want, + got):\n%s", diff)
	}

	scale := raw(t, set, "scale")
	wantScale := map[string]any{"replicas": 3., "selector": "leaderworkerset.sigs.k8s.io/name=web,leaderworkerset.sigs.k8s.io/worker-index=0"}
	if diff := cmp.Diff(wantScale, scale["status"]); diff != "" {
		t.Errorf("status of the scale subresource (- want, + got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"replicas": 3.}, scale["spec"]); diff != "" {
		t.Errorf("spec of the scale subresource (- want, + got):\n%s", diff)
	}
	// What the selector selects are the leaders.
	leaders, err := env.Kube.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: wantScale["selector"].(string)})
	if err != nil || len(leaders.Items) != 3 {
		t.Errorf("the selector selects %d pods (%v), want the 3 leaders", len(leaders.Items), err)
	}
}

func TestPrinterColumns(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2))))
	for _, resource := range []string{"lws", "leaderworkerset", "leaderworkersets.leaderworkerset.x-k8s.io"} {
		lines := strings.Split(env.Kubectl(t, "get", "-n", ns, resource), "\n")
		if got, want := strings.Join(strings.Fields(lines[0]), " "), "NAME READY DESIRED UP-TO-DATE AGE"; got != want {
			t.Errorf("kubectl get %s has columns %q, want %q", resource, got, want)
		}
		if got := strings.Join(strings.Fields(lines[1])[:4], " "); got != "web 2 2 2" {
			t.Errorf("kubectl get %s shows %q, want %q", resource, got, "web 2 2 2")
		}
	}
}

// condition is one condition as clients see it, but for its times.
type condition struct{ Status, Reason, Message string }

func conditions(set *harness.Set) map[string]condition {
	out := map[string]condition{}
	for _, c := range set.Status.Conditions {
		out[c.Type] = condition{string(c.Status), c.Reason, c.Message}
	}
	return out
}

// TestConditions follows a set through creation, an update and the way back. Each
// status that was ever stored is checked against the rules that hold of all.
func TestConditions(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2),
		harness.Leader(harness.Annotated(cluster.AnnotationHold, ""))))
	env.WaitCondition(t, set, "Progressing", "True")
	got := conditions(env.Get(t, set))
	want := map[string]condition{
		"Progressing": {"True", "GroupsProgressing", "Replicas are progressing"},
		"Reconciling": {"True", "GroupsProgressing", "Replicas are progressing"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions of a new set (- want, + got):\n%s", diff)
	}
	set = unholdUntil(t, set, "the set to be Available", func(c map[string]condition) bool { return c["Available"].Status == "True" })
	got = conditions(set)
	if want := (condition{"True", "AllGroupsReady", "All replicas are ready"}); got["Available"] != want {
		t.Errorf("Available is %v, want %v", got["Available"], want)
	}
	if p := got["Progressing"]; p.Status != "False" || p.Reason != "GroupsProgressing" || p.Message == "Replicas are progressing" || p.Message == "" {
		t.Errorf("Progressing is %v, want False with its old reason and a message that says what is", p)
	}
	for _, never := range []string{"UpdateInProgress", "Degraded", "RolloutPaused", "Stalled"} {
		if _, there := got[never]; there {
			t.Errorf("%s was added before it was ever True", never)
		}
	}

	// Scaling is no update.
	env.Scale(t, set, 3)
	env.WaitCondition(t, set, "Available", "False")
	set = unholdUntil(t, set, "the set to be Available", func(c map[string]condition) bool { return c["Available"].Status == "True" })
	if _, there := conditions(set)["UpdateInProgress"]; there {
		t.Error("scaling added UpdateInProgress")
	}
	image := func(image string) {
		env.Update(t, set, func(s *harness.Set) {
			s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = image
		})
	}
	image("example.com/worker:2")
	updating := env.WaitCondition(t, set, "UpdateInProgress", "True")
	if updating.Reason != "GroupsUpdating" || updating.Message != "Rolling Upgrade is in progress" {
		t.Errorf("UpdateInProgress has %s: %s", updating.Reason, updating.Message)
	}
	image("example.com/worker:1")
	set = unholdUntil(t, set, "the update to be over", func(c map[string]condition) bool {
		return c["UpdateInProgress"].Status == "False" && c["Available"].Status == "True"
	})
	got = conditions(set)
	if u := got["UpdateInProgress"]; u.Reason != "GroupsUpdating" || u.Message == "Rolling Upgrade is in progress" {
		t.Errorf("UpdateInProgress is %v after the update", u)
	}
	checkHistory(t, set)
}

// unholdUntil lets go the pods that are held, also those still to come, until the
// conditions are as wanted.
func unholdUntil(t *testing.T, set *harness.Set, what string, done func(map[string]condition) bool) *harness.Set {
	t.Helper()
	harness.WaitFor(t, what, harness.DefaultTimeout, func() (bool, string) {
		for _, p := range env.Pods(t, set) {
			if _, held := p.Annotations[cluster.AnnotationHold]; held {
				env.Annotate(t, set.Namespace, p.Name, cluster.AnnotationHold, nil)
			}
		}
		set = env.Get(t, set)
		return set.Status.ObservedGeneration == set.Generation && done(conditions(set)), env.Describe(t, set)
	})
	return set
}

// checkHistory goes through all statuses of the set that the controller wrote.
func checkHistory(t *testing.T, set *harness.Set) {
	t.Helper()
	var before *lwsv1.LeaderWorkerSetStatus
	n := 0
	for _, r := range env.Requests(t, set.Namespace, time.Time{}) {
		if r.ObjectRef.Subresource != "status" || r.ObjectRef.Resource != "leaderworkersets" || r.ResponseStatus.Code >= 300 {
			continue
		}
		var s harness.Set
		if err := json.Unmarshal(r.ResponseObject.Raw, &s); err != nil {
			t.Fatal(err)
		}
		n++
		for _, problem := range problems(before, &s) {
			t.Errorf("status write %d: %s\n%s", n, problem, r.ResponseObject.Raw)
		}
		before = s.Status.DeepCopy()
	}
	if n == 0 {
		t.Error("no status was written")
	}
}

// problems are the rules about conditions that a status breaks, given the status
// before.
func problems(before *lwsv1.LeaderWorkerSetStatus, set *harness.Set) (out []string) {
	is := func(kind string) bool { return conditions(set)[kind].Status == "True" }
	if is("Available") && (is("Progressing") || is("UpdateInProgress")) {
		out = append(out, "Available together with Progressing or UpdateInProgress")
	}
	if is("UpdateInProgress") && !is("Progressing") {
		out = append(out, "UpdateInProgress without Progressing")
	}
	if is("Progressing") != is("Reconciling") {
		out = append(out, "Progressing and Reconciling differ")
	}
	if set.Status.HPAPodSelector == "" {
		out = append(out, "no selector")
	}
	if set.Status.ObservedGeneration > set.Generation {
		out = append(out, "a generation from the future")
	}
	for _, c := range set.Status.Conditions {
		var old *metav1.Condition
		if before != nil {
			if i := slices.IndexFunc(before.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type }); i >= 0 {
				old = &before.Conditions[i]
			}
		}
		switch {
		case old == nil && c.Status != "True":
			out = append(out, c.Type+" was added without being True")
		case old != nil && old.Status == c.Status && !old.LastTransitionTime.Equal(&c.LastTransitionTime):
			out = append(out, c.Type+": the transition time moved without a transition")
		case old != nil && old.Status != c.Status && c.LastTransitionTime.Before(&old.LastTransitionTime):
			out = append(out, c.Type+": the transition time went back")
		}
		if c.ObservedGeneration != set.Status.ObservedGeneration {
			out = append(out, c.Type+" is of another generation than the status")
		}
	}
	if before != nil && len(set.Status.Conditions) < len(before.Conditions) {
		out = append(out, "a condition went away")
	}
	return out
}

// TestNoReplicas: a set of 0 groups is Available and has a selector.
func TestNoReplicas(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(0))))
	if set.Status.HPAPodSelector == "" || set.Status.CurrentRevision == "" || set.Status.CurrentRevision != set.Status.UpdateRevision {
		t.Errorf("status %+v", set.Status)
	}
	scale := raw(t, set, "scale")
	if scale["status"].(map[string]any)["selector"] == nil {
		t.Errorf("scale without selector: %v", scale)
	}
	checkHistory(t, set)
}

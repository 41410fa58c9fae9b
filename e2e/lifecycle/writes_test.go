package lifecycle

import (
	"testing"
	"time"

	"lws-controller/e2e/harness"
)

const statusWrites = "patch leaderworkersets/status"

// expectWrites fails the test unless the controller wrote exactly what is wanted,
// and the status at least once and at most so many times.
func expectWrites(t *testing.T, ns string, since time.Time, mostStatus int, want harness.Counts) {
	t.Helper()
	time.Sleep(settled)
	got := env.Writes(t, ns, since)
	status := got[statusWrites]
	delete(got, statusWrites)
	for what, n := range want {
		if got[what] != n {
			t.Errorf("%d times %s, want %d", got[what], what, n)
		}
	}
	for what, n := range got {
		if want[what] == 0 {
			t.Errorf("%d times %s, want none", n, what)
		}
	}
	if status < 1 || status > mostStatus {
		t.Errorf("%d writes of the status, want 1 to %d", status, mostStatus)
	}
	if t.Failed() {
		t.Logf("besides %d writes of the status:\n%s", status, got)
	}
}

// TestWritesOfCreation counts what 3 groups of 4 pods cost, and that a set that has
// converged costs nothing.
func TestWritesOfCreation(t *testing.T) {
	t.Parallel()
	ns, start := env.Namespace(t), time.Now()
	available(t, ns, "web", harness.Replicas(3), harness.Size(4))
	// Conditions at once: Progressing, Available. Counts: twice a second.
	expectWrites(t, ns, start, 8, harness.Counts{
		"create pods": 12, "create services": 1, "create controllerrevisions": 1, "patch pods/status": 3})
	quiet(t, ns)
}

func TestWritesOfScaleDown(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(4), harness.Size(3), harness.UniquePerReplica)
	time.Sleep(settled)
	start := time.Now()
	env.Scale(t, set, 1)
	env.WaitAvailable(t, set)
	harness.WaitFor(t, "three groups to be gone", harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == 3, env.Describe(t, env.Get(t, set))
	})
	expectWrites(t, ns, start, 10, harness.Counts{"delete pods": 9, "delete services": 3})
	quiet(t, ns)
}

func TestWritesOfRecreation(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(3), harness.Size(4))
	time.Sleep(settled)
	before, start := uids(env.Pods(t, set)), time.Now()
	env.DeletePod(t, ns, "web-1-2")
	waitRestored(t, set, before, ofGroup(set, 1)...)
	expectWrites(t, ns, start, 10, harness.Counts{"delete pods": 3, "create pods": 4, "patch pods/status": 1})
	quiet(t, ns)
}

// TestLabelsOfTheSet: labels and annotations of the set itself concern no pod.
func TestLabelsOfTheSet(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(2), harness.Size(2))
	time.Sleep(settled)
	before, start := uids(env.Pods(t, set)), time.Now()
	env.Update(t, set, func(s *harness.Set) {
		s.Labels = map[string]string{"team": "serving", "leaderworkerset.sigs.k8s.io/name": "other"}
		s.Annotations = map[string]string{"example.com/ticket": "42"}
	})
	time.Sleep(settled)
	if writes := env.Writes(t, ns, start); len(writes) > 0 {
		t.Errorf("labels of the set caused writes:\n%s", writes)
	}
	replaced(t, set, before)
}

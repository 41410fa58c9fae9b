package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	// With its own limits the garbage collector would be what takes time.
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// available creates a set, waits until it is Available, and returns it.
func available(t *testing.T, ns, name string, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, name, options...)))
}

// uids are the UIDs of pods by name.
func uids(pods []corev1.Pod) map[string]types.UID {
	out := map[string]types.UID{}
	for _, p := range pods {
		out[p.Name] = p.UID
	}
	return out
}

// replaced compares the pods of a set with those it had before, and fails the test
// unless exactly the pods named have been replaced and all others are the same.
func replaced(t *testing.T, set *harness.Set, before map[string]types.UID, names ...string) {
	t.Helper()
	after := uids(env.Pods(t, set))
	if len(after) != len(before) {
		t.Errorf("%d pods, before %d", len(after), len(before))
	}
	for name, uid := range before {
		now, exists := after[name]
		switch {
		case !exists:
			t.Errorf("pod %s is missing", name)
		case slices.Contains(names, name) && now == uid:
			t.Errorf("pod %s is still the same", name)
		case !slices.Contains(names, name) && now != uid:
			t.Errorf("pod %s was replaced", name)
		}
	}
}

// ofGroup are the names of the pods of a group.
func ofGroup(set *harness.Set, index int) (names []string) {
	leader := fmt.Sprintf("%s-%d", set.Name, index)
	names = append(names, leader)
	for w := int32(1); w < *set.Spec.LeaderWorkerTemplate.Size; w++ {
		names = append(names, fmt.Sprintf("%s-%d", leader, w))
	}
	return names
}

// incarnation fails the test unless all pods of the group are of this incarnation.
func incarnation(t *testing.T, set *harness.Set, index int, want string) {
	t.Helper()
	for _, name := range ofGroup(set, index) {
		if got := env.Pod(t, set.Namespace, name).Annotations["leaderworkerset.x-k8s.io/incarnation"]; got != want {
			t.Errorf("pod %s is of incarnation %s, want %s", name, got, want)
		}
	}
}

// waitRestored waits until the pods named are others than before and the set is
// Available.
func waitRestored(t *testing.T, set *harness.Set, before map[string]types.UID, names ...string) *harness.Set {
	t.Helper()
	harness.WaitFor(t, fmt.Sprintf("%v to be replaced", names), harness.DefaultTimeout, func() (bool, string) {
		now := uids(env.Pods(t, set))
		for _, name := range names {
			if now[name] == "" || now[name] == before[name] {
				return false, env.Describe(t, env.Get(t, set))
			}
		}
		return true, ""
	})
	return env.WaitAvailable(t, set)
}

// settled is how long to look for what must not happen, and until coalesced writes
// of the status have gone out: the controller acts within milliseconds.
const settled = 1500 * time.Millisecond

// quiet fails the test if the controller writes anything about the namespace for a
// while, or if the namespace is not as it must be when all is done.
func quiet(t *testing.T, ns string) {
	t.Helper()
	time.Sleep(settled)
	since := time.Now()
	time.Sleep(settled)
	if writes := env.Writes(t, ns, since); len(writes) > 0 {
		t.Errorf("nothing happens, but the controller writes:\n%s", writes)
	}
	env.AtRest(t, ns)
}

// blocked waits until the set reports, by event and condition, that a name is
// taken.
func blocked(t *testing.T, set *harness.Set, name string) {
	t.Helper()
	env.WaitEvent(t, set, "Warning", "NameTaken", name)
	if c := env.WaitCondition(t, set, "Degraded", "True"); c.Reason != "NameTaken" || !strings.Contains(c.Message, name) {
		t.Errorf("Degraded has %s: %s; want NameTaken and the name %s", c.Reason, c.Message, name)
	}
}

// unblocked waits until the set is Available and no longer Degraded.
func unblocked(t *testing.T, set *harness.Set) {
	t.Helper()
	env.WaitAvailable(t, set)
	env.WaitCondition(t, set, "Degraded", "False")
}

package robust

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestScale creates and deletes 50 groups of 8 pods. Times depend on the machine
// and are only told; what is asserted is the number of requests.
func TestScale(t *testing.T) { // not in parallel, for the sake of the times
	skipShort(t)
	const replicas, size = 50, 8
	e := ownEnv(t, cluster.Options{RaisedLimits: true, Nodes: 8})
	ctl := harness.StartProgram(t, e.Cluster, plainProgram(t))
	ctl.Ready(t)
	ns := e.Namespace(t)
	t.Logf("memory before: %.0f MiB", memory(t, ctl))

	start := time.Now()
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(replicas), harness.Size(size)))
	harness.WaitFor(t, "all groups", 3*time.Minute, func() (bool, string) {
		set = e.Get(t, set)
		state := condition(set, lwsv1.ConditionAvailable)
		return state == "True AllGroupsReady: All replicas are ready" && set.Status.ReadyReplicas == replicas, state
	})
	took := time.Since(start)
	waitQuiet(t, e, ns, 2*time.Second)
	writes := e.Writes(t, ns, start)
	t.Logf("%d groups of %d pods Available after %s, with default requests' limits (none), memory %.0f MiB, writes:\n%s",
		replicas, size, took.Round(100*time.Millisecond), memory(t, ctl), writes)
	assertMadeOnce(t, e, allLogged, set)
	for what, want := range map[string]int{
		"create pods":                replicas * size,
		"patch pods/status":          replicas, // GroupReady
		"create services":            1,
		"create controllerrevisions": 1,
	} {
		if writes[what] != want {
			t.Errorf("%d × %s, want %d", writes[what], what, want)
		}
		delete(writes, what)
	}
	const status = "patch leaderworkersets/status"
	if most := int(2*took.Seconds()) + 6; writes[status] > most {
		t.Errorf("%d × %s in %s, want at most %d", writes[status], status, took, most)
	}
	delete(writes, status)
	if len(writes) > 0 {
		t.Errorf("other writes:\n%s", writes)
	}
	assertDeletionCostsNothing(t, e, set)
}

// assertDeletionCostsNothing deletes the set in the background: the garbage
// collector does the work, the controller writes nothing.
func assertDeletionCostsNothing(t *testing.T, e *harness.Env, set *harness.Set) {
	t.Helper()
	start := time.Now()
	if err := e.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the pods to go", 3*time.Minute, func() (bool, string) {
		pods := e.Pods(t, set)
		return len(pods) == 0, e.Describe(t, set)
	})
	t.Logf("deleted after %s", time.Since(start).Round(100*time.Millisecond))
	if writes := e.Writes(t, set.Namespace, start); len(writes) > 0 {
		t.Errorf("the deletion led to writes:\n%s", writes)
	}
}

// memory is the resident memory of the controller in MiB, as it says itself.
func memory(t *testing.T, ctl *harness.Controller) float64 {
	t.Helper()
	_, body, err := ctl.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families["process_resident_memory_bytes"].GetMetric() {
		return m.GetGauge().GetValue() / (1 << 20)
	}
	return 0
}

package failure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// The tests in this file change what all others rely on, so they are not parallel: they
// run before those that are.

// TestControllerDown: what fails while no controller runs means one recreation when one
// does again.
func TestControllerDown(t *testing.T) {
	set := available(t, env.Namespace(t), harness.Replicas(3), harness.Size(2))
	env.Controller.Kill(t)
	failures["restarted"].do(t, set.Namespace, "web-0-1")
	failures["forced"].do(t, set.Namespace, "web-1")
	failures["deleted"].do(t, set.Namespace, "web-2-1")
	harness.WaitFor(t, "the pods to be gone", harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == 4, env.Describe(t, env.Get(t, set))
	})
	env.Controller.Start(t)
	env.Controller.Ready(t)
	waitIncarnations(t, set, "2", "2", "2")
	stays(t, set, "2", "2", "2")
	counted(t, set, 1)
	env.AtRest(t, set.Namespace)
}

// ownFields are what no other version of the CRD has in the status.
var ownFields = []string{"currentRevision", "updateRevision", "groups", "establishedReplicas", "recycling", "groupRestarts"}

// applyCRD applies our CRD, or one that lacks our fields as the published one does.
func applyCRD(t *testing.T, ours bool) {
	t.Helper()
	path := filepath.Join("..", "..", "deploy", "crd", "leaderworkerset.x-k8s.io_leaderworkersets.yaml")
	if !ours {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		fields := []string{"spec.leaderWorkerTemplate.maxGroupRestarts"}
		for _, field := range ownFields {
			fields = append(fields, "status."+field)
		}
		for _, field := range fields {
			at := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
			path := strings.Split(field, ".")
			for _, name := range path[:len(path)-1] {
				at = at["properties"].(map[string]any)[name].(map[string]any)
			}
			last := path[len(path)-1]
			delete(at["properties"].(map[string]any), last)
			if rules, ok := at["x-kubernetes-validations"].([]any); ok {
				at["x-kubernetes-validations"] = slices.DeleteFunc(rules, func(rule any) bool {
					return rule.(map[string]any)["fieldPath"] == "."+last
				})
			}
		}
		if data, err = yaml.Marshal(crd); err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", path)
}

// TestOutdatedCRD: under a CRD that drops what is put on record, failed groups are
// recreated with backoff, the condition says so, nothing is written without need, and it
// heals when our CRD is back. That the set has lost its restart budget by it is no
// update.
func TestOutdatedCRD(t *testing.T) {
	set := available(t, env.Namespace(t), harness.Replicas(2), harness.Size(2), maxGroupRestarts(5))
	env.Unrecorded = append(env.Unrecorded, set.Namespace)
	applyCRD(t, false)
	t.Cleanup(func() { applyCRD(t, true) })
	harness.WaitFor(t, "the CRD to be in force", harness.DefaultTimeout, func() (bool, string) {
		s := env.Update(t, set, func(s *harness.Set) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.com/touched", time.Now().String())
		})
		return s.Status.Groups == nil, "it is not"
	})
	if c := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue); c.Reason != "CRDOutdated" {
		t.Errorf("Degraded: %s: %s", c.Reason, c.Message)
	}
	env.WaitEvent(t, set, "Warning", "CRDOutdated")
	set = env.Scale(t, set, 1)
	waitIncarnations(t, set, "1")
	set = env.Scale(t, set, 2)
	waitIncarnations(t, set, "1", "1")

	begun := time.Now()
	failures["restarted"].do(t, set.Namespace, "web-1-1")
	waitIncarnations(t, set, "1", "2")
	failures["restarted"].do(t, set.Namespace, "web-1-1")
	waitIncarnations(t, set, "1", "3")
	if took := time.Since(begun); took < 8*time.Second { // times on record are whole seconds
		t.Errorf("the second recreation came after %s, without backoff", took)
	}
	time.Sleep(settled)
	since := time.Now()
	time.Sleep(settled)
	// What the CRD dropped is tried again every half minute.
	if writes := env.Writes(t, set.Namespace, since); len(writes) > 1 {
		t.Errorf("nothing happens, but the controller writes:\n%s", writes)
	}
	// The next write that the API server stores as it is meant ends it.
	applyCRD(t, true)
	failures["deleted"].do(t, set.Namespace, "web-0-1")
	waitIncarnations(t, set, "2", "3")
	env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionFalse)
	counted(t, set, 2)
	stays(t, set, "2", "3")
	if budget := env.Get(t, set).Spec.LeaderWorkerTemplate.MaxGroupRestarts; budget != nil {
		t.Errorf("maxGroupRestarts is %d still: nothing was lost", *budget)
	}
	env.Controller.Kill(t)
	env.Controller.Start(t)
	env.Controller.Ready(t)
	stays(t, set, "2", "3")
	revisions, err := env.Kube.AppsV1().ControllerRevisions(set.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(revisions.Items) != 1 {
		t.Errorf("%d revisions, want the one that there was (%v)", len(revisions.Items), err)
	}
}

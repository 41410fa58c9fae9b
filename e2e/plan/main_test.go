package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/cli/plan"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// manifest writes what of a set people write into a file.
func manifest(t *testing.T, set *harness.Set) string {
	t.Helper()
	object := map[string]any{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": set.Spec,
		"metadata": metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name, Annotations: set.Annotations}}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// agent is the user agent of the command.
const agent = "lws-plan-test"

// run runs the command and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := plan.NewCommand(agent)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"--kubeconfig", env.Cluster.Kubeconfig()}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// planned is the report of the command.
func planned(t *testing.T, args ...string) *plan.Report {
	t.Helper()
	out, err := run(t, append(args, "-o", "json")...)
	if err != nil {
		t.Fatalf("plan %v: %v\n%s", args, err, out)
	}
	var r plan.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("plan %v: %v\n%s", args, err, out)
	}
	return &r
}

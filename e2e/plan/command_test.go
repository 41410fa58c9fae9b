package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/cli/plan"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestNewSet plans a set that does not exist yet, which must not make it exist.
func TestNewSet(t *testing.T) {
	t.Parallel()
	set := harness.NewSet(env.Namespace(t), "web", harness.Replicas(3), harness.Size(2))
	r := planned(t, "-f", manifest(t, set))
	if len(r.Steps) != 1 || r.Steps[0].Action != plan.ActionCreate || len(r.Steps[0].Groups) != 3 || r.Ready.After != 3 || !r.Ends {
		t.Errorf("planned is %+v", r)
	}
	list, err := env.Sets.LeaderWorkerSets(set.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("there are %d sets, %v", len(list.Items), err)
	}
}

// TestRefused plans what the API server or the controller would refuse.
func TestRefused(t *testing.T) {
	t.Parallel()
	set := harness.NewSet(env.Namespace(t), "web", harness.Size(2))
	env.Kubectl(t, "apply", "-f", manifest(t, set))
	env.WaitAvailable(t, set)
	bad := set.DeepCopy()
	budget("0", "0", 0)(bad)
	misspelt := filepath.Join(t.TempDir(), "set.yaml")
	data, err := os.ReadFile(manifest(t, set))
	if err == nil {
		err = os.WriteFile(misspelt, bytes.Replace(data, []byte("startupPolicy"), []byte("startupPolcy"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"spec":           {[]string{"-f", manifest(t, bad)}, "maxUnavailable"},
		"unknown field":  {[]string{"-f", misspelt}, `unknown field "spec.startupPolcy"`},
		"annotation":     {[]string{"web", "-n", set.Namespace, "--annotate", "max-surge=many"}, "max-surge"},
		"no such set":    {[]string{"other", "-n", set.Namespace}, "not found"},
		"namespace":      {[]string{"-f", manifest(t, set), "-n", "default"}, "not of default"},
		"nothing to do":  {nil, "either a manifest"},
		"no file":        {[]string{"-f", "/nowhere.yaml"}, "no such file"},
		"unknown output": {[]string{"web", "-o", "xml"}, "--output"},
	} {
		if out, err := run(t, test.args...); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want %q in it; printed %s", name, err, test.says, out)
		}
	}
	out, err := run(t, "web", "-n", set.Namespace, "--annotate", "undo=7")
	if err != nil || !strings.Contains(out, "nothing would be undone (7): there is no such revision") || !strings.Contains(out, "none: no group is created or taken down") {
		t.Errorf("undo of what does not exist: %v\n%s", err, out)
	}
}

// TestReadOnly looks up in the audit log that the command only reads and tries.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	set := harness.NewSet(env.Namespace(t), "web", harness.Size(2))
	env.Kubectl(t, "apply", "-f", manifest(t, set))
	env.WaitAvailable(t, set)
	first := manifest(t, set)
	harness.Size(3)(set)
	env.Kubectl(t, "apply", "-f", manifest(t, set))
	planned(t, "-f", first)
	planned(t, set.Name, "-n", set.Namespace, "--annotate", "undo=previous")
	events, err := env.Cluster.Audit(cluster.AuditFilter{Namespace: set.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	for _, e := range events {
		switch {
		case e.UserAgent != agent, e.Verb == "get", e.Verb == "list":
		case strings.Contains(e.RequestURI, "dryRun=All"):
			tried[e.Verb]++
		default:
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	// The update goes on meanwhile: an undo may be tried more than once.
	if tried["update"] == 0 || tried["patch"] != 1+tried["update"] {
		t.Errorf("dry runs: %v, want a patch, and for each try of undo a patch and an update", tried)
	}
}

// TestStdin plans what comes on standard input, in a namespace that the command line
// names.
func TestStdin(t *testing.T) {
	t.Parallel()
	set := harness.NewSet("", "web", harness.Replicas(2))
	file, err := os.Open(manifest(t, set))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := plan.NewCommand(agent)
	var out strings.Builder
	cmd.SetIn(file)
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--kubeconfig", env.Cluster.Kubeconfig(), "-f", "-", "-n", env.Namespace(t)})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "create groups 0, 1 at revision") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

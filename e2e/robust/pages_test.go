package robust

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

// TestPages reads what the controller serves, with one set Available.
func TestPages(t *testing.T) {
	t.Parallel()
	ns := sharedNamespace
	if _, err := env.Kube.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		env.Cluster.NamespaceT(t, ns)
	}
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2)))
	// The test may be repeated. A test's own context has ended by then.
	t.Cleanup(func() {
		foreground := metav1.DeletePropagationForeground
		if err := env.Sets.LeaderWorkerSets(ns).Delete(context.Background(), set.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
			t.Error(err)
		}
		harness.WaitFor(t, "the set to go", harness.DefaultTimeout, func() (bool, string) {
			_, err := env.Sets.LeaderWorkerSets(ns).Get(context.Background(), set.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	})
	env.WaitAvailable(t, set)
	t.Run("healthz", func(t *testing.T) { assertPage(t, "/healthz", "ok\n") })
	t.Run("readyz", func(t *testing.T) { assertPage(t, "/readyz", "ok\n") })
	t.Run("readyz verbose", func(t *testing.T) {
		assertPage(t, "/readyz?verbose", "[+] caches ok\n", "[+] lease ok\n", "leading: true\n", "ok\n")
	})
	t.Run("metrics", testMetrics)
	t.Run("debug groups", func(t *testing.T) { testDebugGroups(t, ns) })
	t.Run("no profiles unasked", func(t *testing.T) {
		if status, _, err := env.Controller.Get("/debug/pprof/"); err != nil || status != http.StatusNotFound {
			t.Errorf("got %d %v, want 404", status, err)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		url, err := env.Controller.URL("/debug/groups")
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(url, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("a POST is answered %d, want 405", resp.StatusCode)
		}
	})
}

func page(t *testing.T, path string) []byte {
	t.Helper()
	status, body, err := env.Controller.Get(path)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %v\n%s", path, status, err, body)
	}
	return body
}

func assertPage(t *testing.T, path string, parts ...string) {
	t.Helper()
	body := string(page(t, path))
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%s lacks %q:\n%s", path, part, body)
		}
	}
}

func testMetrics(t *testing.T) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page(t, "/metrics")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name, label, value string
		holds              func(float64) bool
	}{
		{"workqueue_depth", "name", "leaderworkerset", func(v float64) bool { return v >= 0 }},
		{"workqueue_adds_total", "name", "leaderworkerset", func(v float64) bool { return v > 0 }},
		{"rest_client_requests_total", "method", "POST", func(v float64) bool { return v >= 4 }}, // the pods
		{"rest_client_requests_total", "code", "201", func(v float64) bool { return v >= 4 }},
		{"leader_election_master_status", "name", "b8b2488c.x-k8s.io", func(v float64) bool { return v == 1 }},
		{"process_cpu_seconds_total", "", "", func(v float64) bool { return v > 0 }},
		{"process_resident_memory_bytes", "", "", func(v float64) bool { return v > 1<<20 }},
		{"go_goroutines", "", "", func(v float64) bool { return v > 5 }},
	} {
		sum, found := 0.0, false
		for _, m := range families[want.name].GetMetric() {
			if want.label == "" || label(m, want.label) == want.value {
				found = true
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		if !found || !want.holds(sum) {
			t.Errorf("%s{%s=%q}: found %t, value %g", want.name, want.label, want.value, found, sum)
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// testDebugGroups reads the page as a stranger would, without the controller's
// types: scripts rely on the names.
func testDebugGroups(t *testing.T, namespace string) {
	var got struct {
		Leading bool
		Sets    []map[string]any
	}
	if err := json.Unmarshal(page(t, "/debug/groups"), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Leading || len(got.Sets) != 1 {
		t.Fatalf("leading %t, %d sets; want true, 1", got.Leading, len(got.Sets))
	}
	set := got.Sets[0]
	if set["namespace"] != namespace || set["name"] != "web" || set["replicas"] != 2.0 || set["updateRevision"] == "" {
		t.Errorf("set: %v", set)
	}
	groups, _ := set["groups"].([]any)
	if len(groups) != 2 {
		t.Fatalf("groups: %v", set["groups"])
	}
	for i, entry := range groups {
		g := entry.(map[string]any)
		if g["index"] != float64(i) || g["phase"] != "Ready" || g["incarnation"] != 1.0 || g["size"] != 2.0 ||
			g["pods"] != 2.0 || g["revision"] != set["updateRevision"] || g["since"] == nil || g["waitingFor"] != nil {
			t.Errorf("group %d: %v", i, g)
		}
		if path := phases(t, g["journal"]); path != "Ready" && !strings.HasSuffix(path, " Ready") {
			t.Errorf("group %d went through %s", i, path)
		}
	}
}

// phases are those that the transitions of a journal lead to, each with a time and
// a cause.
func phases(t *testing.T, journal any) string {
	t.Helper()
	var path []string
	records, _ := journal.([]any)
	for _, r := range records {
		record := r.(map[string]any)
		transition, ok := record["transition"].(map[string]any)
		if !ok {
			continue
		}
		if record["at"] == nil || transition["cause"] == nil || transition["from"] == transition["to"] {
			t.Errorf("transition: %v", record)
		}
		path = append(path, fmt.Sprint(transition["to"]))
	}
	return strings.Join(path, " ")
}

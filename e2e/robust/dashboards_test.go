package robust

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDashboards applies the dashboards as their kustomization says, twice, as people do,
// and finds them as the sidecar of Grafana does.
func TestDashboards(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(source, "deploy", "monitoring", "dashboards")
	for range 2 {
		kubectl(t, "apply", "-k", folder)
	}
	found, err := env.Kube.CoreV1().ConfigMaps(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{LabelSelector: "grafana_dashboard=1"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != len(files) || len(files) == 0 {
		t.Errorf("%d ConfigMaps for %d files", len(found.Items), len(files))
	}
	want := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct{ UID string }
		if err := json.Unmarshal(data, &dashboard); err != nil {
			t.Fatal(err)
		}
		want[dashboard.UID+".json"] = string(data)
	}
	for _, m := range found.Items {
		for name, data := range m.Data {
			if data != want[name] {
				t.Errorf("%s/%s: %s has %d bytes, the file %d", m.Namespace, m.Name, name, len(data), len(want[name]))
			}
		}
	}
}

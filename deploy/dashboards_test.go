package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const dashboards = "monitoring/dashboards"

// annotationLimit is what the API server takes of annotations; kubectl apply puts the
// whole object into one. A ConfigMap itself may have 1 MiB.
const annotationLimit = 256 << 10

// TestDashboardsAreApplied: each is in a ConfigMap of its own that the sidecar of Grafana
// finds, under a name that it keeps, and that kubectl apply can carry.
func TestDashboardsAreApplied(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	k := readKustomization(t, dashboards)
	if o := k.GeneratorOptions; !o.DisableNameSuffixHash || o.Labels["grafana_dashboard"] != "1" || k.Namespace != "kube-system" {
		t.Errorf("options %+v, namespace %s", o, k.Namespace)
	}
	var applied []string
	for _, g := range k.ConfigMapGenerator {
		if len(g.Files) != 1 || !strings.HasPrefix(g.Name, "lws-controller-dashboard-") {
			t.Errorf("ConfigMap %s has the files %v", g.Name, g.Files)
			continue
		}
		key, file, _ := strings.Cut(g.Files[0], "=")
		applied = append(applied, filepath.Join(dashboards, file))
		data, err := os.ReadFile(filepath.Join(dashboards, file))
		if err != nil {
			t.Error(err)
			continue
		}
		var dashboard struct{ UID, Title string }
		if err := json.Unmarshal(data, &dashboard); err != nil || dashboard.Title == "" {
			t.Errorf("%s: %+v, %v", file, dashboard, err)
		}
		// Sidecars write all files into one folder.
		if key != dashboard.UID+".json" {
			t.Errorf("%s has the key %s, want %s.json", file, key, dashboard.UID)
		}
		object, err := json.Marshal(corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name}, Data: map[string]string{key: string(data)}})
		if err != nil {
			t.Fatal(err)
		}
		if len(object) > annotationLimit*9/10 {
			t.Errorf("%s makes a ConfigMap of %d bytes, want at most nine tenths of %d", file, len(object), annotationLimit)
		}
	}
	slices.Sort(files)
	if slices.Sort(applied); !slices.Equal(applied, files) {
		t.Errorf("the kustomization has %v, the folder %v", applied, files)
	}
}

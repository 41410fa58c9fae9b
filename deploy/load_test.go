// Package deploy_test checks the manifests of this folder without a cluster:
// what kubectl applies, whether it is complete, and whether it holds together.
package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const kustomizationFile = "kustomization.yaml"

// manifest is one YAML document of this folder.
type manifest struct {
	path string
	data []byte
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
}

// kustomization holds the parts that these tests read.
type kustomization struct {
	Namespace string   `json:"namespace"`
	Resources []string `json:"resources"`
	Images    []struct {
		Name string `json:"name"`
	} `json:"images"`
	GeneratorOptions struct {
		DisableNameSuffixHash bool              `json:"disableNameSuffixHash"`
		Labels                map[string]string `json:"labels"`
	} `json:"generatorOptions"`
	ConfigMapGenerator []struct {
		Name  string   `json:"name"`
		Files []string `json:"files"`
	} `json:"configMapGenerator"`
}

// yamlFiles lists the YAML files below this folder, by folder.
func yamlFiles(t *testing.T) map[string][]string {
	t.Helper()
	byFolder := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".yaml" || filepath.Ext(path) == ".yml" {
			byFolder[filepath.Dir(path)] = append(byFolder[filepath.Dir(path)], filepath.Base(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return byFolder
}

func readKustomization(t *testing.T, folder string) kustomization {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, kustomizationFile))
	if err != nil {
		t.Fatal(err)
	}
	var k kustomization
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	return k
}

// load returns what `kubectl apply -k folder` applies, before its transformers.
func load(t *testing.T, folder string) []manifest {
	t.Helper()
	var all []manifest
	for _, resource := range readKustomization(t, folder).Resources {
		path := filepath.Join(folder, resource)
		if resource == "" || path == folder {
			t.Fatalf("%s lists itself", folder)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		if info.IsDir() {
			all = append(all, load(t, path)...)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(t, path, data)...)
	}
	return all
}

func parse(t *testing.T, path string, data []byte) []manifest {
	t.Helper()
	var all []manifest
	for _, document := range strings.Split("\n"+string(data), "\n---") {
		if onlyComments(document) {
			continue
		}
		m := manifest{path: path, data: []byte(document)}
		if err := yaml.Unmarshal(m.data, &m); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if m.Kind == "" || m.APIVersion == "" || m.Metadata.Name == "" {
			t.Errorf("%s: document without apiVersion, kind or name", path)
		}
		all = append(all, m)
	}
	return all
}

func onlyComments(document string) bool {
	return !slices.ContainsFunc(strings.Split(document, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && !strings.HasPrefix(line, "#")
	})
}

// one decodes the only manifest of a kind strictly: a misspelt field is an
// error, as it is for kubectl.
func one[T any](t *testing.T, manifests []manifest, kind string) T {
	t.Helper()
	var found []manifest
	for _, m := range manifests {
		if m.Kind == kind {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d objects of kind %s, want 1", len(found), kind)
	}
	return decode[T](t, found[0])
}

func decode[T any](t *testing.T, m manifest) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict(m.data, &object); err != nil {
		t.Errorf("%s: %v", m.path, err)
	}
	return object
}

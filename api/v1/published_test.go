package v1

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const crdFile = "../../deploy/crd/leaderworkerset.x-k8s.io_leaderworkersets.yaml"

// facts are the attributes of each field by path: type, default, enum, bounds,
// list type and map keys, as JSON. Paths are as in .spec.containers[].name, and
// {} stands for the values of a map.
type facts map[string]map[string]string

// attributes are the keywords of a schema that decide what is accepted and
// stored, and how changes of several writers are merged.
var attributes = []string{
	"type", "format", "default", "enum", "pattern", "minimum", "maximum",
	"x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
}

// TestPublishedFields compares the CRD with the one that is published and that
// manifests and other software were written against. testdata/differences.tsv
// has every difference with its reason. The test fails on a difference that is
// not there, and on a line there that explains none.
func TestPublishedFields(t *testing.T) {
	published, ours := publishedFacts(t), crdFacts(t)
	rules := differenceRules(t)
	for _, d := range compare(published, ours) {
		explained := false
		for _, r := range rules {
			if r.matches(d) {
				explained, r.used = true, true
			}
		}
		if !explained {
			t.Errorf("unexplained difference:\n%s\t%s\t%s\t%s", d.path, d.attribute, d.published, d.ours)
		}
	}
	for _, r := range rules {
		if !r.used {
			t.Errorf("line explains no difference any more:\n%s", r.line)
		}
	}
}

// difference of one attribute of one field. The attribute "field" is the
// existence of the field itself; "-" is absence.
type difference struct{ path, attribute, published, ours string }

func compare(published, ours facts) (found []difference) {
	paths := slices.Sorted(maps.Keys(union(published, ours)))
	for _, path := range paths {
		p, inPublished := published[path]
		o, inOurs := ours[path]
		switch {
		case !inPublished:
			if _, known := published[parent(path)]; known {
				found = append(found, difference{path, "field", "-", "present"})
			}
		case !inOurs:
			if _, known := ours[parent(path)]; known {
				found = append(found, difference{path, "field", "present", "-"})
			}
		default:
			for _, a := range slices.Sorted(maps.Keys(union(p, o))) {
				if p[a] != o[a] {
					found = append(found, difference{path, a, orDash(p[a]), orDash(o[a])})
				}
			}
		}
	}
	return found
}

func union[V any](a, b map[string]V) map[string]V {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// parent of .a.b, .a[] and .a{}.
func parent(path string) string {
	if p, ok := strings.CutSuffix(path, "[]"); ok {
		return p
	}
	if p, ok := strings.CutSuffix(path, "{}"); ok {
		return p
	}
	return path[:strings.LastIndexByte(path, '.')]
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// crdFacts reads the CRD of this project.
func crdFacts(t *testing.T) facts {
	t.Helper()
	data, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	f := facts{}
	f.add(t, "", crd.Spec.Versions[0].Schema.OpenAPIV3Schema, false)
	return f
}

func (f facts) add(t *testing.T, path string, schema map[string]any, required bool) {
	t.Helper()
	values := map[string]string{}
	for _, a := range attributes {
		if v, ok := schema[a]; ok {
			j, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			values[a] = string(j)
		}
	}
	if required {
		values["required"] = "true"
	}
	f[path] = values
	names, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		f.add(t, path+"."+name, p.(map[string]any), slices.Contains(names, any(name)))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		f.add(t, path+"[]", items, false)
	}
	if v, ok := schema["additionalProperties"].(map[string]any); ok {
		f.add(t, path+"{}", v, false)
	}
}

// publishedFacts reads lines of a path and attributes, as in
//
//	.spec.replicas	type="integer" default=1 required
func publishedFacts(t *testing.T) facts {
	t.Helper()
	file, err := os.Open("testdata/published-v0.10.0.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	f := facts{}
	lines := bufio.NewScanner(unzipped)
	lines.Scan() // names of the columns
	for lines.Scan() {
		path, rest, _ := strings.Cut(lines.Text(), "\t")
		values, err := parseAttributes(rest)
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		f[path] = values
	}
	if lines.Err() != nil || len(f) < 2000 {
		t.Fatalf("only %d fields read: %v", len(f), lines.Err())
	}
	return f
}

func parseAttributes(s string) (map[string]string, error) {
	values := map[string]string{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, "= ")
		if end < 0 || s[end] == ' ' { // a word alone
			word, rest, _ := strings.Cut(s, " ")
			values[word], s = "true", rest
			continue
		}
		dec := json.NewDecoder(strings.NewReader(s[end+1:]))
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		j, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		values[s[:end]] = string(j)
		s = s[end+1+int(dec.InputOffset()):]
	}
	return values, nil
}

// rule is a line of differences.tsv: path, attribute, published value, our
// value, reason. In a path, <template> is any of the embedded Kubernetes types,
// and * any text.
type rule struct {
	difference
	line string
	path *regexp.Regexp
	used bool
}

func (r *rule) matches(d difference) bool {
	return r.path.MatchString(d.path) && r.attribute == d.attribute && r.published == d.published && r.ours == d.ours
}

func differenceRules(t *testing.T) (rules []*rule) {
	t.Helper()
	data, err := os.ReadFile("testdata/differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 5 || c[4] == "" {
			t.Fatalf("want path, attribute, published, ours and reason, separated by tabs: %q", line)
		}
		pattern := regexp.QuoteMeta(c[0])
		pattern = strings.ReplaceAll(pattern, "<template>", `\.spec\.leaderWorkerTemplate\.(leaderTemplate|workerTemplate|volumeClaimTemplates\[\])`)
		pattern = strings.ReplaceAll(pattern, `\*`, ".*")
		rules = append(rules, &rule{
			difference: difference{"", c[1], c[2], c[3]},
			line:       line,
			path:       regexp.MustCompile(fmt.Sprintf("^%s$", pattern)),
		})
	}
	return rules
}

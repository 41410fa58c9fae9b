package monitoring

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

const (
	docs       = "../../docs/*.md"
	dashboards = "../../deploy/monitoring/dashboards/*.json"
)

// query is one that is shipped.
type query struct {
	from, expr string
	// panel: a dashboard asks for a range of times too.
	panel bool
}

var sample = regexp.MustCompile("(?s)\n```promql\n(.*?)\n```\n")

// shipped are the queries of the documentation, the names of what is recorded, and the
// queries of dashboards.
func shipped(t *testing.T) []query {
	t.Helper()
	var out []query
	for _, file := range glob(t, docs) {
		for _, found := range sample.FindAllStringSubmatch(read(t, file), -1) {
			out = append(out, query{from: file, expr: found[1]})
		}
	}
	if len(out) < 40 {
		t.Errorf("only %d queries are found in %s", len(out), docs)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				out = append(out, query{from: rulesFile, expr: r.Record})
			}
		}
	}
	for _, file := range glob(t, dashboards) {
		out = append(out, panels(t, file)...)
	}
	return out
}

// panels are the queries of a dashboard, and of its variables. A variable stands for all
// of its values, and a time for five minutes: there is no quantile of what was not counted
// in it.
func panels(t *testing.T, file string) []query {
	t.Helper()
	var dashboard any
	if err := json.Unmarshal([]byte(read(t, file)), &dashboard); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var out []query
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				text, isText := v[key].(string)
				switch {
				case key == "expr" && isText:
					out = append(out, query{from: file, expr: substituted(text), panel: true})
				case key == "query" && isText && labelValues.MatchString(text):
					out = append(out, query{from: file, expr: substituted(labelValues.FindStringSubmatch(text)[1])})
				default:
					walk(v[key])
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(dashboard)
	if len(out) == 0 {
		t.Errorf("%s has no queries", file)
	}
	return out
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.+),\s*\w+\)$`)
	duration    = regexp.MustCompile(`\$\{?__(rate_interval|interval|range)\}?`)
	variable    = regexp.MustCompile(`\$\{?\w+(:\w+)?\}?`)
)

func substituted(expr string) string {
	return variable.ReplaceAllString(duration.ReplaceAllString(expr, "5m"), ".*")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// grouped finds the labels that the result of a query must have: those of an outermost
// aggregation.
var grouped = regexp.MustCompile(`^(?:sum|max|min|count|avg) by \(([^)]*)\) \([^()]*(?:\([^()]*\)[^()]*)*\)$`)

// shape says what is wrong with the result of a query.
func shape(q query, v model.Vector) error {
	if len(v) == 0 {
		return fmt.Errorf("no data")
	}
	if !slices.ContainsFunc(v, func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) && !math.IsInf(float64(s.Value), 0) }) {
		return fmt.Errorf("no number in %v", v)
	}
	found := grouped.FindStringSubmatch(q.expr)
	if found == nil {
		return nil
	}
	want := strings.FieldsFunc(found[1], func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(want)
	for _, s := range v {
		var got []string
		for l := range s.Metric {
			got = append(got, string(l))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("labels %v, want %v", s.Metric, want)
		}
	}
	return nil
}

// allQueries runs all that is shipped.
func allQueries(t *testing.T, p *prometheus) {
	all := shipped(t)
	for _, q := range all {
		v, err := p.query(q.expr)
		if err == nil {
			err = shape(q, v)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", q.from, q.expr, err)
			continue
		}
		if !q.panel {
			continue
		}
		if m, err := p.lately(q.expr); err != nil || len(m) == 0 {
			t.Errorf("%s: %s: %d series over time, %v", q.from, q.expr, len(m), err)
		}
	}
	t.Logf("%d queries return data", len(all))
}

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/prometheus/prometheus/promql/parser"
)

// all stands for a variable, as it does where queries are run (doc.go).
const all = ".*"

var (
	times     = regexp.MustCompile(`\$__(rate_interval|range)\b`)
	variables = regexp.MustCompile(`\$\w+`)
)

// substituted is a query that Prometheus understands.
func substituted(expr string) string {
	return variables.ReplaceAllString(times.ReplaceAllString(expr, "1m"), all)
}

// asked is one query of a dashboard.
type asked struct {
	where, expr, legend string
	format              prometheus.PromQueryFormat
}

// queriesOf are those of panels, annotations and variables.
func queriesOf(t *testing.T, d document) []asked {
	t.Helper()
	var out []asked
	for _, p := range panelsOf(d) {
		for _, target := range p.Targets {
			q, ok := target.(prometheus.Dataquery)
			if !ok {
				t.Fatalf("%s: a query of type %T", *p.Title, target)
			}
			out = append(out, asked{*p.Title, q.Expr, *q.LegendFormat, *q.Format})
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != nil {
			out = append(out, asked{where: a.Name, expr: *a.Expr, legend: *a.TitleFormat})
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != dashboard.VariableTypeQuery {
			continue
		}
		m := labelValues.FindStringSubmatch(*v.Query.String)
		if m == nil {
			t.Errorf("variable %s: %s is not of the form label_values(SELECTOR, LABEL)", v.Name, *v.Query.String)
			continue
		}
		out = append(out, asked{where: "variable " + v.Name, expr: m[1], legend: "{{" + m[2] + "}}"})
	}
	return out
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	inLegend    = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// TestQueries: each is one that Prometheus takes, of metrics, labels and values of labels
// that exist, counters with rate and gauges without; and what a legend names is there.
func TestQueries(t *testing.T) {
	metrics, page := served(t)
	p := parser.NewParser(parser.Options{})
	n := 0
	for file, d := range built(t) {
		names := map[string]bool{}
		for _, v := range d.Templating.List {
			names["$"+v.Name] = true
		}
		for _, q := range queriesOf(t, d) {
			n++
			for _, v := range variables.FindAllString(times.ReplaceAllString(q.expr, ""), -1) {
				if !names[v] {
					t.Errorf("%s: %s: there is no variable %s", file, q.where, v)
				}
			}
			expr, err := p.ParseExpr(substituted(q.expr))
			if err != nil {
				t.Errorf("%s: %s: %v", file, q.where, err)
				continue
			}
			c := &checker{metrics: metrics, page: page}
			has := c.labels(expr, false)
			for _, err := range c.errs {
				t.Errorf("%s: %s: %v", file, q.where, err)
			}
			legend(t, file, q, has)
		}
	}
	t.Logf("%d queries", n)
}

// legend: it names labels that are there, and all that tell series apart.
func legend(t *testing.T, file string, q asked, has []string) {
	t.Helper()
	if q.format == prometheus.PromQueryFormatTable {
		return // its labels are columns: TestTables
	}
	if q.legend == "" {
		t.Errorf("%s: %s: no legend for %s", file, q.where, q.expr)
	}
	var named []string
	for _, m := range inLegend.FindAllStringSubmatch(q.legend, -1) {
		named = append(named, m[1])
		if !slices.Contains(has, m[1]) {
			t.Errorf("%s: %s: legend %s: %s has labels %v", file, q.where, q.legend, q.expr, has)
		}
	}
	if strings.HasPrefix(q.where, "variable ") {
		return
	}
	for _, l := range has {
		if !slices.Contains(named, l) {
			t.Errorf("%s: %s: legend %s does not tell series of different %s apart", file, q.where, q.legend, l)
		}
	}
}

// TestTables: the columns that a table names are labels that all of its queries have, and
// no label is left out.
func TestTables(t *testing.T) {
	metrics, page := served(t)
	p := parser.NewParser(parser.Options{})
	n := 0
	for _, b := range []board{fleet(), set(), controller()} {
		for _, r := range b.rows {
			for _, panel := range r.panels {
				table, ok := panel.look.(rows)
				if !ok {
					continue
				}
				n++
				if len(table.values) != len(panel.queries) {
					t.Errorf("%s: %s: %d columns for %d queries", b.file, panel.title, len(table.values), len(panel.queries))
				}
				for _, q := range panel.queries {
					expr, err := p.ParseExpr(substituted(q.expr))
					if err != nil {
						t.Fatal(err)
					}
					has := slices.Compact(slices.Sorted(slices.Values((&checker{metrics: metrics, page: page}).labels(expr, false))))
					if want := slices.Sorted(slices.Values(table.labels)); !slices.Equal(has, want) {
						t.Errorf("%s: %s: %s has labels %v, the table %v", b.file, panel.title, q.expr, has, want)
					}
				}
				if !slices.ContainsFunc(table.values, func(c column) bool { return c.title == table.sortBy }) {
					t.Errorf("%s: %s: sorted by %s, which is no column", b.file, panel.title, table.sortBy)
				}
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d tables", n)
	}
}

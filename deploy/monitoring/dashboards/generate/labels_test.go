package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metricsPage lists what the controller registers; a test of package metrics keeps it so.
const metricsPage = "../../../../docs/metrics.md"

// metric is one that can be asked for.
type metric struct {
	kind   string // counter, gauge or histogram
	labels []string
}

// ofTarget are the labels that Prometheus adds to whatever it scrapes.
var ofTarget = []string{"job", "instance"}

var listed = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| [^|]* \\| ([^|]*) \\|")

// served are all metrics: those of the page, those of process and Go, and what fires.
func served(t *testing.T) (map[string]metric, string) {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]metric{"ALERTS": {"gauge", []string{"alertname", "alertstate", "severity", "namespace", "name", "phase"}}}
	for _, m := range listed.FindAllStringSubmatch(string(page), -1) {
		own := strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })
		out[m[1]] = metric{m[2], append(own, ofTarget...)}
	}
	if len(out) < 40 {
		t.Fatalf("only %d metrics are found in %s", len(out), metricsPage)
	}
	reg := promclient.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		kind := "gauge"
		if f.GetType() == dto.MetricType_COUNTER {
			kind = "counter"
		}
		out[f.GetName()] = metric{kind, ofTarget}
	}
	return out, string(page)
}

// resolve finds the metric of a selector: a histogram has its three series.
func resolve(metrics map[string]metric, name string) (metric, error) {
	if m, ok := metrics[name]; ok && m.kind != "histogram" {
		return m, nil
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, has := strings.CutSuffix(name, suffix)
		if m, ok := metrics[base]; has && ok && m.kind == "histogram" {
			out := metric{"counter", slices.Clone(m.labels)}
			if suffix == "_bucket" {
				out.labels = append(out.labels, "le")
			}
			return out, nil
		}
	}
	return metric{}, fmt.Errorf("there is no metric %s", name)
}

// checker walks a query and finds out which labels its result has.
type checker struct {
	metrics map[string]metric
	page    string
	errs    []error
}

func (c *checker) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// labels are those that the series of an expression have. rated: it stands in a function
// that is right for counters.
func (c *checker) labels(e parser.Expr, rated bool) []string {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return c.labels(e.Expr, rated)
	case *parser.UnaryExpr:
		return c.labels(e.Expr, rated)
	case *parser.MatrixSelector:
		return c.labels(e.VectorSelector, rated)
	case *parser.VectorSelector:
		return c.selector(e, rated)
	case *parser.AggregateExpr:
		return c.aggregate(e)
	case *parser.Call:
		return c.call(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return nil
	default:
		c.failf("%s: a %T is not looked at", e, e)
		return nil
	}
}

var plainWords = regexp.MustCompile(`^[\w.|<>+-]*$`)

func (c *checker) selector(v *parser.VectorSelector, rated bool) []string {
	m, err := resolve(c.metrics, v.Name)
	if err != nil {
		c.failf("%w", err)
		return nil
	}
	if counts := m.kind == "counter"; counts != rated {
		c.failf("%s is a %s; in rate or increase: %t", v.Name, m.kind, rated)
	}
	for _, match := range v.LabelMatchers {
		if match.Name == "__name__" {
			continue
		}
		if !slices.Contains(m.labels, match.Name) {
			c.failf("%s has no label %s", v.Name, match.Name)
		}
		c.value(match)
	}
	return m.labels
}

// value: a variable stands in =~ only, and what is spelt out is a word of the page.
func (c *checker) value(m *labels.Matcher) {
	if slices.Contains([]string{"alertname", "alertstate", "le"}, m.Name) {
		return
	}
	if strings.Contains(m.Value, all) {
		if m.Type != labels.MatchRegexp {
			c.failf("%s: a variable needs =~", m)
		}
		return
	}
	if !plainWords.MatchString(m.Value) {
		c.failf("%s: not looked at", m)
	}
	for _, word := range strings.Split(m.Value, "|") {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(c.page) {
			c.failf("%s: docs/metrics.md does not know %s", m, word)
		}
	}
}

func (c *checker) aggregate(e *parser.AggregateExpr) []string {
	inner := c.labels(e.Expr, false)
	if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
		return inner
	}
	if e.Without {
		c.failf("%s: without is not looked at", e)
	}
	for _, l := range e.Grouping {
		if !slices.Contains(inner, l) {
			c.failf("%s: there is no label %s in %v", e, l, inner)
		}
	}
	return e.Grouping
}

func (c *checker) call(e *parser.Call) []string {
	counts := slices.Contains([]string{"rate", "increase"}, e.Func.Name)
	var out []string
	for _, arg := range e.Args {
		out = append(out, c.labels(arg, counts)...)
	}
	switch e.Func.Name {
	case "histogram_quantile":
		if !slices.Contains(out, "le") {
			c.failf("%s: there is no label le", e)
		}
		return slices.DeleteFunc(slices.Clone(out), func(l string) bool { return l == "le" })
	case "label_replace":
		return append(out, e.Args[1].(*parser.StringLiteral).Val)
	}
	return out
}

func (c *checker) binary(e *parser.BinaryExpr) []string {
	left, right := c.labels(e.LHS, false), c.labels(e.RHS, false)
	if e.LHS.Type() == parser.ValueTypeScalar {
		return right
	}
	if e.RHS.Type() == parser.ValueTypeScalar || e.VectorMatching == nil {
		return left
	}
	if e.VectorMatching.On {
		for _, l := range e.VectorMatching.MatchingLabels {
			if !slices.Contains(left, l) || !slices.Contains(right, l) {
				c.failf("%s: on (%s): one side has %v, the other %v", e, l, left, right)
			}
		}
		return left
	}
	// Without on, what is not the same on both sides matches nothing, but for "or".
	a, b := slices.Sorted(slices.Values(left)), slices.Sorted(slices.Values(right))
	if e.Op != parser.LOR && !slices.Equal(a, b) {
		c.failf("%s: labels %v on one side, %v on the other", e, a, b)
	}
	return left
}

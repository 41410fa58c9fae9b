package metrics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start connects client-go and forgets what earlier tests, or earlier rounds of
// -count, have counted.
func start(t *testing.T) *prometheus.Registry {
	t.Helper()
	reg := New("v1.2.3")
	for _, c := range slices.Concat(clientGo, own) {
		if v, ok := c.(interface{ Reset() }); ok {
			v.Reset()
		}
	}
	begin()
	return reg
}

// series lists what the registry exposes under a prefix, one series a line. The
// sum of a histogram is shown where the clock is a fake one.
func series(t *testing.T, reg *prometheus.Registry, prefix string, sums bool) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := fmt.Sprint(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			if h := m.GetHistogram(); h != nil {
				value = fmt.Sprintf("count %d", h.GetSampleCount())
				if sums {
					value += fmt.Sprintf(" sum %g", h.GetSampleSum())
				}
			}
			lines = append(lines, fmt.Sprintf("%s %s{%s} %s\n", strings.ToLower(f.GetType().String()),
				f.GetName(), strings.Join(labels, ","), value))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// golden compares with testdata/<name>.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it)\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// lint checks names, types, units and help texts of all that has a series.
func lint(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

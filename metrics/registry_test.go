package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestNew(t *testing.T) {
	New("v1.2.2")
	reg := New("v1.2.3") // a second registry neither panics nor keeps the old version
	want := `
# HELP lws_controller_build_info Always 1; the labels say which version of the controller this is and which Go version built it.
# TYPE lws_controller_build_info gauge
lws_controller_build_info{goversion="` + runtime.Version() + `",version="v1.2.3"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "lws_controller_build_info"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"go_goroutines", "go_memstats_heap_alloc_bytes", "process_start_time_seconds", "process_resident_memory_bytes"} {
		if runtime.GOOS != "linux" && strings.HasPrefix(name, "process_") {
			continue
		}
		if n, err := testutil.GatherAndCount(reg, name); err != nil || n != 1 {
			t.Errorf("%s: %d series, %v", name, n, err)
		}
	}
	lint(t, reg)
}

// TestDocumented holds every metric of the package to the rules in doc.go.
func TestDocumented(t *testing.T) {
	registered := describe(full())
	declared := 0
	for name, doc := range declarations(t) {
		declared++
		desc, ok := registered[name]
		if !ok {
			t.Errorf("%s is declared, but New does not register it", name)
			continue
		}
		_, query, found := strings.Cut(doc, "PromQL:")
		if !found || !strings.Contains(query, name) {
			t.Errorf("%s: its comment has no PromQL query that uses it", name)
		}
		for _, label := range desc.labels {
			if label == "url" || label == "host" || label == "pod" || label == "namespace" && !strings.Contains(doc, "of the set") {
				t.Errorf("%s: label %s is not bounded", name, label)
			}
		}
		if len(desc.labels) > 0 && !strings.Contains(strings.ToLower(doc), "labels") {
			t.Errorf("%s: its comment does not say what its labels hold", name)
		}
		if strings.HasSuffix(name, "_seconds") && !strings.HasPrefix(desc.help, "Seconds ") {
			t.Errorf("%s: its help text does not name the unit: %q", name, desc.help)
		}
	}
	if want := len(clientGo) + len(own) + len(sets) + 1; declared != want {
		t.Errorf("found the declarations of %d metrics, want %d", declared, want)
	}
}

type described struct {
	help   string
	labels []string
}

var descText = regexp.MustCompile(`fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), .*variableLabels: {([^}]*)}`)

// describe returns the metrics that a registry knows, with or without series.
func describe(reg *prometheus.Registry) map[string]described {
	descs := make(chan *prometheus.Desc)
	go func() {
		reg.Describe(descs)
		close(descs)
	}()
	out := map[string]described{}
	for d := range descs {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			continue
		}
		name, _ := strconv.Unquote(m[1])
		help, _ := strconv.Unquote(m[2])
		out[name] = described{help: help, labels: strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' })}
	}
	return out
}

// declarations maps the name of each metric that the package declares to the
// comment of its variable.
func declarations(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.VAR {
				for _, metric := range names(decl) {
					out[metric] = decl.Doc.Text()
				}
			}
		}
	}
	return out
}

// names returns what the fields called Name in a declaration are set to.
func names(decl *ast.GenDecl) []string {
	var out []string
	ast.Inspect(decl, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isIdent := kv.Key.(*ast.Ident)
		value, isLit := kv.Value.(*ast.BasicLit)
		if isIdent && isLit && key.Name == "Name" {
			if name, err := strconv.Unquote(value.Value); err == nil {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

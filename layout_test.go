package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "lws-controller"

// layout says which packages of this module each package may import, and which
// packages are pure. Tests aside: they may import more. A package that is not in
// it has not been thought about.
var layout = map[string]struct {
	may  []string
	pure bool
	// io are the files of a pure package that do I/O all the same.
	io []string
}{
	"":                   {may: []string{"api/client", "api/v1", "cli/kubectl", "cli/plan", "cli/replay", "cli/serve", "controller", "informers", "metrics", "revision"}},
	"api/v1":             {pure: true},
	"api/client":         {may: []string{"api/v1"}},
	"cli/kubectl":        {may: []string{"api/client", "api/v1", "controller", "controller/group", "controller/rollout", "revision", "topology"}},
	"cli/page":           {may: []string{"api/v1", "controller", "controller/group", "controller/rollout"}, pure: true, io: []string{"handler.go"}},
	"cli/plan":           {may: []string{"api/client", "api/v1", "controller", "controller/group", "controller/rollout", "revision", "topology"}, pure: true, io: []string{"read.go", "command.go"}},
	"cli/replay":         {may: []string{"api/v1", "controller", "controller/group", "controller/rollout", "topology"}},
	"cli/serve":          {may: []string{"cli/page", "controller", "informers", "metrics"}},
	"controller":         {may: []string{"api/client", "api/v1", "controller/group", "controller/rollout", "informers", "metrics", "revision", "topology"}},
	"controller/group":   {may: []string{"api/v1"}, pure: true},
	"controller/rollout": {may: []string{"api/v1", "controller/group"}, pure: true},
	"informers":          {may: []string{"api/client", "api/v1", "controller/group", "topology"}},
	"metrics":            {may: []string{"controller/group"}},
	"revision":           {may: []string{"api/v1"}, pure: true, io: []string{"store.go"}},
	"topology":           {may: []string{"api/v1"}, pure: true},
}

// impure are packages that bring I/O, clocks, randomness, goroutines or loggers.
// client-go is refused however deep it sits.
var impure = []string{"context", "os", "os/exec", "net", "net/http", "sync", "sync/atomic", "log", "log/slog",
	"math/rand", "math/rand/v2", "crypto/rand", "k8s.io/klog/v2", "k8s.io/utils/clock", "k8s.io/apimachinery/pkg/util/wait"}

// clocks are what a pure package may not use of package time.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// external says what each directory may import from outside the module and the
// standard library; the whole module may not import anything else directly.
var external = []string{
	"k8s.io/client-go", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/klog/v2", "k8s.io/utils",
	"github.com/prometheus/client_golang", "github.com/spf13/cobra", "github.com/spf13/pflag",
	"github.com/pmezard/go-difflib", "golang.org/x/term", "sigs.k8s.io/yaml",
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
}

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		place := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if testOnly(place) {
			continue
		}
		rule, known := layout[place]
		if !known {
			t.Errorf("package %s is not in the layout: say what it may import", p.ImportPath)
			continue
		}
		seen[place] = true
		for _, imported := range p.Imports {
			checkImport(t, p.ImportPath, imported, rule.may)
		}
		if rule.pure {
			checkPure(t, p, rule.io)
		}
	}
	for place := range layout {
		if !seen[place] {
			t.Errorf("the layout names %q, which does not exist", place)
		}
	}
}

// testOnly are packages that only tests import, and commands that are not shipped.
func testOnly(place string) bool {
	return slices.Contains([]string{"deploy/rbac", "controller/sim", "controller/sim/cmd/simulate", "controller/scenario", "controller/invariant", "controller/mutant"}, place)
}

func checkImport(t *testing.T, importer, imported string, may []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		if !slices.Contains(may, own) {
			t.Errorf("%s may not import %s", importer, imported)
		}
		return
	}
	if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
		return
	}
	if !slices.ContainsFunc(external, func(e string) bool { return imported == e || strings.HasPrefix(imported, e+"/") }) {
		t.Errorf("%s imports %s: the main module has no such dependency", importer, imported)
	}
}

func checkPure(t *testing.T, p goPackage, exempt []string) {
	t.Helper()
	for _, dep := range p.Deps {
		if strings.HasPrefix(dep, "k8s.io/client-go") && len(exempt) == 0 {
			t.Errorf("%s is pure and may not depend on %s", p.ImportPath, dep)
		}
	}
	for _, name := range p.GoFiles {
		if !slices.Contains(exempt, name) {
			checkPureFile(t, filepath.Join(p.Dir, name))
		}
	}
}

func checkPureFile(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if imported := strings.Trim(n.Path.Value, `"`); slices.Contains(impure, imported) || strings.HasPrefix(imported, "k8s.io/client-go") {
				t.Errorf("%s: a pure package may not import %s", files.Position(n.Pos()), imported)
			}
		case *ast.GoStmt:
			t.Errorf("%s: a pure package starts no goroutine", files.Position(n.Pos()))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				t.Errorf("%s: a pure package does not use time.%s", files.Position(n.Pos()), n.Sel.Name)
			}
		}
		return true
	})
}

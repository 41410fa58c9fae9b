package sim

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

var flagProfile = flag.String("profile", "", "the coverage profile to look at; make prove writes one")

// TestCoreIsCovered: every block of the pure core was run by the simulator, or is
// in testdata/uncovered.txt with the reason why not.
func TestCoreIsCovered(t *testing.T) {
	if *flagProfile == "" {
		t.Skip("run make prove")
	}
	excused := readExcuses(t)
	blocks, uncovered := 0, 0
	for _, b := range readProfile(t, *flagProfile) {
		blocks++
		e := findExcuse(excused, b.name(t))
		if e != nil {
			e.there = true
		}
		if b.count > 0 {
			continue
		}
		uncovered++
		if e == nil {
			t.Errorf("never run: %s", b.name(t))
		}
	}
	for _, e := range excused {
		if !e.there {
			t.Errorf("testdata/uncovered.txt excuses what is not there: %s", e.what)
		}
	}
	t.Logf("%d blocks, %d not run by the simulator", blocks, uncovered)
}

// excuse is a line of testdata/uncovered.txt: a block, or with * all blocks of a
// function, and the reason.
type excuse struct {
	what  string
	there bool
}

func readExcuses(t *testing.T) []*excuse {
	t.Helper()
	data, err := os.ReadFile("testdata/uncovered.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []*excuse
	for line := range strings.Lines(string(data)) {
		what, reason, _ := strings.Cut(strings.TrimSpace(line), " # ")
		switch {
		case what == "" || strings.HasPrefix(what, "#"):
		case reason == "":
			t.Errorf("no reason: %s", what)
		default:
			out = append(out, &excuse{what: what})
		}
	}
	return out
}

func findExcuse(excused []*excuse, name string) *excuse {
	function, _, _ := strings.Cut(name, ": ")
	i := slices.IndexFunc(excused, func(e *excuse) bool { return e.what == name || e.what == function+": *" })
	if i < 0 {
		return nil
	}
	return excused[i]
}

// block is a block of code as a coverage profile names it.
type block struct {
	file                   string // below controller/
	line, column, to, past int
	statements, count      int
}

func readProfile(t *testing.T, path string) []block {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []block
	at := map[string]int{} // each test binary has lines of its own
	for s := bufio.NewScanner(f); s.Scan(); {
		file, rest, ok := strings.Cut(strings.TrimPrefix(s.Text(), "lws-controller/controller/"), ":")
		if !ok || file == "mode" {
			continue
		}
		b := block{file: file}
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.to, &b.past, &b.statements, &b.count); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		where := s.Text()[:strings.LastIndex(s.Text(), " ")]
		if i, known := at[where]; known {
			out[i].count += b.count
		} else if b.statements > 0 {
			at[where] = len(out)
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no blocks", path)
	}
	return out
}

// name says where a block is in words that outlive a change of line numbers: the
// file, the function, and the first line of code.
func (b *block) name(t *testing.T) string {
	t.Helper()
	path := "../" + b.file
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, data, 0)
	if err != nil {
		t.Fatal(err)
	}
	function := ""
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && files.Position(f.Pos()).Line <= b.line && b.line <= files.Position(f.End()).Line {
			function = f.Name.Name
		}
	}
	lines := strings.Split(string(data), "\n")
	first := strings.Trim(lines[b.line-1][b.column-1:], " \t{")
	for i := b.line; first == "" || strings.HasPrefix(first, "//"); i++ {
		first = strings.TrimSpace(lines[i])
	}
	return fmt.Sprintf("%s %s: %s", b.file, function, first)
}

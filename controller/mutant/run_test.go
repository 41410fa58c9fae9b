package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var flagMutants = flag.Bool("mutants", false, "plant the bugs and have the simulator find them; takes minutes")

// patience is how long the runs may take that are to find a bug.
const patience = 5 * time.Minute

// mutant is a bug to be planted.
type mutant struct {
	// name says what is wrong, why what that would do to people.
	name, why string
	// In file, below the top of the module, old stands exactly once; new is put there.
	file, old, new string
	// by is what finds it, caught the invariant that must name it.
	by     hunt
	caught string
}

// hunt is how a bug is looked for.
type hunt struct {
	folder string
	args   []string
	// words say what that is.
	words string
}

// random is up to n random runs of the simulator.
func random(n int) hunt {
	return hunt{"controller/sim", []string{"-test.run=^TestRandom$", "-failures=6", fmt.Sprint("-runs=", n)}, fmt.Sprintf("random, up to %d", n)}
}

// exhaustive is a fault at each write of one scenario of the simulator.
func exhaustive(scenario string) hunt {
	pattern := regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(scenario, ".")
	return hunt{"controller/sim", []string{"-test.run=^TestExhaustive$/^scenarios$/^" + pattern + "$"}, "faults in " + scenario}
}

// scenario is one of the scenarios in words.
func scenario(name string) hunt {
	return hunt{"controller/scenario", []string{"-test.run=^TestScenarios$/^" + name + "$"}, "scenario " + name}
}

// test is a test of its own.
func test(folder, name string) hunt {
	return hunt{folder, []string{"-test.run=^" + name + "$", "-rapid.nofailfile"}, name}
}

// find is how a bug was found.
type find struct {
	mutant *mutant
	after  string
	took   time.Duration
}

// TestMutants plants each bug and has it found.
func TestMutants(t *testing.T) {
	if !*flagMutants {
		t.Skip("takes minutes: make mutants, or go test ./controller/mutant -mutants")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		finds []find
	)
	begin := time.Now()
	t.Run("planted", func(t *testing.T) {
		for i := range mutants {
			m := &mutants[i]
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				f := m.hunted(t, root)
				mu.Lock()
				defer mu.Unlock()
				finds = append(finds, f)
				t.Logf("%s, after %s, in %.1f s", m.caught, f.after, f.took.Seconds())
			})
		}
	})
	slices.SortFunc(finds, func(a, b find) int {
		return strings.Compare(a.mutant.caught+a.mutant.name, b.mutant.caught+b.mutant.name)
	})
	var table strings.Builder
	for _, f := range finds {
		fmt.Fprintf(&table, "\n%-5s %-58s %-32s %-24s %5.1f s", f.mutant.caught, f.mutant.name, f.mutant.file, f.after, f.took.Seconds())
	}
	t.Logf("%d of %d planted bugs found in %.0f s: by which invariant, what, where, after what, in which time with the build:%s",
		len(finds), len(mutants), time.Since(begin).Seconds(), table.String())
}

// hunted plants the bug and says how it was found.
func (m *mutant) hunted(t *testing.T, root string) find {
	t.Helper()
	begin := time.Now()
	binary := m.build(t, root)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, binary, m.by.args...)
	run.Dir = filepath.Join(root, m.by.folder)
	// As many bugs are looked for at a time as there are processors.
	run.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := run.CombinedOutput()
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		t.Fatalf("survived %s. It would hurt: %s.\n%s must name it: an invariant is missing, or is not looked at there.\n%s", m.by.words, m.why, m.caught, tail(out))
	case ctx.Err() != nil:
		t.Fatalf("not found by %s within %s:\n%s", m.by.words, patience, tail(out))
	case !errors.As(err, &failed):
		t.Fatal(err)
	}
	if !named(m.caught).Match(out) {
		t.Fatalf("found by %s, but not as a violation of %s: %s\n%s", m.by.words, m.caught, anyNumber.FindAll(out, -1), tail(out))
	}
	return find{m, after(out, m.caught), time.Since(begin)}
}

// build makes the test binary with the bug in it.
func (m *mutant) build(t *testing.T, root string) string {
	t.Helper()
	path, dir := filepath.Join(root, m.file), t.TempDir()
	code, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(code, []byte(m.old)); n != 1 {
		t.Fatalf("%s has the place for this bug %d times, not once: plant it anew", m.file, n)
	}
	planted := filepath.Join(dir, "planted.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: planted}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{planted: bytes.Replace(code, []byte(m.old), []byte(m.new), 1), overlay: replace} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "planted.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+m.by.folder)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the code with the bug does not compile: %v\n%s", err, out)
	}
	return binary
}

// named matches a violation of an invariant.
func named(invariant string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + invariant + `: `)
}

var (
	anyNumber    = regexp.MustCompile(`\b[SL]\d+a?: [^\n]{0,100}`)
	foundByFault = regexp.MustCompile(`at write (\d+) \(([a-z ]+)\)`)
	foundByTest  = regexp.MustCompile(`--- FAIL: (\S+)`)
	foundInFile  = regexp.MustCompile(`--- FAIL: TestScenarios/(\S+)`)
)

// after says what it took until an invariant named a bug.
func after(out []byte, invariant string) string {
	foundBySeed := regexp.MustCompile(`seed (\d+): .*\b` + invariant + `: `)
	if found := foundBySeed.FindSubmatch(out); found != nil {
		n := 0
		_, _ = fmt.Sscan(string(found[1]), &n)
		return fmt.Sprintf("%d random runs", n+1)
	}
	if found := foundByFault.FindSubmatch(out); found != nil {
		return fmt.Sprintf("write %s, %s", found[1], found[2])
	}
	if found := foundInFile.FindSubmatch(out); found != nil {
		return string(found[1])
	}
	if found := foundByTest.FindSubmatch(out); found != nil && string(found[1]) != "TestExhaustive" {
		return string(found[1])
	}
	return "without faults"
}

// tail is the end of an output.
func tail(out []byte) []byte {
	const most = 4000
	return out[max(0, len(out)-most):]
}

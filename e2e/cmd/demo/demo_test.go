package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test program the demo when a test runs it as such.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_AS_DEMO") != "" {
		main()
	}
	os.Exit(m.Run())
}

// output is what a running demo has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// limit is for a whole demo on two busy cores, the control plane being built.
const limit = 4 * time.Minute

// startDemo runs the demo as a process, without a terminal.
func startDemo(t *testing.T, env ...string) (*exec.Cmd, *output) {
	t.Helper()
	out := &output{}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"RUN_AS_DEMO=1", "DEMO_EXIT="}, env...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	t.Cleanup(func() {
		timer.Stop()
		if t.Failed() {
			t.Logf("output of the demo:\n%s", out)
		}
	})
	return cmd, out
}

// waitFor returns the first match in what the demo prints.
func (o *output) waitFor(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m
		}
	}
	t.Fatalf("%q is not printed", pattern)
	return nil
}

// inOrder fails the test unless the texts follow each other in what is printed.
func (o *output) inOrder(t *testing.T, texts ...string) {
	t.Helper()
	rest := o.String()
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is missing, or not in order", text)
		}
		rest = after
	}
}

var folders = regexp.MustCompile(`(?:/[\w.-]+)+/(?:lws-demo-\d+|lws-controller-clusters-\d+/\d+)\b`)

// nothingLeft fails the test if a folder that the demo named is still there.
func (o *output) nothingLeft(t *testing.T) {
	t.Helper()
	named := folders.FindAllString(o.String(), -1)
	if len(named) < 2 {
		t.Errorf("no folders are named: %q", named)
	}
	for _, dir := range named {
		// The place of a cluster may have been taken by another one meanwhile.
		if _, err := os.Stat(dir); err == nil && strings.Contains(dir, "lws-demo-") {
			t.Errorf("%s is left", dir)
		}
	}
}

func TestDemoExits(t *testing.T) {
	cmd, out := startDemo(t, "DEMO_EXIT=1")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	out.inOrder(t, "[1/5]", "[2/5]", "[3/5]", "[4/5]",
		"LeaderWorkerSet demo: 3 groups of 4 wanted, 0 Ready", "WorkersStarting, 1/4",
		"LeaderWorkerSet demo: 3 groups of 4 wanted, 3 Ready", "Available=True",
		"[5/5]", "LeaderWorkerSet demo: 5 groups of 4 wanted, 5 Ready", "Available=True", "All went well")
	if strings.Contains(out.String(), "\x1b") {
		t.Error("escape codes without a terminal")
	}
	out.nothingLeft(t)
}

// The commands that the demo offers work, one after the other, and are followed
// by what it promises; then Ctrl-C ends it.
func TestDemoStays(t *testing.T) {
	cmd, out := startDemo(t)
	offered := out.waitFor(t, `(?s)in another terminal:\n(.*)Ctrl-C here`)[1]
	if _, err := exec.LookPath("curl"); err != nil {
		offered = regexp.MustCompile(`(?m)^ *curl .*$`).ReplaceAllString(offered, "")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-ex")
	shell.Stdin = strings.NewReader(offered)
	if said, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	out.waitFor(t, `group 1: Recycling`)
	// Between deletion and creation the view may not look.
	out.waitFor(t, `(?s)7 groups of 4 wanted.*LeaderWorkerSet demo: 3 groups of 4 wanted, 3 Ready`)

	controller := out.waitFor(t, `ready at (http://[\w.:]+);`)[1]
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	out.nothingLeft(t)
	if answer, err := http.Get(controller + "/healthz"); err == nil {
		answer.Body.Close()
		t.Error("the controller still answers")
	}
}

// A controller that ends is an error, shown with the end of its log.
func TestDemoFails(t *testing.T) {
	cmd, out := startDemo(t)
	pid, err := strconv.Atoi(out.waitFor(t, `; process (\d+);`)[1])
	if err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, `group 0: Pending`)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	out.inOrder(t, "Error: the controller ended unasked: signal: killed", "End of the controller's log", "Caches are filled")
	out.nothingLeft(t)
}

package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lws-controller/controller"
	"lws-controller/e2e/cluster"
)

// Controller is the controller under test, as a process.
type Controller struct {
	program, log, kubeconfig, journal string
	args                              []string

	mu      sync.Mutex
	begins  int64  // where in the log this run begins
	address string // of its pages, once the log has said it
	cmd     *exec.Cmd
	done    <-chan struct{} // closed when the process has ended
	err     error           // how it ended
	stopped bool            // by Stop or Kill
}

const (
	readyTimeout = time.Minute
	// stopTimeout is how long the controller may take to end after SIGTERM: a
	// sync under way ends within its requests' time.
	stopTimeout = 15 * time.Second
	tailLines   = 60
)

// StartController runs the controller against the cluster, with the rights of its
// service account. The arguments come after the harness' own and win over them.
// It is killed when the test ends, if it still runs, and the test fails if its
// log shows what must never happen, or if it ended unasked.
func StartController(t testing.TB, c *cluster.Cluster, args ...string) *Controller {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return StartProgram(t, c, program, args...)
}

// StartProgram is StartController for another build of the controller than the one
// with the race detector.
func StartProgram(t testing.TB, c *cluster.Cluster, program string, args ...string) *Controller {
	t.Helper()
	ctl, err := startController(c, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := ctl.finish()
		if err != nil {
			t.Errorf("controller: %v", err)
		}
		if t.Failed() {
			t.Logf("end of the controller's log %s:\n%s", ctl.log, ctl.tail())
		}
	})
	return ctl
}

func startController(c *cluster.Cluster, program string, args ...string) (*Controller, error) {
	config, err := c.ClientCert(serviceAccount, "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
	if err != nil {
		return nil, err
	}
	// The folder of the cluster is kept when a test fails, and the log with it.
	dir, err := os.MkdirTemp(c.Dir(), "controller-")
	if err != nil {
		return nil, err
	}
	ctl := &Controller{program: program,
		log: filepath.Join(dir, "controller.log"), kubeconfig: filepath.Join(dir, "kubeconfig"), journal: filepath.Join(dir, "journal")}
	if err := cluster.WriteKubeconfig(ctl.kubeconfig, config); err != nil {
		return nil, err
	}
	ctl.args = append([]string{"--kubeconfig=" + ctl.kubeconfig, "--listen=127.0.0.1:0", "--leader-elect=false", "-v=2",
		"--journal-file=" + ctl.journal}, args...)
	return ctl, ctl.start()
}

// Start runs the controller again, after Stop or Kill, with the same arguments.
// Its log goes on.
func (c *Controller) Start(t testing.TB) {
	t.Helper()
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
}

func (c *Controller) start() error {
	if c.Running() {
		return errors.New("the controller is already running")
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	info, err := log.Stat()
	if err != nil {
		return err
	}
	cmd := exec.Command(c.program, c.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=true")
	done, err := Child(cmd, func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = err
	})
	if err != nil {
		return fmt.Errorf("starting the controller: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.done, c.err, c.stopped = cmd, done, nil, false
	c.begins, c.address = info.Size(), ""
	return nil
}

// Running says whether the process runs.
func (c *Controller) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// Stop asks the controller to end (SIGTERM), as an upgrade does. It must end in
// time and with exit status 0.
func (c *Controller) Stop(t testing.TB) {
	t.Helper()
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopping the controller: %v", err)
	}
}

// Kill ends the controller at once (SIGKILL), as a crash does.
func (c *Controller) Kill(t testing.TB) {
	t.Helper()
	if err := c.end(syscall.SIGKILL); err != nil && !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("killing the controller: %v", err)
	}
}

// end sends the signal and returns how the process ended. That it did not run is
// an error: it ended unasked.
func (c *Controller) end(signal syscall.Signal) error {
	if !c.Running() {
		return fmt.Errorf("it does not run: %w", c.ended())
	}
	c.mu.Lock()
	process, done := c.cmd.Process, c.done
	c.stopped = true
	c.mu.Unlock()
	// An error means that it has just ended.
	_ = process.Signal(signal)
	select {
	case <-done:
		return c.ended()
	case <-time.After(stopTimeout):
		_ = process.Kill()
		<-done
		return fmt.Errorf("still running %s after %s", stopTimeout, signal)
	}
}

func (c *Controller) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// finish ends the controller if it still runs and returns what was wrong with it.
func (c *Controller) finish() error {
	var err error
	switch {
	case c.Running():
		err = c.end(syscall.SIGTERM)
	case !c.stopped:
		err = fmt.Errorf("it ended unasked: %v", c.ended())
	}
	return errors.Join(err, c.Check(), c.replay())
}

// replay makes every decision of the run anew from its journal: they must come out
// the same, or what a plan depends on was not all that was taken down.
func (c *Controller) replay() error {
	if _, err := os.Stat(c.journal); errors.Is(err, os.ErrNotExist) {
		return nil // it never got so far
	}
	var found []string
	out, err := exec.Command(c.program, "replay", c.journal).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "DIFFERENT") && len(found) < 5 {
			found = append(found, line)
		}
	}
	if err != nil && (len(found) > 0 || !strings.Contains(string(out), "the journal has nothing")) {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("replaying %s: %w: %s\n%s", c.journal, err, lines[len(lines)-1], strings.Join(found, ""))
	}
	return nil
}

// forbidden is what must never stand in a log.
var forbidden = regexp.MustCompile(`DATA RACE|panic:|Observed a panic|fatal error:|Group made an undeclared move|mutated|is forbidden: User`)

// Check returns an error with the places of the log so far that must not be.
func (c *Controller) Check() error {
	log := c.Log()
	found := forbidden.FindAllStringIndex(log, 3)
	var errs []error
	for _, at := range found {
		start := strings.LastIndexByte(log[:at[0]], '\n') + 1
		errs = append(errs, fmt.Errorf("in the log: %s", log[start:min(start+3000, len(log))]))
	}
	return errors.Join(errs...)
}

// Log is the whole log so far, of all runs.
func (c *Controller) Log() string {
	data, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (c *Controller) tail() string {
	lines := strings.Split(strings.TrimRight(c.Log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// served finds the address in a log, as text or as JSON.
var served = regexp.MustCompile(`"Pages are served"(?: address=|,"address":)"([^"]+)"`)

// URL is the address of one of the controller's pages, like "/metrics". The controller
// chooses a free port and tells it in its log: one that another process chose for it
// could be taken by the time it is used.
func (c *Controller) URL(path string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.address == "" {
		log := c.Log()
		found := served.FindStringSubmatch(log[min(c.begins, int64(len(log))):])
		if found == nil {
			return "", errors.New("the log does not say yet where the pages are")
		}
		c.address = found[1]
	}
	return "http://" + c.address + path, nil
}

// Get fetches one of the controller's pages.
func (c *Controller) Get(path string) (status int, body []byte, err error) {
	url, err := c.URL(path)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Ready waits until the controller says that it is ready.
func (c *Controller) Ready(t testing.TB) {
	t.Helper()
	if err := c.ready(); err != nil {
		t.Fatal(err)
	}
}

func (c *Controller) ready() error {
	deadline := time.Now().Add(readyTimeout)
	for {
		status, body, err := c.Get("/readyz")
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case !c.Running():
			return fmt.Errorf("the controller has ended: %v\n%s", c.ended(), c.tail())
		case time.Now().After(deadline):
			return fmt.Errorf("the controller is not ready after %s: %d %s %v\n%s", readyTimeout, status, body, err, c.tail())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Groups is what /debug/groups shows of all sets.
func (c *Controller) Groups(t testing.TB) []controller.DebugSet {
	t.Helper()
	status, body, err := c.Get("/debug/groups")
	if err != nil || status != http.StatusOK {
		t.Fatalf("/debug/groups: %d %v %s", status, err, body)
	}
	var page struct {
		Sets []controller.DebugSet `json:"sets"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatalf("/debug/groups: %v\n%s", err, body)
	}
	return page.Sets
}

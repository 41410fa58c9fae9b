package robust

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var update = flag.Bool("update", false, "write testdata/help.txt anew")

// command runs the controller until it ends, without a cluster in its environment,
// and returns its exit status and what it printed. When the time is up it gets a
// SIGTERM.
func command(t *testing.T, limit time.Duration, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	program := plainProgram(t) // its build is not counted
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	// Without pages, unless a test wants them: another process may have the port.
	cmd := exec.CommandContext(ctx, program, append([]string{"--listen="}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second // then it is killed
	cmd.Env = []string{"HOME=" + t.TempDir()}
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	runErr := cmd.Run()
	// The status is that of the command, also when it ended because it was told to.
	if cmd.ProcessState == nil {
		t.Fatal(runErr)
	}
	if exit := (*exec.ExitError)(nil); errors.As(runErr, &exit) && !exit.Exited() {
		t.Errorf("%v: %v", args, exit)
	}
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

const ample = time.Minute

func TestHelp(t *testing.T) {
	t.Parallel()
	status, got, stderr := command(t, ample, "--help")
	if status != 0 || stderr != "" {
		t.Errorf("exit status %d, on stderr: %s", status, stderr)
	}
	golden := filepath.Join("testdata", "help.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("--help prints, other than %s (-update writes that):\n%s", golden, got)
	}
}

// TestRefusedStart starts the controller with what cannot work: it says in a line
// what is wrong, naming the flag, and fails.
func TestRefusedStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("{not a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	kubeconfig := "--kubeconfig=" + env.Cluster.Kubeconfig()
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"unknown flag":        {[]string{"--nonsense"}, []string{"unknown flag: --nonsense"}},
		"argument":            {[]string{"nonsense"}, []string{`unknown command "nonsense"`}},
		"no number":           {[]string{"--workers=many"}, []string{"--workers", "many"}},
		"no duration":         {[]string{"--leader-elect-lease-duration=15"}, []string{"--leader-elect-lease-duration", "15"}},
		"log format":          {[]string{"--log-format=xml"}, []string{"--log-format", "xml"}},
		"workers":             {[]string{"--workers=0"}, []string{"--workers", "at least 1"}},
		"rate":                {[]string{"--kube-api-qps=-1"}, []string{"--kube-api-qps", "negative"}},
		"burst":               {[]string{"--kube-api-burst=-1"}, []string{"--kube-api-burst", "negative"}},
		"lease":               {[]string{"--leader-elect-lease-duration=5s"}, []string{"--leader-elect-lease-duration (5s)", "longer than", "--leader-elect-renew-deadline (10s)"}},
		"deadline":            {[]string{"--leader-elect-renew-deadline=2s"}, []string{"--leader-elect-renew-deadline (2s)", "--leader-elect-retry-period (2s)"}},
		"period":              {[]string{"--leader-elect-retry-period=0s"}, []string{"--leader-elect-retry-period", "positive"}},
		"no cluster":          {nil, []string{"--kubeconfig", "$KUBECONFIG"}},
		"kubeconfig missing":  {[]string{"--kubeconfig=" + filepath.Join(dir, "missing")}, []string{"kubeconfig", filepath.Join(dir, "missing"), "no such file"}},
		"kubeconfig garbage":  {[]string{"--kubeconfig=" + garbage}, []string{"kubeconfig", garbage}},
		"context missing":     {[]string{kubeconfig, "--context=nowhere"}, []string{"context", "nowhere"}},
		"address in use":      {[]string{kubeconfig, "--leader-elect=false", "--namespace=none", "--listen=" + taken.Addr().String()}, []string{"--listen", "address already in use"}},
		"address is none":     {[]string{kubeconfig, "--leader-elect=false", "--namespace=none", "--listen=nowhere"}, []string{"--listen", "nowhere"}},
		"namespace is none":   {[]string{kubeconfig, "--leader-elect=false", "--namespace=No_Name"}, []string{"--namespace", "No_Name"}},
		"lease's namespace":   {[]string{kubeconfig, "--leader-elect-namespace=No_Name"}, []string{"--leader-elect-namespace", "No_Name"}},
		"context, no cluster": {[]string{"--context=nowhere"}, []string{"nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := command(t, ample, test.args...)
			if status != 1 || stdout != "" {
				t.Errorf("exit status %d, want 1; on stdout: %s", status, stdout)
			}
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			last := lines[len(lines)-1]
			for _, part := range append(test.says, "lws-controller: ") {
				if !strings.Contains(last, part) {
					t.Errorf("stderr ends with %q, want it to contain %q", last, part)
				}
			}
			if strings.Contains(stderr, "goroutine ") {
				t.Errorf("a crash:\n%s", stderr)
			}
		})
	}
}

// TestStopWhileWaiting sends SIGTERM to a controller that still waits for an API
// server: that is a stop like any other.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	for name, address := range map[string]string{"refuses": closed.Addr().String(), "hangs": mute.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := env.Cluster.Config("")
			config.Host = "https://" + address
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := cluster.WriteKubeconfig(path, config); err != nil {
				t.Fatal(err)
			}
			plainProgram(t)
			start := time.Now()
			status, _, stderr := command(t, 3*time.Second, "--kubeconfig="+path)
			if took := time.Since(start) - 3*time.Second; status != 0 || took > 5*time.Second {
				t.Errorf("exit status %d, %s after the signal:\n%s", status, took, stderr)
			}
			if strings.Contains(stderr, "lws-controller: ") {
				t.Errorf("a stop is no error:\n%s", stderr)
			}
		})
	}
}

// TestUserAgent checks that each request of a process, from the first to the last,
// carries the version that --version tells.
func TestUserAgent(t *testing.T) {
	t.Parallel()
	_, version, _ := command(t, ample, "--version")
	version = strings.TrimSpace(strings.TrimPrefix(version, "lws-controller version "))
	if version == "" || strings.ContainsAny(version, " \n") {
		t.Fatalf("--version says %q", version)
	}
	ns := env.Namespace(t)
	const user = "agent-test"
	config, err := env.Cluster.ClientCert(user, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	ctl := harness.StartProgram(t, env.Cluster, plainProgram(t),
		"--kubeconfig="+path, "--namespace="+ns, "--leader-elect=true", "--leader-elect-namespace="+ns)
	ctl.Ready(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Size(2)))
	env.WaitAvailable(t, set)
	env.WaitEvent(t, set, "Normal", "AllGroupsReady")
	start := time.Now()
	ctl.Stop(t)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the controller took %s to stop", took)
	}
	events, err := env.Cluster.Audit(cluster.AuditFilter{User: user})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, ev := range events {
		if ev.UserAgent != "lws-controller/"+version {
			t.Errorf("%s %s: user agent %q, want %q", ev.Verb, ev.RequestURI, ev.UserAgent, "lws-controller/"+version)
		}
		if ev.ObjectRef != nil {
			seen[ev.Verb+" "+ev.ObjectRef.Resource] = true
		}
	}
	for _, want := range []string{"create pods", "create events", "update leases", "watch leaderworkersets", "patch leaderworkersets", "create controllerrevisions"} {
		if !seen[want] {
			t.Errorf("no request to %s in the log", want)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"lws-controller/e2e/cluster"
)

// state is what the background process writes, in one go, when its cluster is
// ready.
type state struct {
	PID        int    `json:"pid"`
	Dir        string `json:"dir"`
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
}

func (s state) print(out io.Writer) {
	fmt.Fprintf(out, `the cluster is up (process %d, logs in %s)

  export KUBECONFIG=%s
  export PATH=%s:$PATH   # kubectl

The nodes are simulated: no container runs, a Deployment of the controller
neither. Install the API, and run the controller here:

  kubectl apply -k deploy/crd; kubectl apply -k deploy/policy
  go run .
`, s.PID, s.Dir, s.Kubeconfig, filepath.Dir(s.Kubectl))
}

var errDown = errors.New("the cluster is down")

// folder is where the one cluster of this user keeps its state.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "lws-controller", "cluster")
	return dir, os.MkdirAll(dir, 0o700)
}

const (
	stateFile = "state.json"
	logFile   = "serve.log"
)

// running returns the state of the cluster that runs, or errDown. The background
// process holds the lock as long as it lives, so a state left by one that was
// killed, whose process id may be somebody else's by now, is not believed.
func running() (state, error) {
	var st state
	dir, err := folder()
	if err != nil {
		return st, err
	}
	lock, err := cluster.TryLock(filepath.Join(dir, "lock"))
	if err == nil {
		return st, errors.Join(lock.Close(), errDown)
	}
	if !errors.Is(err, cluster.ErrLocked) {
		return st, err
	}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return st, errStarting
	}
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(data, &st)
}

var errStarting = errors.New("the cluster is starting or stopping")

// up starts the background process, unless there is one, and waits until its
// cluster is ready.
func up(ctx context.Context, out io.Writer, flags *pflag.FlagSet) error {
	dir, err := folder()
	if err != nil {
		return err
	}
	var ended <-chan error // of our background process, nil if somebody else's is waited for
	if _, err := running(); errors.Is(err, errDown) {
		// Built here, and not in the background, so that the progress is seen.
		if _, err := cluster.Build(ctx, os.Stderr); err != nil {
			return err
		}
		if ended, err = spawn(dir, flags); err != nil {
			return err
		}
	}
	for {
		st, err := running()
		switch {
		case err == nil:
			st.print(out)
			return nil
		case errors.Is(err, errStarting) || errors.Is(err, errDown) && ended != nil:
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err() // it goes on in the background
		case <-time.After(100 * time.Millisecond):
		case err := <-ended:
			if _, rerr := running(); !errors.Is(rerr, errDown) {
				ended = nil // another one was faster: that's the one
				continue
			}
			log, _ := os.ReadFile(filepath.Join(dir, logFile))
			return fmt.Errorf("the cluster did not start: %w\n%s", err, bytes.TrimSpace(log))
		}
	}
}

// spawn runs this program's command serve in a session of its own, with the
// flags that were given to up; the channel tells of its end.
func spawn(dir string, flags *pflag.FlagSet) (<-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve"}
	flags.Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	// Not truncated if another process has the cluster: serve does that.
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = errors.New("it ended")
		}
		ended <- err
	}()
	return ended, nil
}

// serve runs the cluster until it is told to end.
func serve(ctx context.Context, opts cluster.Options) (err error) {
	dir, err := folder()
	if err != nil {
		return err
	}
	lock, err := cluster.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := os.Truncate(filepath.Join(dir, logFile), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	path := filepath.Join(dir, stateFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c, err := cluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path), c.Stop()) }()
	// The kubeconfig has the same place each time: shells may keep it exported.
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, c.Config("")); err != nil {
		return err
	}
	data, err := json.Marshal(state{PID: os.Getpid(), Dir: c.Dir(), Kubeconfig: kubeconfig, Kubectl: c.Kubectl()})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// stop ends the background process and waits for it.
func (s state) stop(ctx context.Context) error {
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for {
		if _, err := running(); errors.Is(err, errDown) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

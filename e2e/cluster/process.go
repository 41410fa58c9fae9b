package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one component: what to run, and the run under way.
type process struct {
	name string
	argv []string
	dir  string // working folder and place of the log
	// onExit is told when the process ends without having been asked to.
	onExit func(name string, err error)

	mu       sync.Mutex
	cmd      *exec.Cmd
	done     chan struct{} // closed when the run has ended
	err      error         // how it ended
	stopping bool
}

func (p *process) logPath() string { return filepath.Join(p.dir, p.name+".log") }

// start runs the program; its output is appended to the log. It is an error to
// start what is running.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s is already running", p.name)
	}
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	fmt.Fprintf(log, "--- %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), strings.Join(p.argv, " "))
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.SysProcAttr = childAttr()

	done, started := make(chan struct{}), make(chan error)
	go func() {
		defer close(done)
		// Linux kills the child when the thread that started it ends, so the
		// thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.ended(cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		<-done
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.cmd, p.done, p.stopping, p.err = cmd, done, false, nil
	return nil
}

func (p *process) ended(err error) {
	p.mu.Lock()
	unasked := !p.stopping
	if err == nil {
		err = errors.New("ended with exit status 0")
	}
	p.err = err
	p.mu.Unlock()
	if unasked && p.onExit != nil {
		p.onExit(p.name, err)
	}
}

// running says whether a run is under way; p.mu is held.
func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// exited returns how the process ended, nil while it runs.
func (p *process) exited() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// stop sends the signal, waits for the end, and after the grace kills. A process
// that does not run is fine.
func (p *process) stop(sig syscall.Signal, grace time.Duration) {
	p.mu.Lock()
	if !p.running() {
		p.mu.Unlock()
		return
	}
	p.stopping = true
	proc, done := p.cmd.Process, p.done
	p.mu.Unlock()
	// An error means that it has just ended: it is not waited for twice.
	_ = proc.Signal(sig)
	select {
	case <-done:
	case <-time.After(grace):
		_ = proc.Kill()
		<-done
	}
}

// tail returns the last lines of the log.
func (p *process) tail(lines int) string {
	f, err := os.Open(p.logPath())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 64 << 10
	if fi, err := f.Stat(); err == nil && fi.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	all = all[max(0, len(all)-lines):]
	return string(bytes.Join(all, []byte("\n")))
}

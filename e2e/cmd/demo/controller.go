package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is the controller, running.
type process struct {
	cmd  *exec.Cmd
	log  string
	url  string
	done chan struct{} // closed when it has ended
	err  error         // how, once done is closed
}

// buildController builds the controller from its source in the folder root.
func buildController(ctx context.Context, root, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	cmd.Dir = root
	// Asked to end, the go command ends its compilers too.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the controller: %w\n%s", err, out)
	}
	return nil
}

// startController runs the program. It must be called on the main thread: Linux kills the controller when the thread that started it
// ends, which so is when we do, in whatever way.
func startController(program, log, kubeconfig string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("looking for a free port: %w", err)
	}
	address := l.Addr().String()
	l.Close()
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the child has its own copy
	p := &process{log: log, url: "http://" + address, done: make(chan struct{})}
	// It is alone, and without a lease it also survives that the machine sleeps.
	p.cmd = exec.Command(program, "--kubeconfig", kubeconfig, "--listen", address, "--leader-elect=false", "-v=2")
	p.cmd.Dir = filepath.Dir(log)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = childAttr()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() {
		defer close(p.done)
		if p.err = p.cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
	}()
	return p, nil
}

func (p *process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it is not ready after a minute"))
	defer cancel()
	for {
		if request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil); err != nil {
			return err
		} else if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return fmt.Errorf("starting the controller: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ended is an error once the controller has ended.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("the controller ended unasked: %w", p.err)
	default:
		return nil
	}
}

// stop asks the controller to end, waits, and after a while kills it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// tail is the end of the log.
func (p *process) tail(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

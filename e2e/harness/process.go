package harness

import (
	"os/exec"
	"runtime"
)

// Child starts a process that Ctrl-C does not reach and that does not outlive the test
// process. When it has ended, ended is told how, and then done is closed.
func Child(cmd *exec.Cmd, ended func(error)) (done <-chan struct{}, err error) {
	cmd.SysProcAttr = childAttr()
	started, closed := make(chan error), make(chan struct{})
	go func() {
		defer close(closed)
		// Linux kills the child when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended(cmd.Wait())
		}
	}()
	return closed, <-started
}

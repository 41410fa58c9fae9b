package harness

import (
	"os/exec"
	"runtime"
)

// Child starts a process that Ctrl-C does not reach and that does not outlive the test
// process, and returns what is closed when it has ended.
func Child(cmd *exec.Cmd) (done <-chan struct{}, err error) {
	cmd.SysProcAttr = childAttr()
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// Linux kills the child when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return ended, <-started
}

package harness

import "syscall"

// childAttr keeps Ctrl-C away from the controller, so that it is stopped in order,
// and lets the kernel kill it when the test process is killed.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

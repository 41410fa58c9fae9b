package cluster

import "syscall"

// childAttr gives a component a process group of its own, so that Ctrl-C in a
// terminal reaches only us and we can stop it in order, and lets the kernel kill
// it when we are killed.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

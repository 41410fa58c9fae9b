package main

import "syscall"

// childAttr keeps Ctrl-C in the terminal away from the controller, so that we stop
// it in order, and lets the kernel kill it when we are killed.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

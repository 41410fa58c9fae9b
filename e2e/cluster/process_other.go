//go:build !linux

package cluster

import "syscall"

// childAttr leaves the component in our process group: where the kernel can't
// kill it when we are killed, Ctrl-C in the terminal at least reaches it.
func childAttr() *syscall.SysProcAttr { return nil }

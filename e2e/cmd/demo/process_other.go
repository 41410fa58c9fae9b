//go:build !linux

package main

import "syscall"

// childAttr leaves the controller in our process group: where the kernel can't
// kill it when we are killed, Ctrl-C in the terminal at least reaches it.
func childAttr() *syscall.SysProcAttr { return nil }

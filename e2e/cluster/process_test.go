package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	exits := make(chan string, 10)
	p := &process{
		name: "sh", dir: t.TempDir(),
		argv:   []string{"/bin/sh", "-c", "for i in 1 2 3; do echo line $i; done; exec sleep 600"},
		onExit: func(name string, err error) { exits <- name + ": " + err.Error() },
	}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	if err := p.start(); err == nil {
		t.Error("started twice")
	}
	poll(t, "output", func() bool { return strings.Contains(p.tail(3), "line 3") })
	if got := p.tail(2); got != "line 2\nline 3" {
		t.Errorf("tail %q", got)
	}
	p.stop(syscall.SIGTERM, time.Minute)
	p.stop(syscall.SIGTERM, time.Minute) // no harm
	if p.exited() == nil {
		t.Error("stopped, but not known as ended")
	}
	if len(exits) > 0 {
		t.Errorf("told of an asked stop: %s", <-exits)
	}

	if err := p.start(); err != nil {
		t.Fatalf("again: %v", err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-exits:
		if e != "sh: signal: killed" {
			t.Errorf("told %q", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("not told of the end")
	}
	p.stop(syscall.SIGKILL, time.Minute)
}

func TestProcessStopKillsAfterGrace(t *testing.T) {
	p := &process{name: "sh", dir: t.TempDir(), argv: []string{"/bin/sh", "-c", "trap '' TERM; echo $((40+2)); while :; do sleep 0.1; done"}}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	poll(t, "trap", func() bool { return strings.Contains(p.tail(1), "42") })
	p.stop(syscall.SIGTERM, 50*time.Millisecond)
	if err := p.exited(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v", err)
	}
}

func TestProcessStartError(t *testing.T) {
	p := &process{name: "none", dir: t.TempDir(), argv: []string{"/no/such/program"}}
	if err := p.start(); err == nil {
		t.Error("no error")
	}
	p.stop(syscall.SIGTERM, time.Second)
}

const helperEnv = "LWS_CLUSTER_TEST_HELPER"

// helperProcess is what this test program does when it is run as the parent that
// gets killed: it starts a component and prints its process id.
func helperProcess() {
	p := &process{name: "sleep", dir: os.Getenv(helperEnv), argv: []string{"/bin/sleep", "600"}}
	if err := p.start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	time.Sleep(10 * time.Minute)
}

// TestProcessDiesWithParent kills a process that has started a component.
func TestProcessDiesWithParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do this")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperEnv+"="+t.TempDir())
	out := must(parent.StdoutPipe())(t)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if err != nil {
		t.Fatalf("helper says %q", line)
	}
	poll(t, "end of the child", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // gone, or not yet reaped
	})
}

func TestSlots(t *testing.T) {
	a, b := must(takeSlot())(t), must(takeSlot())(t)
	if a.dir == b.dir || a.port == b.port {
		t.Fatalf("shared: %+v, %+v", a, b)
	}
	left := a.dir + "/left-behind"
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.free(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("not kept: %v", err)
	}
	again := must(takeSlot())(t)
	if again.dir == a.dir {
		if _, err := os.Stat(left); err == nil {
			t.Error("a new slot holds what an earlier cluster left")
		}
	}
	for _, s := range []*slot{b, again} {
		if err := s.free(false); err != nil {
			t.Error(err)
		}
		if isDir(s.dir) {
			t.Errorf("%s is left", s.dir)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"lws-controller/e2e/cluster"
)

// TestMain makes the test program serve when up runs it as itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

func run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	c := command()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

// ownCache gives a test a cache folder that shares only the programs with the
// user's: a cluster that the user has up must not be touched.
func ownCache(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder can only be moved on Linux")
	}
	bin, err := cluster.Build(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if err := errors.Join(os.Mkdir(filepath.Join(cache, "lws-controller"), 0o700),
		os.Symlink(filepath.Dir(bin.Dir), filepath.Join(cache, "lws-controller", "controlplane"))); err != nil {
		t.Fatal(err)
	}
}

func TestUpDown(t *testing.T) {
	ownCache(t)
	t.Cleanup(func() {
		if out, err := run(context.Background(), "down"); err != nil {
			t.Errorf("down: %s, %v", out, err)
		}
	})

	if _, err := run(t.Context(), "status"); !errors.Is(err, errDown) {
		t.Fatalf("status before up: %v", err)
	}
	// Twice at once, and once more: all find the same cluster.
	outs := make([]string, 2)
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			var err error
			if outs[i], err = run(t.Context(), "up", "--nodes=3"); err != nil {
				t.Errorf("up: %v", err)
			}
		})
	}
	wg.Wait()
	for _, cmd := range []string{"up", "status"} {
		out, err := run(t.Context(), cmd)
		if err != nil || out != outs[0] || out != outs[1] {
			t.Fatalf("%s: %v\n%s\nfirst:\n%s\nsecond:\n%s", cmd, err, out, outs[0], outs[1])
		}
	}
	st, err := running()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(outs[0], "export KUBECONFIG="+st.Kubeconfig+"\n") {
		t.Errorf("no kubeconfig in %q", outs[0])
	}
	nodes, err := exec.Command(st.Kubectl, "--kubeconfig", st.Kubeconfig, "get", "nodes", "-o", "name").CombinedOutput()
	if err != nil || string(nodes) != "node/node-0\nnode/node-1\nnode/node-2\n" {
		t.Errorf("kubectl get nodes: %v\n%s", err, nodes)
	}

	for range 2 {
		if out, err := run(t.Context(), "down"); err != nil || out != "the cluster is down\n" {
			t.Errorf("down: %q, %v", out, err)
		}
	}
	if _, err := os.Stat(st.Dir); err == nil {
		t.Errorf("%s is left", st.Dir)
	}
}

// TestUpShowsWhyItFails also covers an end of the background process.
func TestUpShowsWhyItFails(t *testing.T) {
	ownCache(t)
	_, err := run(t.Context(), "up", "--racks=-1")
	if err == nil || !strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("got %v", err)
	}
}

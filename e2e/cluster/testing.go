package cluster

import (
	"context"
	"testing"
)

// StartT starts a cluster for one test, and stops it when the test ends. If the
// test has failed by then, the folder with the logs stays and is named.
func StartT(t testing.TB, opts Options) *Cluster {
	t.Helper()
	if opts.Progress == nil {
		opts.Progress = t.Output()
	}
	c, err := Start(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.KeepDir()
			t.Logf("logs of the control plane, until another cluster takes the place: %s", c.Dir())
		}
		if err := c.Stop(); err != nil {
			t.Errorf("stopping the cluster: %v", err)
		}
	})
	return c
}

// NamespaceT creates a namespace for one test and returns its name. It is not
// deleted: it goes with the cluster.
func (c *Cluster) NamespaceT(t testing.TB, name string) string {
	t.Helper()
	if err := c.Namespace(t.Context(), name); err != nil {
		t.Fatalf("namespace %s: %v", name, err)
	}
	return name
}

package harness

import (
	"os/exec"
	"testing"
)

// Kubectl runs kubectl as an administrator, and returns what it prints. The test ends
// if it fails.
func (e *Env) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(e.Cluster.Kubectl(), append([]string{"--kubeconfig", e.Cluster.Kubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

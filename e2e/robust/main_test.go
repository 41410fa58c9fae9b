package robust

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// sharedNamespace is the one that the shared controller serves.
const sharedNamespace = "shared"

// env is the shared cluster, with a controller that serves sharedNamespace only and
// leads by the lease in kube-system.
var env *harness.Env

func TestMain(m *testing.M) {
	code := harness.Main(m, cluster.Options{}, &env, "--namespace="+sharedNamespace, "--leader-elect=true")
	if plainDir != "" {
		_ = os.RemoveAll(plainDir)
	}
	os.Exit(code)
}

// source is the folder of the main module.
const source = "../.."

var plainDir string

// plain is the controller as it is released: without the race detector, with the
// version of its commit.
var plain = sync.OnceValues(func() (string, error) {
	var err error
	if plainDir, err = os.MkdirTemp("", "lws-controller-plain-"); err != nil {
		return "", err
	}
	program := filepath.Join(plainDir, "lws-controller")
	if out, err := exec.Command("go", "build", "-C", source, "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the controller: %w\n%s", err, out)
	}
	return program, nil
})

func plainProgram(t *testing.T) string {
	t.Helper()
	program, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// controllerFor starts a controller for one namespace of the shared cluster and
// returns when it is ready.
func controllerFor(t *testing.T, namespace string, args ...string) *harness.Controller {
	t.Helper()
	ctl := harness.StartController(t, env.Cluster, append([]string{"--namespace=" + namespace}, args...)...)
	ctl.Ready(t)
	return ctl
}

// ownEnv is a cluster for one test, with everything installed but no controller.
func ownEnv(t *testing.T, options cluster.Options) *harness.Env {
	t.Helper()
	c := cluster.StartT(t, options)
	harness.Install(t, c)
	return harness.NewEnv(t, c)
}

func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a minute")
	}
}

package monitoring

import (
	"os"
	"testing"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env has the first replica: one that its own limit of requests slows down.
var env *harness.Env

// Leases that run out in seconds, and a series for each group.
var replicaFlags = []string{"--leader-elect=true", "--metrics-per-group",
	"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms"}

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true, Nodes: 6}, &env,
		append([]string{"--kube-api-qps=5", "--kube-api-burst=5"}, replicaFlags...)...))
}

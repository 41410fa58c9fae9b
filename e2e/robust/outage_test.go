package robust

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestOutages takes the control plane away from the controller. The tests share a
// cluster, one after the other. The controllers act as the administrator: an API
// server that starts refuses, until it has read the roles, what these grant.
func TestOutages(t *testing.T) {
	t.Parallel()
	c := cluster.StartT(t, cluster.Options{})
	e := harness.NewEnv(t, c)
	e.LosesAnswers = true
	// After an outage the controller manager takes half a minute to see to new ones.
	first, second, third := e.Namespace(t), e.Namespace(t), e.Namespace(t)
	t.Run("NothingThereAtStart", func(t *testing.T) { nothingThereAtStart(t, e, first) })
	t.Run("EtcdKilled", func(t *testing.T) { etcdKilled(t, e, second) })
	t.Run("APIServerDown", func(t *testing.T) { apiServerDown(t, e, third) })
}

// nothingThereAtStart starts the controller first, then the API server, then adds
// the CRD. The controller waits for each. It is alive all the time, lest a kubelet
// restart it, and ready at the end.
func nothingThereAtStart(t *testing.T, e *harness.Env, ns string) {
	c := e.Cluster
	c.StopComponent(cluster.APIServer)
	ctl := harness.StartController(t, c, "--kubeconfig="+c.Kubeconfig())
	waitLog(t, ctl, "The API server does not answer")
	assertAliveNotReady(t, ctl)
	start(t, e, cluster.APIServer)
	waitLog(t, ctl, "The LeaderWorkerSet CRD cannot be found; waiting for it")
	assertAliveNotReady(t, ctl)
	harness.Install(t, c)
	ctl.Ready(t)
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2)))
	e.WaitAvailable(t, set)
}

// apiServerDown stops the API server for 20 s while groups are created. A
// controller that leads gives up when it cannot renew its lease for 10 s: it ends,
// and something like a kubelet starts it again.
func apiServerDown(t *testing.T, e *harness.Env, ns string) {
	skipShort(t)
	ctl := slowController(t, e, "--leader-elect=true")
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(12), harness.Size(4)))
	waitPods(t, e, ns, 8)
	e.Cluster.StopComponent(cluster.APIServer)
	// The length of the outage is what is tested: longer than the lease is renewed,
	// and than requests are waited for.
	time.Sleep(20 * time.Second)
	if ctl.Running() {
		t.Error("the controller still runs, though it cannot know whether it leads")
	} else if !strings.Contains(ctl.Log(), "lost the lease") {
		t.Error("the controller does not say that it lost the lease")
	}
	start(t, e, cluster.APIServer)
	// The scheduler's own patience with an API server is not what is tested: left
	// alone it looks again after up to a minute.
	e.Cluster.StopComponent(cluster.Scheduler)
	start(t, e, cluster.Scheduler)
	ctl.Start(t)
	set = e.WaitAvailable(t, set)
	assertMadeOnce(t, e, someLost, set)
	ctl.Stop(t)
}

// etcdKilled kills etcd for some seconds while groups are created, and then the
// API server too. Without leader election, the controller lives through it.
func etcdKilled(t *testing.T, e *harness.Env, ns string) {
	ctl := slowController(t, e)
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(12), harness.Size(4)))
	waitPods(t, e, ns, 8)
	e.Cluster.KillComponent(cluster.Etcd)
	time.Sleep(5 * time.Second)
	start(t, e, cluster.Etcd)
	waitPods(t, e, ns, 24)
	e.Cluster.KillComponent(cluster.APIServer)
	time.Sleep(time.Second)
	start(t, e, cluster.APIServer)
	set = e.WaitAvailable(t, set)
	assertMadeOnce(t, e, someLost, set)
	if !ctl.Running() {
		t.Error("the controller has ended")
	}
}

func slowController(t *testing.T, e *harness.Env, args ...string) *harness.Controller {
	t.Helper()
	harness.Install(t, e.Cluster) // each test can run alone
	ctl := harness.StartController(t, e.Cluster, append([]string{"--kubeconfig=" + e.Cluster.Kubeconfig(), "--kube-api-qps=10", "--kube-api-burst=5"}, args...)...)
	ctl.Ready(t)
	return ctl
}

// start starts a component and waits until the API server serves again.
func start(t *testing.T, e *harness.Env, component cluster.Component) {
	t.Helper()
	if err := e.Cluster.StartComponent(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the API server", harness.DefaultTimeout, func() (bool, string) {
		body, err := e.Kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		if err != nil {
			return false, err.Error() + "\n" + string(body)
		}
		return true, ""
	})
}

func waitLog(t *testing.T, ctl *harness.Controller, text string) {
	t.Helper()
	harness.WaitFor(t, "the log to say "+text, harness.DefaultTimeout, func() (bool, string) {
		return strings.Contains(ctl.Log(), text), ctl.Log()
	})
}

func assertAliveNotReady(t *testing.T, ctl *harness.Controller) {
	t.Helper()
	for page, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError} {
		if status, body, err := ctl.Get(page); status != want {
			t.Errorf("%s answers %d %v %s, want %d", page, status, err, body, want)
		}
	}
	if !ctl.Running() {
		t.Error("the controller has ended")
	}
}

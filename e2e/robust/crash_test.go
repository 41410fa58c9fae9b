package robust

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

// TestKilledWhileCreating kills the controller several times while it creates 20
// groups. Nothing is created twice, nothing is lost.
func TestKilledWhileCreating(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	// Slow enough that each kill comes before the end.
	ctl := controllerFor(t, ns, "--kube-api-qps=30", "--kube-api-burst=10")
	web := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(14), harness.Size(4), harness.UniquePerReplica))
	late := env.Create(t, harness.NewSet(ns, "late", harness.Replicas(6), harness.Size(3), harness.LeaderReady))
	all := len(podNames(web)) + len(podNames(late))
	midway := 0
	for _, moment := range []int{0, 1, 12, 30, 55} {
		waitPods(t, env, ns, moment)
		ctl.Kill(t)
		pods := waitPods(t, env, ns, moment)
		t.Logf("killed with %d of %d pods", pods, all)
		if 0 < pods && pods < all {
			midway++
		}
		ctl.Start(t)
	}
	if midway < 3 {
		t.Errorf("only %d kills came midway: this has tested little", midway)
	}
	web, late = env.WaitAvailable(t, web), env.WaitAvailable(t, late)
	assertMadeOnce(t, env, someLost, web, late)
	services, err := env.Kube.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(services.Items); n != 14+1 {
		t.Errorf("%d services exist, want one for each group of web and one for late", n)
	}
}

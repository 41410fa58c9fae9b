package robust

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// managerUser is who the controller is when it is installed from deploy/.
const (
	managerNamespace = "kube-system"
	managerName      = "lws-controller-manager"
	managerUser      = "system:serviceaccount:" + managerNamespace + ":" + managerName
	leaseName        = "b8b2488c.x-k8s.io"
)

// TestReplicas runs two replicas that elect a leader, as deploy/ does, with the
// token of their service account. The tests share a cluster, one after the other.
func TestReplicas(t *testing.T) {
	t.Parallel()
	e := ownEnv(t, cluster.Options{})
	t.Run("Rights", func(t *testing.T) { rights(t, e) })
	t.Run("Quiet", func(t *testing.T) { quiet(t, e) })
	t.Run("LeaderKilled", func(t *testing.T) { leaderKilled(t, e) })
	t.Run("LeaderStopped", func(t *testing.T) { leaderStopped(t, e) })
}

// replica is a controller that can be told from others in the audit log, by its
// token.
type replica struct {
	*harness.Controller
	credential string
}

// startReplica starts a replica with the default flags and those given.
func startReplica(t *testing.T, e *harness.Env, args ...string) *replica {
	t.Helper()
	config, err := e.Cluster.ServiceAccount(t.Context(), managerNamespace, managerName)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	ctl := harness.StartController(t, e.Cluster, append([]string{"--kubeconfig=" + path, "--leader-elect=true"}, args...)...)
	ctl.Ready(t)
	return &replica{ctl, credential(t, config.BearerToken)}
}

// credential is how the audit log names a token: by its ID.
func credential(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatal("the token is no JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		ID string `json:"jti"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.ID == "" {
		t.Fatalf("claims of the token: %v, id %q", err, claims.ID)
	}
	return "JTI=" + claims.ID
}

// requests are those of this replica, leases and watches aside.
func (r *replica) requests(t *testing.T, e *harness.Env, f cluster.AuditFilter) []auditv1.Event {
	t.Helper()
	return slices.DeleteFunc(besidesLeases(audit(t, e, f)), func(ev auditv1.Event) bool {
		return !slices.Contains(ev.User.Extra["authentication.kubernetes.io/credential-id"], r.credential)
	})
}

func (r *replica) leads() bool {
	_, body, err := r.Get("/readyz?verbose")
	return err == nil && strings.Contains(string(body), "leading: true")
}

// elected waits until one of two replicas leads.
func elected(t *testing.T, a, b *replica) (leader, standby *replica) {
	t.Helper()
	harness.WaitFor(t, "a leader", harness.DefaultTimeout, func() (bool, string) {
		switch x, y := a.leads(), b.leads(); {
		case x && y:
			t.Fatal("both replicas lead")
		case x:
			leader, standby = a, b
		case y:
			leader, standby = b, a
		}
		return leader != nil, "none leads"
	})
	return leader, standby
}

func waitLeads(t *testing.T, r *replica) {
	t.Helper()
	harness.WaitFor(t, "the other replica to lead", harness.DefaultTimeout, func() (bool, string) { return r.leads(), "it does not" })
}

// lease is that of the leader election.
func lease(t *testing.T, e *harness.Env) (holder string, acquired, renewed time.Time) {
	t.Helper()
	l, err := e.Kube.CoordinationV1().Leases(managerNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return holder, l.Spec.AcquireTime.Time, l.Spec.RenewTime.Time
}

// quiet has sets of several shapes, all Available, and two replicas with the
// default flags. For a minute, none of them asks anything besides watches and the
// lease. Nor is anything written when another replica takes over, or one starts
// anew.
func quiet(t *testing.T, e *harness.Env) {
	skipShort(t)
	ns := e.Namespace(t)
	leader, standby := elected(t, startReplica(t, e), startReplica(t, e))
	var sets []*harness.Set
	for i, option := range []harness.Option{harness.LeaderReady, harness.UniquePerReplica, harness.Size(1), harness.Replicas(0), harness.Replicas(9)} {
		sets = append(sets, e.Create(t, harness.NewSet(ns, fmt.Sprintf("set-%d", i), harness.Replicas(3), harness.Size(3), option)))
	}
	for i := range sets {
		sets[i] = e.WaitAvailable(t, sets[i])
	}
	waitQuiet(t, e, "", 5*time.Second)

	since := time.Now()
	time.Sleep(time.Minute) // what is tested is that nothing happens meanwhile
	events := audit(t, e, cluster.AuditFilter{Since: since})
	if others := besidesLeases(slices.Clone(events)); len(others) > 0 {
		t.Errorf("requests in a minute without changes:\n%s\n%s", cluster.Summary(others), describe(others))
	}
	t.Logf("requests of two replicas in a minute:\n%s", cluster.Summary(events))

	since = time.Now()
	leader.Stop(t)
	waitLeads(t, standby)
	waitKnown(t, standby, sets)
	assertNoWrites(t, e, since, "another replica has taken over")

	standby.Stop(t)
	since = time.Now()
	leader.Start(t)
	leader.Ready(t)
	waitLeads(t, leader)
	waitKnown(t, leader, sets)
	assertNoWrites(t, e, since, "the controller has started anew")
}

// waitKnown waits until a replica has looked at all sets and found their groups
// Ready.
func waitKnown(t *testing.T, r *replica, sets []*harness.Set) {
	t.Helper()
	want := 0
	for _, set := range sets {
		want += int(*set.Spec.Replicas)
	}
	harness.WaitFor(t, "all groups to be known", harness.DefaultTimeout, func() (bool, string) {
		n, known := 0, r.Groups(t)
		for _, set := range known {
			for _, g := range set.Groups {
				if g.Phase == "Ready" {
					n++
				}
			}
		}
		return len(known) == len(sets) && n == want, fmt.Sprintf("%d of %d groups, %d of %d sets", n, want, len(known), len(sets))
	})
}

// assertNoWrites gives writes that are made a moment late, such as events, two
// seconds to appear.
func assertNoWrites(t *testing.T, e *harness.Env, since time.Time, when string) {
	t.Helper()
	time.Sleep(2 * time.Second)
	if writes := besidesLeases(audit(t, e, cluster.AuditFilter{Since: since, Writes: true})); len(writes) > 0 {
		t.Errorf("writes after %s, with all sets converged:\n%s", when, cluster.Summary(writes))
	}
}

// shortLease are flags for an election that takes seconds. With the default ones
// (15 s, 10 s, 2 s) a killed leader is replaced after 15 to 19 s, one that stops in
// order after at most 4.4 s: a replica that stands by looks every 2 s, and up to 1.2
// times that later.
var shortLease = []string{
	"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms",
	"--kube-api-qps=20", "--kube-api-burst=10",
}

const shortLeaseDuration = 5 * time.Second

// leaderKilled kills the leader while it creates groups. The other replica goes on
// when the lease has run out, and wrote nothing before.
func leaderKilled(t *testing.T, e *harness.Env) {
	leader, standby := elected(t, startReplica(t, e, shortLease...), startReplica(t, e, shortLease...))
	ns := e.Namespace(t)
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(10), harness.Size(4)))
	pods := waitPods(t, e, ns, 8)
	killed := time.Now()
	leader.Kill(t)
	waitLeads(t, standby)
	_, acquired, _ := lease(t, e)
	took := acquired.Sub(killed)
	t.Logf("leader killed with %d of 40 pods; the other led after %s", pods, took)
	if limit := shortLeaseDuration + 5*time.Second; took > limit {
		t.Errorf("it took %s until the other replica led, want at most %s", took, limit)
	}
	set = e.WaitAvailable(t, set)
	assertMadeOnce(t, e, someLost, set)
	if writes := standby.requests(t, e, cluster.AuditFilter{Writes: true, Until: acquired}); len(writes) > 0 {
		t.Errorf("the replica wrote before it led:\n%s", cluster.Summary(writes))
	}
	if writes := standby.requests(t, e, cluster.AuditFilter{Writes: true, Namespace: ns}); len(writes) == 0 {
		t.Error("the log shows no writes of the new leader: they cannot be told apart")
	}
}

// leaderStopped stops the leader in order, as an update does: the other one leads
// within 3 s. When that stops too, the lease is free.
func leaderStopped(t *testing.T, e *harness.Env) {
	leader, standby := elected(t, startReplica(t, e, shortLease...), startReplica(t, e, shortLease...))
	ns := e.Namespace(t)
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(10), harness.Size(4)))
	waitPods(t, e, ns, 8)
	stopped := time.Now()
	leader.Stop(t)
	if took := time.Since(stopped); took > 5*time.Second {
		t.Errorf("the controller took %s to stop", took)
	}
	waitLeads(t, standby)
	_, acquired, _ := lease(t, e)
	took := acquired.Sub(stopped)
	t.Logf("leader stopped; the other led after %s", took)
	if took > 3*time.Second {
		t.Errorf("it took %s until the other replica led, want at most 3 s", took)
	}
	if late := leader.requests(t, e, cluster.AuditFilter{Since: acquired}); len(late) > 0 {
		t.Errorf("requests of the old leader after the new one led:\n%s", cluster.Summary(late))
	}
	set = e.WaitAvailable(t, set)
	// Stopping gives up requests under way.
	assertMadeOnce(t, e, someLost, set)
	standby.Stop(t)
	if holder, _, _ := lease(t, e); holder != "" {
		t.Errorf("the lease is still held by %s", holder)
	}
}

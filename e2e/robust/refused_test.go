package robust

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// badName makes a template that the API server refuses pods of.
func badName(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Name = "Bad_Name" }

// TestBadTemplate has the API server refuse pods for their container's name, which
// the CRD's schema does not check. The user learns what the API server said, the
// controller does not hammer it, and a better template heals the set.
func TestBadTemplate(t *testing.T) {
	t.Parallel()
	const said = `spec.containers[0].name: Invalid value: "Bad_Name"`
	for name, test := range map[string]struct {
		option  harness.Option
		heal    func(*harness.Set)
		refused []string // the pods that are tried
		exist   int
	}{
		"leader": {harness.Leader(badName),
			func(s *harness.Set) { s.Spec.LeaderWorkerTemplate.LeaderTemplate.Spec.Containers[0].Name = "good" },
			[]string{"leader-0", "leader-1"}, 0},
		"workers": {func(s *harness.Set) { harness.Leader(func(*corev1.PodTemplateSpec) {})(s); harness.Worker(badName)(s) },
			func(s *harness.Set) { s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Name = "good" },
			[]string{"workers-0-1", "workers-1-1"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			controllerFor(t, ns)
			set := env.Create(t, harness.NewSet(ns, name, harness.Replicas(2), harness.Size(3), test.option))
			assertDegraded(t, env, set, "FailedCreate", "Group 0: ", said)
			assertWarning(t, env, set, "FailedCreate", said)
			for _, pod := range test.refused {
				assertBackoff(t, env, ns, pod, http.StatusUnprocessableEntity)
			}
			if pods := env.Pods(t, set); len(pods) != test.exist {
				t.Errorf("%d pods exist, want %d:\n%s", len(pods), test.exist, env.Describe(t, env.Get(t, set)))
			}
			env.Update(t, set, test.heal)
			set = env.WaitAvailable(t, set)
			assertHealed(t, env, set)
		})
	}
}

// TestQuota has a quota that lets half of the groups, or half a group, exist. What
// exists stays, and the rest comes soon after the quota is raised.
func TestQuota(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ replicas, size, pods int32 }{
		"half-the-groups": {6, 1, 3},
		"half-a-group":    {1, 6, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			quota := makeQuota(t, ns, test.pods)
			controllerFor(t, ns)
			set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(test.replicas), harness.Size(test.size)))
			assertDegraded(t, env, set, "FailedCreate", "Group ", "exceeded quota: pods, requested: pods=1, used: pods=3, limited: pods=3")
			assertWarning(t, env, set, "FailedCreate", "exceeded quota")
			// Which groups are refused depends on which requests come first.
			refused := ""
			exist := uids(env.Pods(t, set))
			for i := int32(0); test.replicas > 1 && i < test.replicas && refused == ""; i++ {
				if name := fmt.Sprintf("web-%d", i); exist[name] == "" {
					refused = name
				}
			}
			assertBackoff(t, env, ns, refused, http.StatusForbidden)
			before := uids(env.Pods(t, set))
			if len(before) != int(test.pods) {
				t.Errorf("%d pods exist, want %d", len(before), test.pods)
			}
			raiseQuota(t, quota, 100)
			set = env.WaitAvailable(t, set)
			after := uids(env.Pods(t, set))
			for name, uid := range before {
				if after[name] != uid {
					t.Errorf("pod %s did not stay", name)
				}
			}
			assertMadeOnce(t, env, allLogged, set)
			assertHealed(t, env, set)
		})
	}
}

func assertDegraded(t *testing.T, e *harness.Env, set *harness.Set, reason string, parts ...string) {
	t.Helper()
	c := e.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	if c.Reason != reason {
		t.Errorf("condition Degraded has reason %s, want %s", c.Reason, reason)
	}
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			t.Errorf("condition Degraded says %q, want it to contain %q", c.Message, part)
		}
	}
}

func assertHealed(t *testing.T, e *harness.Env, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "the set to be healthy", harness.DefaultTimeout, func() (bool, string) {
		got := condition(e.Get(t, set), lwsv1.ConditionDegraded)
		return strings.HasPrefix(got, "False FailedCreate: "), got
	})
	for _, p := range e.Pods(t, set) {
		if p.DeletionTimestamp != nil {
			t.Errorf("pod %s is terminating", p.Name)
		}
	}
}

// assertWarning waits for a Warning event, since events are sent on the side.
func assertWarning(t *testing.T, e *harness.Env, set *harness.Set, reason, part string) {
	t.Helper()
	harness.WaitFor(t, "a Warning "+reason, harness.DefaultTimeout, func() (bool, string) {
		state := ""
		for _, ev := range e.Events(t, set) {
			if ev.Type == corev1.EventTypeWarning && ev.Reason == reason && strings.Contains(ev.Note, part) {
				return true, ""
			}
			state += fmt.Sprintf("%s %s: %s\n", ev.Type, ev.Reason, ev.Note)
		}
		return false, state
	})
}

// assertBackoff waits for the fourth attempt to create a pod ("" any of the
// namespace, where only one group is refused) and checks the times between rounds of
// attempts: 1 s, 2 s, 4 s, never less.
func assertBackoff(t *testing.T, e *harness.Env, namespace, pod string, code int32) {
	t.Helper()
	var rounds []time.Time
	attempts := 0
	harness.WaitFor(t, "the fourth attempt to create "+pod, harness.DefaultTimeout, func() (bool, string) {
		rounds, attempts = nil, 0
		for _, ev := range audit(t, e, cluster.AuditFilter{Namespace: namespace, Resource: "pods", Verbs: []string{"create"}, Name: pod}) {
			if ev.ResponseStatus.Code != code {
				continue
			}
			attempts++
			// Requests of one round are in parallel.
			if n := len(rounds); n == 0 || ev.RequestReceivedTimestamp.Sub(rounds[n-1]) > 500*time.Millisecond {
				rounds = append(rounds, ev.RequestReceivedTimestamp.Time)
			}
		}
		return len(rounds) >= 4, fmt.Sprintf("%d attempts, rounds at %v", attempts, rounds)
	})
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if gap := rounds[i+1].Sub(rounds[i]); gap < want*9/10 {
			t.Errorf("pod %q: attempt %d came %s after the one before, want at least %s", pod, i+2, gap, want)
		}
	}
	if pod != "" && attempts > len(rounds) {
		t.Errorf("pod %s: %d attempts in %d rounds", pod, attempts, len(rounds))
	}
}

// makeQuota returns when the quota is in force.
func makeQuota(t *testing.T, namespace string, pods int32) *corev1.ResourceQuota {
	t.Helper()
	quotas := env.Kube.CoreV1().ResourceQuotas(namespace)
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(pods), resource.DecimalSI)}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the quota to be counted", harness.DefaultTimeout, func() (bool, string) {
		q, err := quotas.Get(t.Context(), quota.Name, metav1.GetOptions{})
		return err == nil && len(q.Status.Used) > 0, fmt.Sprint(q, err)
	})
	return quota
}

func raiseQuota(t *testing.T, quota *corev1.ResourceQuota, pods int64) {
	t.Helper()
	quotas := env.Kube.CoreV1().ResourceQuotas(quota.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		q, err := quotas.Get(t.Context(), quota.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		q.Spec.Hard[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
		_, err = quotas.Update(t.Context(), q, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// uids of pods by name.
func uids(pods []corev1.Pod) map[string]string {
	out := map[string]string{}
	for _, p := range pods {
		out[p.Name] = string(p.UID)
	}
	return out
}

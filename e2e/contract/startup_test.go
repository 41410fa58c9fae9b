package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"encoding/json"
	corev1 "k8s.io/api/core/v1"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// settled is how long nothing must happen where nothing may: the controller acts
// on what it sees within milliseconds.
const settled = 1500 * time.Millisecond

// TestLeaderCreated: the workers don't wait for their leader to be Ready.
func TestLeaderCreated(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(4),
		harness.Leader(harness.Annotated(cluster.AnnotationHold, ""))))
	harness.WaitFor(t, "all pods to exist", harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == 8, env.Describe(t, env.Get(t, set))
	})
	for _, leader := range []string{"web-0", "web-1"} {
		if isReady(env.Pod(t, ns, leader)) {
			t.Errorf("leader %s is Ready although it is held", leader)
		}
	}
}

// TestLeaderReady: no worker exists before its own leader is Ready, and groups
// don't wait for each other.
func TestLeaderReady(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(4), harness.LeaderReady,
		harness.Leader(harness.Annotated(cluster.AnnotationHold, ""))))
	harness.WaitFor(t, "the leaders to be scheduled", harness.DefaultTimeout, func() (bool, string) {
		scheduled := 0
		for _, p := range env.Pods(t, set) {
			if p.Spec.NodeName != "" {
				scheduled++
			}
		}
		return scheduled == 2, env.Describe(t, env.Get(t, set))
	})
	time.Sleep(settled)
	if pods := podNames(t, set); !slices.Equal(pods, []string{"web-0", "web-1"}) {
		t.Fatalf("pods %v while the leaders are not Ready, want the leaders only", pods)
	}
	env.Annotate(t, ns, "web-1", cluster.AnnotationHold, nil)
	harness.WaitFor(t, "the workers of group 1", harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == 5, env.Describe(t, env.Get(t, set))
	})
	time.Sleep(settled)
	want := []string{"web-0", "web-1", "web-1-1", "web-1-2", "web-1-3"}
	if pods := podNames(t, set); !slices.Equal(pods, want) {
		t.Fatalf("pods %v while leader web-0 is not Ready, want %v", pods, want)
	}
	env.Annotate(t, ns, "web-0", cluster.AnnotationHold, nil)
	env.WaitAvailable(t, set)
	checkLeaderFirst(t, ns)
}

// checkLeaderFirst reads from the API server's log that each worker was asked for
// after its leader had been reported Ready.
func checkLeaderFirst(t *testing.T, ns string) {
	t.Helper()
	requests, err := env.Cluster.Audit(cluster.AuditFilter{Namespace: ns, Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	readyAt := map[string]time.Time{}
	workers := 0
	for _, r := range requests {
		if r.ResponseStatus.Code >= 300 || r.ObjectRef.Resource != "pods" {
			continue
		}
		pod := podOf(t, r)
		if pod == nil {
			continue
		}
		leader, isWorker := pod.Annotations["leaderworkerset.sigs.k8s.io/leader-name"]
		switch {
		case isWorker && r.Verb == "create" && r.ObjectRef.Subresource == "":
			workers++
			if at, known := readyAt[leader]; !known || r.RequestReceivedTimestamp.Time.Before(at) {
				t.Errorf("worker %s was created before its leader was Ready (%s)", pod.Name, at)
			}
		case !isWorker && isReady(pod) && readyAt[pod.Name].IsZero():
			readyAt[pod.Name] = r.RequestReceivedTimestamp.Time
		}
	}
	if workers != 6 {
		t.Errorf("%d creations of workers in the log, want 6", workers)
	}
}

func podOf(t *testing.T, r auditv1.Event) *corev1.Pod {
	t.Helper()
	if r.ResponseObject == nil || !strings.Contains(string(r.ResponseObject.Raw[:min(60, len(r.ResponseObject.Raw))]), `"Pod"`) {
		return nil // a Binding's answer is a Status
	}
	var pod corev1.Pod
	if err := json.Unmarshal(r.ResponseObject.Raw, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func podNames(t *testing.T, set *harness.Set) (names []string) {
	t.Helper()
	for _, p := range env.Pods(t, set) {
		names = append(names, p.Name)
	}
	return names
}

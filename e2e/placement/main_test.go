package placement

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

// nodes is enough for all domains of a test; tests share them, each with domains by a
// label of its own. The last two are for those who want no other pods there.
const nodes = 12

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: nodes, RaisedLimits: true}, &env))
}

// domains gives the first nodes a label, two nodes to each value d0, d1, ..., and
// returns its key.
func domains(t *testing.T, n int) (key string) {
	t.Helper()
	key = "placement.example.com/" + t.Name()
	for i := range 2 * n {
		env.LabelNode(t, node(i), key, domain(i/2))
	}
	return key
}

func node(i int) string   { return fmt.Sprintf("node-%d", i) }
func domain(i int) string { return fmt.Sprintf("d%d", i) }

// domainsOf are the domains of the bound pods, by what of a pod tells them apart, each
// with the number of pods there. It reads the nodes, not what pods say about them.
func domainsOf(t *testing.T, set *harness.Set, key string, of func(*corev1.Pod) string) map[string]map[string]int {
	t.Helper()
	all, err := env.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for i := range all.Items {
		where[all.Items[i].Name] = all.Items[i].Labels[key]
	}
	out := map[string]map[string]int{}
	for _, p := range env.Pods(t, set) {
		if p.Spec.NodeName == "" {
			continue
		}
		name := of(&p)
		if out[name] == nil {
			out[name] = map[string]int{}
		}
		out[name][where[p.Spec.NodeName]]++
	}
	return out
}

func groupOf(p *corev1.Pod) string { return p.Labels[lwsv1.LabelGroupIndex] }

func subGroupOf(p *corev1.Pod) string {
	return p.Labels[lwsv1.LabelGroupIndex] + "/" + p.Labels[lwsv1.LabelSubGroupIndex]
}

// whole fails the test unless there are so many parts, each with all of its pods in one
// domain, and returns how many parts each domain has.
func whole(t *testing.T, found map[string]map[string]int, pods map[string]int) (parts map[string]int) {
	t.Helper()
	parts = map[string]int{}
	for name, n := range pods {
		if len(found[name]) != 1 {
			t.Errorf("%s is in %d domains, want one: %v", name, len(found[name]), found[name])
		}
		for d, have := range found[name] {
			if d == "" || have != n {
				t.Errorf("%s has %d pods in domain %q, want %d in one", name, have, d, n)
			}
			parts[d]++
		}
	}
	if len(found) != len(pods) {
		t.Errorf("%d parts have pods on nodes, want %d: %v", len(found), len(pods), found)
	}
	return parts
}

// groups are n groups of size pods.
func groups(n, size int) map[string]int {
	out := map[string]int{}
	for i := range n {
		out[strconv.Itoa(i)] = size
	}
	return out
}

// waits waits until the only pod of a set is one that the scheduler finds no place for.
func waits(t *testing.T, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "the leader of "+set.Name+" to have no place", harness.DefaultTimeout, func() (bool, string) {
		pods := env.Pods(t, set)
		return len(pods) == 1 && unschedulable(&pods[0]), env.Describe(t, env.Get(t, set))
	})
}

func unschedulable(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

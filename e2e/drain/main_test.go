package drain

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests. Each test makes nodes of its own, since what it does to
// a node is done to all pods there.
var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: -1, RaisedLimits: true}, &env))
}

// nodeOf is the label of a test's nodes: its namespace.
const nodeOf = "test"

// addNode makes a node for the pods of one namespace.
func addNode(t *testing.T, ns, name string) string {
	t.Helper()
	name = ns + "-" + name
	capacity := cluster.DefaultNodeCapacity()
	_, err := env.Kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{corev1.LabelHostname: name, nodeOf: ns},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// spread has each group put no two pods on one node of the test.
func spread(set *harness.Set) {
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.NodeSelector = map[string]string{nodeOf: set.Namespace}
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{lwsv1.LabelName: set.Name}}, MatchLabelKeys: []string{lwsv1.LabelGroupKey},
	}}
}

func budget(groups string) harness.Option {
	return harness.Annotation(lwsv1.AnnotationDisruptionBudget, groups)
}

// size of the groups, and how many nodes there are at first, so that each has a pod of
// every group.
const size = 3

// started is a set of groups that are all Ready and of which each node a, b and c holds
// one pod of each; two nodes more are free.
func started(t *testing.T, groups int32, options ...harness.Option) *harness.Set {
	t.Helper()
	ns := env.Namespace(t)
	for _, name := range []string{"a", "b", "c"} {
		addNode(t, ns, name)
	}
	set := env.Create(t, harness.NewSet(ns, "web", append([]harness.Option{harness.Replicas(groups), harness.Size(size), spread}, options...)...))
	set = env.WaitAvailable(t, set)
	addNode(t, ns, "d")
	addNode(t, ns, "e")
	return set
}

// waitBudget waits until the set's PodDisruptionBudget lets so many of its pods go,
// as kube-controller-manager sees it, out of so many.
func waitBudget(t *testing.T, set *harness.Set, expected, allowed int32) *policyv1.PodDisruptionBudget {
	t.Helper()
	var b *policyv1.PodDisruptionBudget
	harness.WaitFor(t, "the budget of "+set.Namespace, harness.DefaultTimeout, func() (bool, string) {
		var err error
		if b, err = env.Kube.PolicyV1().PodDisruptionBudgets(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods == expected && b.Status.DisruptionsAllowed == allowed,
			fmt.Sprintf("%+v\n%+v", b.Spec, b.Status)
	})
	return b
}

func waitNoBudget(t *testing.T, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "the budget of "+set.Namespace+" to go", harness.DefaultTimeout, func() (bool, string) {
		_, err := env.Kube.PolicyV1().PodDisruptionBudgets(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// drain has kubectl drain a node, and waits until it is empty.
func drain(t *testing.T, set *harness.Set, node string) {
	name := set.Namespace + "-" + node
	out, err := exec.CommandContext(t.Context(), env.Cluster.Kubectl(), "--kubeconfig", env.Cluster.Kubeconfig(),
		"drain", name, "--timeout=90s").CombinedOutput()
	if err != nil {
		t.Errorf("draining %s: %v\n%s", name, err, out)
	}
	for _, p := range env.Pods(t, set) {
		if p.Spec.NodeName == name {
			t.Errorf("pod %s is on node %s after its drain\n%s", p.Name, name, out)
		}
	}
}

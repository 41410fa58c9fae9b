package samples

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

// Ten nodes are wanted whole, for their eight GPUs; pods that want one GPU may lie on four
// more. The first eight are also two TPU slices of four hosts.
const (
	nodes        = 16
	racks        = 4
	tpuSlices    = 2
	hostsOfSlice = 4
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: nodes, Racks: racks, RaisedLimits: true}, &env))
}

// Labels of the nodes of a TPU slice on GKE.
const (
	labelNodePool    = "cloud.google.com/gke-nodepool"
	labelAccelerator = "cloud.google.com/gke-tpu-accelerator"
	labelTopology    = "cloud.google.com/gke-tpu-topology"
)

func makeTPUSlices(t *testing.T) {
	t.Helper()
	for i := range tpuSlices * hostsOfSlice {
		name := fmt.Sprintf("node-%d", i)
		env.LabelNode(t, name, labelNodePool, fmt.Sprintf("slice-%d", i/hostsOfSlice))
		env.LabelNode(t, name, labelAccelerator, "tpu-v5-lite-podslice")
		env.LabelNode(t, name, labelTopology, "4x4")
	}
}

// domains are the values of a node label where the pods are that have one value of a pod
// label.
func domains(t *testing.T, set *harness.Set, nodeLabel, podLabel string) map[string][]string {
	t.Helper()
	all, err := env.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for i := range all.Items {
		where[all.Items[i].Name] = all.Items[i].Labels[nodeLabel]
	}
	found := map[string][]string{}
	for _, p := range env.Pods(t, set) {
		if part, has := p.Labels[podLabel]; has && !slices.Contains(found[part], where[p.Spec.NodeName]) {
			found[part] = append(found[part], where[p.Spec.NodeName])
		}
	}
	return found
}

// eachAlone fails the test unless so many parts of the set have a domain each, for
// themselves.
func eachAlone(t *testing.T, set *harness.Set, parts int, nodeLabel, podLabel string) {
	t.Helper()
	found := domains(t, set, nodeLabel, podLabel)
	owner := map[string]string{}
	for part, in := range found {
		if len(in) != 1 || in[0] == "" {
			t.Errorf("%s=%s is in %s %q, want one", podLabel, part, nodeLabel, in)
			continue
		}
		if other, taken := owner[in[0]]; taken {
			t.Errorf("%s=%s and %s are both in %s", podLabel, part, other, in[0])
		}
		owner[in[0]] = part
	}
	if len(found) != parts {
		t.Errorf("%d values of %s, want %d: %v", len(found), podLabel, parts, found)
	}
}

// serves waits until the Service leads to the leaders of the set, and to nobody else.
func serves(t *testing.T, set *harness.Set, service string) {
	t.Helper()
	var leaders []string
	for _, p := range env.Pods(t, set) {
		if p.Labels[lwsv1.LabelWorkerIndex] == "0" {
			leaders = append(leaders, p.Name)
		}
	}
	harness.WaitFor(t, fmt.Sprintf("Service %s to lead to %v", service, leaders), harness.DefaultTimeout, func() (bool, string) {
		list, err := env.Kube.DiscoveryV1().EndpointSlices(set.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service})
		if err != nil {
			t.Fatal(err)
		}
		var to []string
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					to = append(to, e.TargetRef.Name)
				}
			}
		}
		slices.Sort(to)
		return slices.Equal(to, leaders), fmt.Sprint(to)
	})
}

// onNodesOfTheirOwn fails the test unless no two pods of the set share a node.
func onNodesOfTheirOwn(t *testing.T, set *harness.Set) {
	t.Helper()
	taken := map[string]string{}
	for _, p := range env.Pods(t, set) {
		if other := taken[p.Spec.NodeName]; other != "" {
			t.Errorf("%s and %s are both on %s", p.Name, other, p.Spec.NodeName)
		}
		taken[p.Spec.NodeName] = p.Name
	}
}

// command is the command of a pod's first container as the kubelet would run it: names in
// $() that the container knows as a plain value are replaced.
func command(p *corev1.Pod) string {
	c := &p.Spec.Containers[0]
	line := strings.Join(c.Command, " ")
	for _, e := range c.Env {
		line = strings.ReplaceAll(line, "$("+e.Name+")", e.Value)
	}
	return line
}

// runs fails the test unless the command of each pod has what is wanted for its index.
func runs(t *testing.T, set *harness.Set, want func(group, worker string) []string) {
	t.Helper()
	for _, p := range env.Pods(t, set) {
		line := command(&p)
		for _, part := range want(p.Labels[lwsv1.LabelGroupIndex], p.Labels[lwsv1.LabelWorkerIndex]) {
			if !strings.Contains(line+" ", part+" ") {
				t.Errorf("%s runs %q, which lacks %q", p.Name, line, part)
			}
		}
	}
}

// value is a variable of a pod's first container.
func value(p *corev1.Pod, name string) string {
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

package gangs

import (
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

// nodes are four, two to a rack.
func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: 4, Racks: 2, RaisedLimits: true}, &env))
}

// slots gives the nodes room for so many pods of a test each, and returns the resource
// that its pods take one of.
func slots(t *testing.T, perNode ...int) corev1.ResourceName {
	t.Helper()
	name := corev1.ResourceName("gangs.example.com/" + t.Name())
	for i, n := range perNode {
		env.Room(t, node(i), name, n)
	}
	return name
}

func node(i int) string { return fmt.Sprintf("node-%d", i) }

func gang(set *harness.Set) { set.Spec.Scheduling = &lwsv1.Scheduling{} }

// inRack is a gang within one rack.
func inRack(set *harness.Set) {
	set.Spec.Scheduling = &lwsv1.Scheduling{SchedulingConstraints: &schedulingv1beta1.PodGroupSchedulingConstraints{
		Topology: []schedulingv1beta1.TopologyConstraint{{Key: cluster.RackLabel}}}}
}

func create(t *testing.T, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.Create(t, harness.NewSet(env.Namespace(t), "web", options...))
}

// placed waits until so many pods of a set exist, and returns the racks of those bound,
// by group.
func placed(t *testing.T, set *harness.Set, pods int, done func(racks map[string][]string) bool) map[string][]string {
	t.Helper()
	var racks map[string][]string
	harness.WaitFor(t, "the gangs of "+set.Name, harness.DefaultTimeout, func() (bool, string) {
		all := env.Pods(t, set)
		racks = map[string][]string{}
		for i := range all {
			group := all[i].Labels[lwsv1.LabelGroupIndex]
			racks[group] = append(racks[group], "")
			if all[i].Spec.NodeName != "" {
				racks[group][len(racks[group])-1] = rackOf(all[i].Spec.NodeName)
			}
		}
		return len(all) == pods && done(racks), fmt.Sprintf("%d pods, %v\n%s", len(all), racks, env.Describe(t, env.Get(t, set)))
	})
	return racks
}

// rackOf is as the nodes are made: two to a rack.
func rackOf(node string) string {
	if node == "node-0" || node == "node-1" {
		return "rack-0"
	}
	return "rack-1"
}

// whole are the groups with all pods bound, waiting those with none; any other is half
// placed, and fails the test.
func count(t *testing.T, racks map[string][]string) (whole, waiting []string) {
	t.Helper()
	for group, of := range racks {
		switch {
		case !slices.Contains(of, ""):
			whole = append(whole, group)
		case !slices.ContainsFunc(of, func(rack string) bool { return rack != "" }):
			waiting = append(waiting, group)
		default:
			t.Errorf("group %s is half placed: %q", group, of)
		}
	}
	slices.Sort(whole)
	return whole, waiting
}

// podGroups are those of a namespace by name, with what they ask for.
func podGroups(t *testing.T, ns string) map[string]*schedulingv1beta1.PodGroup {
	t.Helper()
	list, err := env.Kube.SchedulingV1beta1().PodGroups(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*schedulingv1beta1.PodGroup{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

func workloads(t *testing.T, ns string) []schedulingv1beta1.Workload {
	t.Helper()
	list, err := env.Kube.SchedulingV1beta1().Workloads(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// minCounts are what the PodGroups of a namespace ask for.
func minCounts(t *testing.T, ns string) map[string]int32 {
	t.Helper()
	out := map[string]int32{}
	for name, g := range podGroups(t, ns) {
		out[name] = g.Spec.SchedulingPolicy.Gang.MinCount
	}
	return out
}

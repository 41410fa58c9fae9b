package revisions

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// Each group has a Service, a surge group too, and none is left behind. Another policy is
// a rolling update: the addresses that pods are told follow, group by group.
func TestSubdomain(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(2), harness.Size(2), harness.UniquePerReplica, image("1"), rolling(0, 1, 0))
	services := func(want ...string) {
		t.Helper()
		harness.WaitFor(t, "the services", harness.DefaultTimeout, func() (bool, string) {
			list, err := env.Kube.CoreV1().Services(set.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for i := range list.Items {
				have = append(have, list.Items[i].Name)
			}
			slices.Sort(have)
			return slices.Equal(have, want), fmt.Sprintf("services: %v\n", have) + env.Describe(t, env.Get(t, set))
		})
	}
	addresses := func(want map[string]string) {
		t.Helper()
		for _, p := range env.Pods(t, set) {
			for _, e := range p.Spec.Containers[0].Env {
				if address := want[p.Labels[lwsv1.LabelGroupIndex]]; e.Name == "LWS_LEADER_ADDRESS" && e.Value != address {
					t.Errorf("pod %s has its leader at %s, want %s", p.Name, e.Value, address)
				}
			}
		}
	}
	unique := map[string]string{"0": "web-0.web-0." + set.Namespace, "1": "web-1.web-1." + set.Namespace, "2": "web-2.web-2." + set.Namespace}
	shared := map[string]string{"0": "web-0.web." + set.Namespace, "1": "web-1.web." + set.Namespace}
	services("web-0", "web-1")
	addresses(unique)

	// The surge group waits, and has a Service.
	set = change(t, set, image("2"), held)
	services("web-0", "web-1", "web-2")
	addresses(unique)
	set = change(t, set, image("3"))
	waitRolled(t, set)
	services("web-0", "web-1")
	addresses(unique)

	before := env.Pod(t, set.Namespace, "web-0").Labels[lwsv1.LabelRevision]
	set = change(t, set, harness.Annotation(lwsv1.AnnotationPartition, "1"), func(s *harness.Set) {
		policy := lwsv1.SubdomainShared
		s.Spec.NetworkConfig = &lwsv1.NetworkConfig{SubdomainPolicy: &policy}
	})
	harness.WaitFor(t, "group 1 to be updated", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == 1 && s.Status.ReadyReplicas == 2 && s.Status.Replicas == 2, env.Describe(t, s)
	})
	services("web", "web-0")
	addresses(map[string]string{"0": unique["0"], "1": shared["1"]})
	set = change(t, set, harness.Annotation(lwsv1.AnnotationPartition, ""))
	waitRolled(t, set)
	services("web")
	addresses(shared)
	if after := env.Pod(t, set.Namespace, "web-0").Labels[lwsv1.LabelRevision]; after == before {
		t.Errorf("another policy is no new revision: %s", after)
	}
}

package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

func TestServices(t *testing.T) {
	t.Parallel()
	const (
		name  = "leaderworkerset.sigs.k8s.io/name"
		group = "leaderworkerset.sigs.k8s.io/group-index"
	)
	for _, c := range []struct {
		test    string
		options []harness.Option
		want    map[string]map[string]string // selectors by Service
	}{
		{"shared", nil, map[string]map[string]string{"web": {name: "web"}}},
		{"unique", []harness.Option{harness.UniquePerReplica}, map[string]map[string]string{
			"web-0": {name: "web", group: "0"}, "web-1": {name: "web", group: "1"}}},
	} {
		t.Run(c.test, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			options := append([]harness.Option{harness.Replicas(2), harness.Size(2)}, c.options...)
			set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", options...)))
			list, err := env.Kube.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) != len(c.want) {
				t.Errorf("%d Services, want %d", len(list.Items), len(c.want))
			}
			for _, s := range list.Items {
				single, internal := corev1.IPFamilyPolicySingleStack, corev1.ServiceInternalTrafficPolicyCluster
				want := corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: ns, Labels: map[string]string{name: "web"}, OwnerReferences: ownedBy(set)},
					Spec: corev1.ServiceSpec{
						Selector: c.want[s.Name], ClusterIP: "None", PublishNotReadyAddresses: true,
						// Defaults of the API server.
						ClusterIPs: []string{"None"}, Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
						IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: &single, InternalTrafficPolicy: &internal,
					},
				}
				ignore := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "Generation", "CreationTimestamp", "ManagedFields")
				if diff := cmp.Diff(want, s, ignore); diff != "" {
					t.Errorf("Service %s (- want, + got):\n%s", s.Name, diff)
				}
			}
			for _, p := range env.Pods(t, set) {
				if _, exists := c.want[p.Spec.Subdomain]; !exists {
					t.Errorf("pod %s has subdomain %s, which is no Service", p.Name, p.Spec.Subdomain)
				}
			}
		})
	}
}

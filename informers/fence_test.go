package informers

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestFence(t *testing.T) {
	now := time.Unix(1000, 0)
	lease := func(namespace, holder string, renewed time.Duration) *coordinationv1.Lease {
		seconds, at := int32(15), metav1.NewMicroTime(now.Add(-renewed))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at}}
	}
	webhooks := func(service, resource string) *admissionregistrationv1.MutatingWebhookConfiguration {
		return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Name: service}},
				Rules:        []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{Resources: []string{resource}}}},
			}}}
	}
	for _, tc := range []struct {
		name     string
		leases   []*coordinationv1.Lease
		webhooks []*admissionregistrationv1.MutatingWebhookConfiguration
		want     string
	}{
		{name: "nobody"},
		{name: "our own lease", leases: []*coordinationv1.Lease{lease("kube-system", "us", 0)}},
		{name: "somebody else's", leases: []*coordinationv1.Lease{lease("kube-system", "us", 0), lease("lws-system", "them", 14*time.Second)},
			want: "lease lws-system/b8b2488c.x-k8s.io is held by them"},
		{name: "run out", leases: []*coordinationv1.Lease{lease("lws-system", "them", 15*time.Second)}},
		{name: "released", leases: []*coordinationv1.Lease{lease("lws-system", "", 0)}},
		{name: "never used", leases: []*coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: LeaseName}}}},
		{name: "the published webhooks for sets", webhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{webhooks("lws-webhook-service", "leaderworkersets")},
			want: "mutating webhook configuration w exists"},
		{name: "the published webhooks for pods", webhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{webhooks("lws-webhook-service", "pods")},
			want: "mutating webhook configuration w exists"},
		{name: "Kueue's webhooks for sets", webhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{webhooks("kueue-webhook-service", "leaderworkersets")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := &Informers{fence: newFence(fake.NewClientset(), metav1.NamespaceAll)}
			for _, l := range tc.leases {
				if err := i.fence.leases.GetStore().Add(l); err != nil {
					t.Fatal(err)
				}
			}
			for _, w := range tc.webhooks {
				if err := i.fence.webhooks.GetStore().Add(w); err != nil {
					t.Fatal(err)
				}
			}
			if got := i.Fence("us", now); got != tc.want {
				t.Errorf("fence says %q, want %q", got, tc.want)
			}
		})
	}
}

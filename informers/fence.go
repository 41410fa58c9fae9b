package informers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	admissioninformers "k8s.io/client-go/informers/admissionregistration/v1"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
)

// LeaseName is the lease of the published controller's leader, and of ours, on
// purpose: in one namespace the two exclude each other.
const LeaseName = "b8b2488c.x-k8s.io"

// fence watches for signs of another controller of LeaderWorkerSets. The
// published one acts on labels alone, so it would act on our pods.
type fence struct {
	leases   cache.SharedIndexInformer
	webhooks cache.SharedIndexInformer // nil when only one namespace is served
}

func newFence(kube kubernetes.Interface, namespace string) fence {
	f := fence{leases: coordinationinformers.NewFilteredLeaseInformer(kube, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, LeaseName).String()
		})}
	if namespace == metav1.NamespaceAll {
		f.webhooks = admissioninformers.NewMutatingWebhookConfigurationInformer(kube, 0, cache.Indexers{})
	}
	return f
}

func (f fence) all() []cache.SharedIndexInformer {
	if f.webhooks == nil {
		return []cache.SharedIndexInformer{f.leases}
	}
	return []cache.SharedIndexInformer{f.leases, f.webhooks}
}

// Fence says why nothing may be written for any set, and is empty when all is
// well: somebody else holds a fresh lease of the controllers of LeaderWorkerSets,
// in whichever namespace, or the published controller's mutating webhooks exist.
// own is the identity that this process holds its own lease with.
func (i *Informers) Fence(own string, now time.Time) string {
	var reasons []string
	for _, obj := range i.fence.leases.GetStore().List() {
		if l := obj.(*coordinationv1.Lease); held(l, now) && *l.Spec.HolderIdentity != own {
			reasons = append(reasons, fmt.Sprintf("lease %s/%s is held by %s", l.Namespace, l.Name, *l.Spec.HolderIdentity))
		}
	}
	if i.fence.webhooks != nil {
		for _, obj := range i.fence.webhooks.GetStore().List() {
			if w := obj.(*admissionregistrationv1.MutatingWebhookConfiguration); published(w) {
				reasons = append(reasons, fmt.Sprintf("mutating webhook configuration %s exists", w.Name))
			}
		}
	}
	slices.Sort(reasons)
	return strings.Join(reasons, "; ")
}

// held says that the lease has a holder who renewed it within its duration.
func held(l *coordinationv1.Lease, now time.Time) bool {
	s := &l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds) * time.Second))
}

// published says that the webhooks are the published controller's: they change
// LeaderWorkerSets or pods, and their Service is its own. Others, such as Kueue,
// have webhooks for LeaderWorkerSets too.
func published(w *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	return slices.ContainsFunc(w.Webhooks, func(h admissionregistrationv1.MutatingWebhook) bool {
		s := h.ClientConfig.Service
		return s != nil && strings.HasPrefix(s.Name, "lws-") &&
			slices.ContainsFunc(h.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
				return slices.Contains(r.Resources, v1.Resource) || slices.Contains(r.Resources, "pods")
			})
	})
}

package cluster

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func (c *Cluster) createNodes(ctx context.Context) error {
	for i := range c.opts.Nodes {
		node := c.opts.node(i)
		if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
	}
	return nil
}

func (c *Cluster) createStorageClass(ctx context.Context) error {
	_, err := c.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        kwokStorageClass,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: kwokProvisioner,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("storage class: %w", err)
	}
	return nil
}

// node i: neighbours share a rack, neighbouring racks a zone.
func (o Options) node(i int) *corev1.Node {
	rack := i * o.Racks / o.Nodes
	zone := rack * o.Zones / o.Racks
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:     name,
				corev1.LabelOSStable:     "linux",
				corev1.LabelArchStable:   "amd64",
				corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", zone),
				RackLabel:                fmt.Sprintf("rack-%d", rack),
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: o.NodeCapacity, Allocatable: o.NodeCapacity},
	}
}

// nodesReady holds when kwok reports every node Ready and the controller manager
// has taken the taint of new nodes away, so that pods can be scheduled.
func (c *Cluster) nodesReady(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range nodes.Items {
		if nodeReady(&n) {
			ready++
		}
	}
	if ready < c.opts.Nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, c.opts.Nodes)
	}
	return nil
}

func nodeReady(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

// kwokUser is the name under which kwok talks to the API server.
const kwokUser = "kwok"

// kwokPolicies refuse what kwok does and no kubelet would. It addresses pods by
// name, without a UID precondition, and sometimes late: a second delete, or the
// status of a pod that is gone, then hits the next pod of the same name.
//   - It may delete only pods that somebody else has already deleted.
//   - It may report the status only of pods that are bound to a node.
func kwokPolicies() []*admissionv1.ValidatingAdmissionPolicy {
	return []*admissionv1.ValidatingAdmissionPolicy{
		kwokPolicy("kwok-late-delete", admissionv1.Delete, "pods",
			"has(oldObject.metadata.deletionTimestamp)", "kwok must not delete a pod that is not terminating"),
		kwokPolicy("kwok-late-status", admissionv1.Update, "pods/status",
			"has(object.spec.nodeName)", "kwok must not report on a pod that is not bound to a node"),
	}
}

func kwokPolicy(name string, op admissionv1.OperationType, resource, rule, message string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{op},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "by-kwok", Expression: "request.userInfo.username == '" + kwokUser + "'",
			}},
			Validations: []admissionv1.Validation{{Expression: rule, Message: message}},
		},
	}
}

// probePod never runs; kwokPolicyInForce tries to delete it as kwok.
const probePod = "kwok-policy-probe"

func (c *Cluster) createKwokPolicy(ctx context.Context) error {
	admission := c.client.AdmissionregistrationV1()
	for _, p := range kwokPolicies() {
		if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("policy %s: %w", p.Name, err)
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        p.Name,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		}
		if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("binding of policy %s: %w", p.Name, err)
		}
	}
	return nil
}

// kwokPolicyInForce holds once the API server refuses a late delete: it takes up
// new policies with a delay. It needs the service account of kube-system.
func (c *Cluster) kwokPolicyInForce(ctx context.Context) error {
	pods := c.client.CoreV1().Pods(metav1.NamespaceSystem)
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: probePod},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lws-controller/never"}},
			Containers:      []corev1.Container{{Name: "none", Image: "none"}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	cfg, err := c.ClientCert(kwokUser, adminGroup)
	if err != nil {
		return err
	}
	cfg.UserAgent = LauncherAgent
	asKwok, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	err = asKwok.CoreV1().Pods(metav1.NamespaceSystem).Delete(ctx, probePod,
		metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return fmt.Errorf("kwok's policy is not yet in force")
	case !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err):
		return err
	}
	return pods.Delete(ctx, probePod, metav1.DeleteOptions{})
}

// Namespace creates a namespace and waits until pods can be created in it.
func (c *Cluster) Namespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return c.waitFor(ctx, ControllerManager, func(ctx context.Context) error {
		return c.hasDefaultServiceAccount(ctx, name)
	})
}

// hasDefaultServiceAccount holds when the controller manager has made the
// account without which no pod is admitted.
func (c *Cluster) hasDefaultServiceAccount(ctx context.Context, namespace string) error {
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
	return err
}

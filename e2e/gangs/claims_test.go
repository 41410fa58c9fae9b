package gangs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// The pods of a group share a claim for devices that is made for their PodGroup, and each
// incarnation gets its own. They are preempted together or one by one, as the set says.
func TestResourceClaims(t *testing.T) {
	t.Parallel()
	on := []string{"--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true"}
	c := cluster.StartT(t, cluster.Options{ExtraArgs: map[cluster.Component][]string{cluster.APIServer: on, cluster.Scheduler: on, cluster.ControllerManager: on}})
	harness.Install(t, c)
	e := harness.NewEnv(t, c)
	e.Controller = harness.StartController(t, c)
	e.Controller.Ready(t)
	ns := e.Namespace(t)
	links(t, e, ns)

	template, link := "link", corev1.PodResourceClaim{Name: "link"}
	link.ResourceClaimTemplateName = &template
	set := e.Create(t, harness.NewSet(ns, "web", harness.Size(3), func(s *harness.Set) {
		s.Spec.Scheduling = &lwsv1.Scheduling{
			ResourceClaims: []schedulingv1beta1.PodGroupResourceClaim{{Name: link.Name, ResourceClaimTemplateName: &template}},
			DisruptionMode: &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}},
		}
	}, harness.Worker(func(p *corev1.PodTemplateSpec) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{link}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: link.Name}}
	})))
	e.WaitAvailable(t, set)
	shared := claimOf(t, e, set, "web-0-1")
	e.DeletePod(t, ns, "web-0-1")
	harness.WaitFor(t, "the group to be made anew", harness.DefaultTimeout, func() (bool, string) {
		s := e.Get(t, set)
		for _, p := range e.Pods(t, set) {
			if p.Annotations[lwsv1.AnnotationIncarnation] != "2" {
				return false, e.Describe(t, s)
			}
		}
		return s.Status.ReadyReplicas == 1, e.Describe(t, s)
	})
	if next := claimOf(t, e, set, "web-0-2"); next == shared {
		t.Errorf("both incarnations have claim %s", next)
	}
}

// claimOf is the one claim that all pods of a set have, which is that of its PodGroup.
func claimOf(t *testing.T, e *harness.Env, set *harness.Set, podGroup string) string {
	t.Helper()
	g, err := e.Kube.SchedulingV1beta1().PodGroups(set.Namespace).Get(t.Context(), podGroup, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Spec.DisruptionMode == nil || g.Spec.DisruptionMode.All == nil || len(g.Spec.ResourceClaims) != 1 || len(g.Status.ResourceClaimStatuses) != 1 {
		t.Fatalf("podgroup %s: %+v, %+v", podGroup, g.Spec, g.Status)
	}
	claim := g.Status.ResourceClaimStatuses[0].ResourceClaimName
	stored, err := e.Kube.ResourceV1().ResourceClaims(set.Namespace).Get(t.Context(), *claim, metav1.GetOptions{})
	if err != nil || stored.Status.Allocation == nil || len(stored.Status.ReservedFor) != 1 || stored.Status.ReservedFor[0].Name != podGroup {
		t.Errorf("claim %s: %+v, %v", *claim, stored, err)
	}
	for _, p := range e.Pods(t, set) {
		if len(p.Status.ResourceClaimStatuses) != 1 || *p.Status.ResourceClaimStatuses[0].ResourceClaimName != *claim {
			t.Errorf("pod %s has %+v, want claim %s", p.Name, p.Status.ResourceClaimStatuses, *claim)
		}
	}
	return *claim
}

// links publishes devices that every node reaches, and a template for claims of one.
func links(t *testing.T, e *harness.Env, ns string) {
	t.Helper()
	all := true
	api := e.Kube.ResourceV1()
	_, err := api.DeviceClasses().Create(t.Context(), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "link"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.ResourceSlices().Create(t.Context(), &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "links"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "links.example.com", Pool: resourcev1.ResourcePool{Name: "links", ResourceSliceCount: 1}, AllNodes: &all,
		Devices: []resourcev1.Device{{Name: "link-0"}, {Name: "link-1"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "link", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "link"}}}}}
	_, err = api.ResourceClaimTemplates(ns).Create(t.Context(), &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "link"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: one}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

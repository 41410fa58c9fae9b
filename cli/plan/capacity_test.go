package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

func container(amount string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: cpu(amount)}}
}

func TestRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("2")
	sidecar.RestartPolicy = &always
	limited := corev1.Container{Resources: corev1.ResourceRequirements{Limits: cpu("3")}}
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"containers add up":           {corev1.PodSpec{Containers: []corev1.Container{container("1"), container("500m")}}, "1500m"},
		"a limit is a request":        {corev1.PodSpec{Containers: []corev1.Container{limited}}, "3"},
		"init containers run alone":   {corev1.PodSpec{InitContainers: []corev1.Container{container("4"), container("3")}, Containers: []corev1.Container{container("1")}}, "4"},
		"sidecars stay":               {corev1.PodSpec{InitContainers: []corev1.Container{sidecar}, Containers: []corev1.Container{container("1")}}, "3"},
		"init containers after those": {corev1.PodSpec{InitContainers: []corev1.Container{sidecar, container("4")}, Containers: []corev1.Container{container("1")}}, "6"},
		"the pod's own":               {corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: cpu("8")}, Containers: []corev1.Container{container("1")}}, "8"},
		"overhead":                    {corev1.PodSpec{Overhead: cpu("1"), Containers: []corev1.Container{container("1")}}, "2"},
	} {
		got := requests(&tc.spec)
		if q := got[corev1.ResourceCPU]; q.Cmp(resource.MustParse(tc.want)) != 0 || got.Pods().Value() != 1 {
			t.Errorf("%s: %v, want cpu %s and one pod", name, got, tc.want)
		}
	}
}

func TestPlace(t *testing.T) {
	ready := corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("2")},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	taint := corev1.Taint{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	nodes := []corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"zone": "b"}}, Status: ready},
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "a"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{taint}}, Status: ready},
		{ObjectMeta: metav1.ObjectMeta{Name: "cordoned"}, Spec: corev1.NodeSpec{Unschedulable: true}, Status: ready},
		{ObjectMeta: metav1.ObjectMeta{Name: "dead"}},
	}
	others := []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "b", Containers: []corev1.Container{container("1")}}}}
	pod := func(amount, zone string, tolerations ...corev1.Toleration) *corev1.PodSpec {
		spec := &corev1.PodSpec{Containers: []corev1.Container{container(amount)}, Tolerations: tolerations}
		if zone != "" {
			spec.NodeSelector = map[string]string{"zone": zone}
		}
		return spec
	}
	exists := corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}
	for name, tc := range map[string]struct {
		pod  *corev1.PodSpec
		node string
		why  string
	}{
		"fits":                  {pod("3", ""), "b", ""},
		"others take room":      {pod("4", ""), "", "none of 1 nodes has cpu 4 left"},
		"tolerated":             {pod("4", "", exists), "a", ""},
		"tolerated by value":    {pod("4", "", corev1.Toleration{Key: "gpu", Value: "a"}), "a", ""},
		"another value":         {pod("1", "a", corev1.Toleration{Key: "gpu", Value: "b"}), "", "none of 2 nodes is one that"},
		"selected":              {pod("1", "a", exists), "a", ""},
		"selected, but tainted": {pod("1", "a"), "", "none of 2 nodes is one that"},
	} {
		node, why := newCapacity(nodes, others).place(tc.pod, requests(tc.pod))
		if node != tc.node || (tc.why == "") != (why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: on %q, %q; want %q, %q", name, node, why, tc.node, tc.why)
		}
	}
	c := newCapacity(nodes, others)
	one := pod("1", "")
	if node, _ := c.place(one, requests(one)); node != "b" {
		t.Errorf("the first is on %q", node)
	}
	if _, why := c.place(one, requests(one)); !strings.Contains(why, "pods 1 left") {
		t.Errorf("two pods fill the node: %q", why)
	}
	c.release("b", requests(one))
	if node, _ := c.place(one, requests(one)); node != "b" {
		t.Errorf("what was given back can be used: %q", node)
	}
}

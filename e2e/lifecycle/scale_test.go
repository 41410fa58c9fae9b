package lifecycle

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

// waitPods waits until exactly so many pods exist and the set is Available.
func waitPods(t *testing.T, set *harness.Set, n int) *harness.Set {
	t.Helper()
	set = env.WaitAvailable(t, set)
	harness.WaitFor(t, fmt.Sprintf("%d pods", n), harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == n, env.Describe(t, env.Get(t, set))
	})
	return set
}

func TestScale(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := waitPods(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(0), harness.Size(2))), 0)

	env.Scale(t, set, 3)
	set = waitPods(t, set, 6)
	before := uids(env.Pods(t, set))

	// The highest indices go.
	env.Scale(t, set, 1)
	set = waitPods(t, set, 2)
	for name, uid := range uids(env.Pods(t, set)) {
		if before[name] != uid || (name != "web-0" && name != "web-0-1") {
			t.Errorf("pod %s (%s) is left; want web-0 and web-0-1 as they were", name, uid)
		}
	}
	if set.Status.EstablishedReplicas != 1 {
		t.Errorf("establishedReplicas %d, want 1", set.Status.EstablishedReplicas)
	}
	env.Scale(t, set, 0)
	set = waitPods(t, set, 0)

	env.Kubectl(t, "scale", "-n", ns, "lws/web", "--replicas=2")
	set = waitPods(t, set, 4)

	// As an autoscaler does it: read /scale, write it back.
	sets := env.Sets.RESTClient()
	scale := &autoscalingv1.Scale{}
	if err := sets.Get().Namespace(ns).Resource("leaderworkersets").Name("web").SubResource("scale").Do(t.Context()).Into(scale); err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = 3
	if err := sets.Put().Namespace(ns).Resource("leaderworkersets").Name("web").SubResource("scale").Body(scale).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	waitPods(t, set, 6)
	env.AtRest(t, ns)
}

// TestScaleDownMidway: what is no longer wanted while it is being made goes.
func TestScaleDownMidway(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(20), harness.Size(2)))
	harness.WaitFor(t, "the first pods", harness.DefaultTimeout, func() (bool, string) { return len(env.Pods(t, set)) > 3, "" })
	env.Scale(t, set, 2)
	waitPods(t, set, 4)
	env.AtRest(t, ns)
}

// TestHorizontalPodAutoscaler has the real autoscaler read the scale subresource,
// find the pods by its selector, and raise the number of groups to its minimum.
func TestHorizontalPodAutoscaler(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Size(2))
	two, half := int32(2), int32(50)
	_, err := env.Kube.AutoscalingV2().HorizontalPodAutoscalers(ns).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "web"},
			MinReplicas:    &two, MaxReplicas: 4,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &half}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitReplicas(t, set, 2)
	waitPods(t, set, 4)
	// There are no metrics here; it must fail for that reason and for no other.
	harness.WaitFor(t, "the autoscaler to look for metrics", harness.DefaultTimeout, func() (bool, string) {
		hpa, err := env.Kube.AutoscalingV2().HorizontalPodAutoscalers(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range hpa.Status.Conditions {
			if c.Type == autoscalingv2.ScalingActive && c.Reason == "InvalidSelector" {
				t.Fatalf("the autoscaler refuses the selector: %s", c.Message)
			}
			if c.Type == autoscalingv2.ScalingActive && c.Reason == "FailedGetResourceMetric" {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", hpa.Status.Conditions)
	})
}

func waitReplicas(t *testing.T, set *harness.Set, n int32) {
	t.Helper()
	harness.WaitFor(t, fmt.Sprintf("spec.replicas to be %d", n), harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return *s.Spec.Replicas == n, fmt.Sprint(*s.Spec.Replicas)
	})
}

package gangs

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// A cluster without the API says so by condition and event, and no pod is made, rather
// than pods that are placed one by one. Other sets are none the worse. Who can do
// without takes spec.scheduling off.
func TestNoAPI(t *testing.T) {
	t.Parallel()
	c := cluster.StartT(t, cluster.Options{NoGangScheduling: true})
	harness.Install(t, c)
	e := harness.NewEnv(t, c)
	e.Controller = harness.StartController(t, c)
	e.Controller.Ready(t)
	ns := e.Namespace(t)
	set := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2), gang))
	plain := e.Create(t, harness.NewSet(ns, "plain", harness.Size(2)))
	if found := e.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue); found.Reason != lwsv1.ReasonSchedulingUnavailable || !strings.Contains(found.Message, "scheduling.k8s.io/v1beta1") {
		t.Errorf("condition %+v", found)
	}
	e.WaitEvent(t, set, corev1.EventTypeWarning, lwsv1.ReasonSchedulingUnavailable, "scheduling.k8s.io/v1beta1")
	e.WaitAvailable(t, plain)
	if n := len(e.Pods(t, set)); n > 0 {
		t.Errorf("%d pods", n)
	}
	time.Sleep(time.Second) // for the last status, which is written half a second late
	since := time.Now()
	time.Sleep(2 * time.Second)
	if writes := e.Writes(t, ns, since); len(writes) > 0 {
		t.Errorf("while the API is missing: %v", writes)
	}

	// A set that runs keeps what it has when somebody asks for what there is not.
	e.Update(t, plain, gang)
	e.WaitCondition(t, plain, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	e.Scale(t, plain, 2)
	if n := len(e.Pods(t, plain)); n != 2 {
		t.Errorf("%d pods, want the 2 of before", n)
	}
	e.Update(t, plain, func(s *harness.Set) { s.Spec.Scheduling = nil })
	e.WaitAvailable(t, plain)
	if p := e.Pod(t, ns, "plain-0"); p.Annotations[lwsv1.AnnotationIncarnation] != "1" {
		t.Errorf("group 0 was made anew: %+v", p.ObjectMeta)
	}
}

// Where the API is there, and only what a constraint needs is not, the API server drops
// or refuses the constraint: then no pods are made either.
func TestNoTopology(t *testing.T) {
	t.Parallel()
	off := []string{"--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=false"}
	c := cluster.StartT(t, cluster.Options{ExtraArgs: map[cluster.Component][]string{cluster.APIServer: off, cluster.Scheduler: off, cluster.ControllerManager: off}})
	harness.Install(t, c)
	e := harness.NewEnv(t, c)
	e.Controller = harness.StartController(t, c)
	e.Controller.Ready(t)
	ns := e.Namespace(t)
	e.WaitAvailable(t, e.Create(t, harness.NewSet(ns, "plain", harness.Size(2), gang)))
	set := e.Create(t, harness.NewSet(ns, "web", harness.Size(2), inRack))
	found := e.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	if !strings.Contains(found.Message, "schedulingConstraints") {
		t.Errorf("condition %+v", found)
	}
	if n := len(e.Pods(t, set)); n > 0 {
		t.Errorf("%d pods", n)
	}
}

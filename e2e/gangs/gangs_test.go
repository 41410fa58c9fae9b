package gangs

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// Where there is room for one and a half groups of four, one runs whole and the other
// has no pod bound. When room appears, it starts.
func TestHalf(t *testing.T) {
	t.Parallel()
	slot := slots(t, 3, 3, 0, 0)
	set := create(t, harness.Replicas(2), harness.Size(4), gang, harness.Takes(slot))
	racks := placed(t, set, 8, func(racks map[string][]string) bool {
		for _, of := range racks {
			if !slices.Contains(of, "") {
				return true
			}
		}
		return false
	})
	time.Sleep(2 * time.Second) // the other one is tried meanwhile
	if whole, waiting := count(t, placed(t, set, 8, func(map[string][]string) bool { return true })); len(whole) != 1 || len(waiting) != 1 {
		t.Errorf("whole %v, waiting %v, at first %v", whole, waiting, racks)
	}
	since := time.Now()
	time.Sleep(time.Second)
	if writes := env.Writes(t, set.Namespace, since); len(writes) > 0 {
		t.Errorf("while a gang waits: %v", writes)
	}
	env.Room(t, node(2), slot, 2)
	env.WaitAvailable(t, set)
	env.AtRest(t, set.Namespace)
}

// With a rack constraint all pods of a group are in one rack, and a group for which
// there is room only in two racks together has none.
func TestRack(t *testing.T) {
	t.Parallel()
	slot := slots(t, 3, 3, 3, 3)
	set := env.WaitAvailable(t, create(t, harness.Replicas(2), harness.Size(4), inRack, harness.Takes(slot)))
	used := map[string]bool{}
	for group, of := range placed(t, set, 8, func(map[string][]string) bool { return true }) {
		if slices.Sort(of); len(slices.Compact(of)) != 1 {
			t.Errorf("group %s is in %v", group, of)
		}
		used[of[0]] = true
	}
	if len(used) != 2 {
		t.Errorf("racks %v, want one a group", used)
	}
	env.Scale(t, set, 3)
	placed(t, set, 12, func(map[string][]string) bool { return true })
	time.Sleep(2 * time.Second)
	if whole, waiting := count(t, placed(t, set, 12, func(map[string][]string) bool { return true })); len(whole) != 2 || !slices.Equal(waiting, []string{"2"}) {
		t.Errorf("whole %v, waiting %v", whole, waiting)
	}
	env.Room(t, node(0), slot, 5)
	env.WaitAvailable(t, set)
	g := podGroups(t, set.Namespace)["web-0-1"]
	if g == nil || g.Spec.SchedulingConstraints == nil || g.Spec.SchedulingConstraints.Topology[0].Key != "rack" || g.Spec.WorkloadRef == nil ||
		g.Spec.WorkloadRef.WorkloadName != workloads(t, set.Namespace)[0].Name || len(workloads(t, set.Namespace)) != 1 {
		t.Errorf("podgroup %+v, workloads %+v", g, workloads(t, set.Namespace))
	}
}

// A group that failed is made anew as a gang: with a PodGroup of its own, once the old
// pods are gone.
func TestRecreated(t *testing.T) {
	t.Parallel()
	set := env.WaitAvailable(t, create(t, harness.Replicas(2), harness.Size(3), gang))
	env.DeletePod(t, set.Namespace, "web-1-2")
	only(t, set, map[string]int32{"web-0-1": 3, "web-1-2": 3})
	env.WaitAvailable(t, set)
	for _, p := range env.Pods(t, set) {
		want := "web-" + p.Labels[lwsv1.LabelGroupIndex] + "-" + p.Annotations[lwsv1.AnnotationIncarnation]
		if p.Spec.SchedulingGroup == nil || *p.Spec.SchedulingGroup.PodGroupName != want {
			t.Errorf("pod %s is scheduled by %v, want %s", p.Name, p.Spec.SchedulingGroup, want)
		}
	}
	// Somebody deletes the PodGroup of a group that runs: it is held while the pods are
	// there, and nothing happens to them.
	since := time.Now()
	if err := env.Kube.SchedulingV1beta1().PodGroups(set.Namespace).Delete(t.Context(), "web-0-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if writes := env.Writes(t, set.Namespace, since); len(writes) > 0 || podGroups(t, set.Namespace)["web-0-1"] == nil {
		t.Errorf("after a deletion by somebody else: %v, podgroups %v", writes, minCounts(t, set.Namespace))
	}
	env.DeletePod(t, set.Namespace, "web-0")
	only(t, set, map[string]int32{"web-0-2": 3, "web-1-2": 3})
	env.WaitAvailable(t, set)
	env.AtRest(t, set.Namespace)
}

// only waits until the PodGroups of a set's namespace are these.
func only(t *testing.T, set *harness.Set, want map[string]int32) {
	t.Helper()
	harness.WaitFor(t, "the podgroups", harness.DefaultTimeout, func() (bool, string) {
		have := minCounts(t, set.Namespace)
		return maps.Equal(have, want), "podgroups " + describe(have)
	})
}

func describe(m map[string]int32) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out += name + " "
	}
	return out
}

// A rolling update with surge to another size goes by gangs of two sizes at once, each
// with a Workload of its own, and leaves one.
func TestUpdate(t *testing.T) {
	t.Parallel()
	zero, one := intstr.FromInt32(0), intstr.FromInt32(1)
	set := env.WaitAvailable(t, create(t, harness.Replicas(2), harness.Size(2), gang, harness.Annotation(lwsv1.AnnotationPartition, "1"), func(s *harness.Set) {
		s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{MaxSurge: one, MaxUnavailable: zero}
	}))
	env.Update(t, set, harness.Size(3))
	harness.WaitFor(t, "group 1 to be updated", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.UpdatedReplicas == 1 && s.Status.ReadyReplicas == 2 && s.Status.Replicas == 2, env.Describe(t, s)
	})
	only(t, set, map[string]int32{"web-0-1": 2, "web-1-2": 3})
	if n := len(workloads(t, set.Namespace)); n != 2 {
		t.Errorf("%d workloads, want one for each size", n)
	}
	env.Update(t, set, harness.Annotation(lwsv1.AnnotationPartition, ""))
	only(t, set, map[string]int32{"web-0-2": 3, "web-1-2": 3})
	env.WaitAvailable(t, set)
	harness.WaitFor(t, "one workload", harness.DefaultTimeout, func() (bool, string) { return len(workloads(t, set.Namespace)) == 1, "" })
	env.AtRest(t, set.Namespace)
}

// Scaling down and deleting leave neither PodGroup nor Workload; taking spec.scheduling
// off touches no group, and what is made afterwards is placed pod by pod.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	set := env.WaitAvailable(t, create(t, harness.Replicas(3), harness.Size(2), gang))
	set = env.Scale(t, set, 1)
	only(t, set, map[string]int32{"web-0-1": 2})
	set = env.Update(t, set, func(s *harness.Set) { s.Spec.Scheduling, s.Spec.Replicas = nil, new(int32(2)) })
	set = env.WaitAvailable(t, set)
	if p := env.Pod(t, set.Namespace, "web-1"); p.Spec.SchedulingGroup != nil {
		t.Errorf("pod web-1 is scheduled by %v", p.Spec.SchedulingGroup)
	}
	if p := env.Pod(t, set.Namespace, "web-0"); p.Annotations[lwsv1.AnnotationIncarnation] != "1" || p.Spec.SchedulingGroup == nil {
		t.Errorf("pod web-0 is not the one of before: %+v", p.ObjectMeta)
	}
	only(t, set, map[string]int32{"web-0-1": 2})
	set = env.Scale(t, set, 0)
	only(t, set, nil)
	harness.WaitFor(t, "the workload to be gone", harness.DefaultTimeout, func() (bool, string) { return len(workloads(t, set.Namespace)) == 0, "" })

	set = env.Scale(t, env.Update(t, set, gang), 1)
	env.WaitAvailable(t, set)
	if err := env.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	only(t, set, nil)
	harness.WaitFor(t, "the workload to be gone", harness.DefaultTimeout, func() (bool, string) { return len(workloads(t, set.Namespace)) == 0, "" })
}

// The priority of the pods is that of the PodGroup, without which the scheduler places
// none; and a set of two priorities is refused.
func TestPriority(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "gangs-high"}, Value: 1000}
	if _, err := env.Kube.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	high := func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = class.Name }
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Size(2), gang, harness.Worker(high), harness.Leader(high))))
	if g := podGroups(t, ns)["web-0-1"]; g.Spec.Priority == nil || *g.Spec.Priority != 1000 {
		t.Errorf("priority of the podgroup: %v", g.Spec.Priority)
	}
	env.AtRest(t, set.Namespace)
	two := env.Create(t, harness.NewSet(ns, "two", harness.Size(2), gang, harness.Worker(high), harness.Leader(func(*corev1.PodTemplateSpec) {})))
	if c := env.WaitCondition(t, two, lwsv1.ConditionDegraded, metav1.ConditionTrue); c.Reason != lwsv1.ReasonSchedulingConflict {
		t.Errorf("condition %+v", c)
	}
	env.WaitEvent(t, two, corev1.EventTypeWarning, lwsv1.ReasonSchedulingConflict, "priorityClassName")
	if n := len(env.Pods(t, two)); n > 0 {
		t.Errorf("%d pods of a set that is refused", n)
	}
}

// A PodGroup of our name that is somebody else's has the pods wait, is named, and left
// alone; when it is gone they come.
func TestTaken(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	other := harness.NewSet(ns, "other", harness.Size(2), gang)
	env.WaitAvailable(t, env.Create(t, other))
	foreign := podGroups(t, ns)["other-0-1"].DeepCopy()
	foreign.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "web-0-1"}
	foreign.Spec.WorkloadRef = nil
	api := env.Kube.SchedulingV1beta1().PodGroups(ns)
	made, err := api.Create(t.Context(), foreign, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set := env.Create(t, harness.NewSet(ns, "web", harness.Size(2), gang))
	env.WaitEvent(t, set, corev1.EventTypeWarning, "NameTaken", "podgroup web-0-1")
	if n := len(env.Pods(t, set)); n > 0 {
		t.Errorf("%d pods without a PodGroup", n)
	}
	if g := podGroups(t, ns)["web-0-1"]; g.UID != made.UID || g.ResourceVersion != made.ResourceVersion {
		t.Errorf("the foreign podgroup was touched: %+v", g.ObjectMeta)
	}
	if err := api.Delete(t.Context(), "web-0-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.WaitAvailable(t, set)
}

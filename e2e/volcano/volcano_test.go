package volcano

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/deploy/rbac"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// Without Volcano no pod is made, and condition and event name the API that is missing;
// other sets are none the worse. Once it is there the pods come, by themselves.
func TestAppears(t *testing.T) {
	ns := env.Namespace(t)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2), placed))
	plain := env.Create(t, harness.NewSet(ns, "plain", harness.Size(2)))
	if found := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue); found.Reason != lwsv1.ReasonSchedulingUnavailable || !strings.Contains(found.Message, "scheduling.volcano.sh/v1beta1") {
		t.Errorf("condition %+v", found)
	}
	env.WaitEvent(t, set, corev1.EventTypeWarning, lwsv1.ReasonSchedulingUnavailable, "scheduling.volcano.sh/v1beta1")
	env.WaitAvailable(t, plain)
	if n := len(env.Pods(t, set)); n > 0 {
		t.Errorf("%d pods", n)
	}
	time.Sleep(time.Second) // for the last status, which is written half a second late
	since := time.Now()
	time.Sleep(time.Second)
	if writes := env.Writes(t, ns, since); len(writes) > 0 {
		t.Errorf("while the API is missing: %v", writes)
	}
	install()
	set = env.WaitAvailable(t, set)
	env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionFalse)
	if have := podGroups(t, ns); len(have) != 2 {
		t.Errorf("podgroups %v", slices.Sorted(maps.Keys(have)))
	}
	env.AtRest(t, ns)
}

// What the optional role grants is what is asked for, and nothing is refused.
func TestRights(t *testing.T) {
	install()
	set := create(t, harness.Replicas(2), harness.Size(2))
	env.WaitAvailable(t, set)
	env.DeletePod(t, set.Namespace, "web-0")
	only(t, set, map[string]int64{"web-0": 2, "web-1": 1})
	env.Update(t, set, harness.Annotation(lwsv1.AnnotationVolcanoQueue, "other"))
	waitFor(t, set, "web-1", func(g *unstructured.Unstructured) bool { return field(g, "queue") == "other" })
	if err := env.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	only(t, set, nil)
	env.Controller.Stop(t) // watches are in the audit log when they have ended
	events, err := env.Cluster.Audit(cluster.AuditFilter{UserAgent: harness.ControllerAgent})
	env.Controller.Start(t)
	env.Controller.Ready(t)
	if err != nil {
		t.Fatal(err)
	}
	used := map[rbac.Permission]bool{}
	for i := range events {
		if o := events[i].ObjectRef; o != nil && o.APIGroup == "scheduling.volcano.sh" {
			used[rbac.Request(o.APIGroup, o.Resource, o.Subresource, events[i].Verb)] = true
		}
	}
	granted, err := rbac.Granted(rbac.VolcanoRole)
	if err != nil {
		t.Fatal(err)
	}
	unused, missing := rbac.Compare(granted, slices.Collect(maps.Keys(used)))
	// A watch fills the cache where the API server can do that, a list where not.
	unused = slices.DeleteFunc(unused, func(p rbac.Permission) bool { return p.Verb == "list" })
	if len(unused)+len(missing) > 0 {
		t.Errorf("granted and not used: %v; used and not granted: %v", unused, missing)
	}
}

// What a PodGroup is, and that it stays so: when the set changes its queue, when somebody
// else changes it, and when somebody deletes it. The pods stay what they are.
func TestPodGroup(t *testing.T) {
	t.Parallel()
	install()
	set := env.WaitAvailable(t, create(t, harness.Replicas(2), harness.Size(3), harness.Annotation("volcano.sh/preemptable", "true"),
		harness.Annotation(lwsv1.AnnotationVolcanoQueue, "a"), harness.Worker(func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
		})))
	revision := set.Status.UpdateRevision
	g := podGroups(t, set.Namespace)["web-1-"+revision]
	if g == nil {
		t.Fatalf("podgroups %v", slices.Sorted(maps.Keys(podGroups(t, set.Namespace))))
	}
	spec, _ := json.Marshal(g.Object["spec"])
	if want := `{"minMember":3,"minResources":{"cpu":"30m"},"queue":"a"}`; string(spec) != want {
		t.Errorf("spec %s, want %s", spec, want)
	}
	if g.GetAnnotations()["volcano.sh/preemptable"] != "true" || !metav1.IsControlledBy(g, set) || g.GetLabels()[lwsv1.LabelName] != "web" ||
		g.GetLabels()[lwsv1.LabelGroupIndex] != "1" || g.GetLabels()[lwsv1.LabelRevision] != revision {
		t.Errorf("metadata %+v", g.Object["metadata"])
	}
	for _, p := range env.Pods(t, set) {
		if want := "web-" + p.Labels[lwsv1.LabelGroupIndex] + "-" + revision; p.Annotations["scheduling.k8s.io/group-name"] != want || p.Spec.SchedulerName != "volcano" {
			t.Errorf("pod %s: annotations %v, scheduler %s", p.Name, p.Annotations, p.Spec.SchedulerName)
		}
	}
	env.AtRest(t, set.Namespace)

	since := time.Now()
	env.Update(t, set, harness.Annotation(lwsv1.AnnotationVolcanoQueue, "b"))
	for _, leader := range []string{"web-0", "web-1"} {
		waitFor(t, set, leader, func(g *unstructured.Unstructured) bool { return field(g, "queue") == "b" })
	}
	patch(t, set.Namespace, g.GetName(), `{"spec":{"minMember":1,"minResources":{"cpu":"1"}},"metadata":{"labels":null}}`)
	waitFor(t, set, "web-1", func(g *unstructured.Unstructured) bool {
		spec, _ := json.Marshal(g.Object["spec"])
		return string(spec) == `{"minMember":3,"minResources":{"cpu":"30m"},"queue":"b"}` && g.GetLabels()[lwsv1.LabelName] == "web"
	})
	if err := groups().Namespace(set.Namespace).Delete(t.Context(), g.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, set, "web-1", func(now *unstructured.Unstructured) bool { return now.GetUID() != g.GetUID() })
	only(t, set, map[string]int64{"web-0": 1, "web-1": 1})
	time.Sleep(time.Second)
	writes := env.Writes(t, set.Namespace, since)
	if writes["create pods"]+writes["delete pods"] > 0 || writes["patch podgroups"] != 3 {
		t.Errorf("writes %v", writes)
	}
	env.AtRest(t, set.Namespace)
}

// A group that failed, and one that is updated, is made anew as a gang: with a PodGroup
// made anew, of its own size.
func TestAnew(t *testing.T) {
	t.Parallel()
	install()
	set := env.WaitAvailable(t, create(t, harness.Replicas(2), harness.Size(2)))
	before := podGroups(t, set.Namespace)
	env.DeletePod(t, set.Namespace, "web-1-1")
	only(t, set, map[string]int64{"web-0": 1, "web-1": 2})
	set = env.WaitAvailable(t, set)
	after := podGroups(t, set.Namespace)
	for name, g := range after {
		if anew := g.GetUID() != before[name].GetUID(); anew != strings.HasPrefix(name, "web-1-") {
			t.Errorf("podgroup %s made anew: %t", name, anew)
		}
	}
	old := set.Status.UpdateRevision
	env.Update(t, set, harness.Size(3))
	only(t, set, map[string]int64{"web-0": 2, "web-1": 3})
	set = env.WaitAvailable(t, set)
	for name, g := range podGroups(t, set.Namespace) {
		if strings.HasSuffix(name, old) || field(g, "minMember") != "3" {
			t.Errorf("podgroup %s: %v", name, g.Object["spec"])
		}
	}
	// Leader first: the workers come later, so that one pod must do.
	env.Update(t, set, func(s *harness.Set) {
		s.Spec.StartupPolicy, s.Spec.Replicas = lwsv1.LeaderReadyStartupPolicy, new(int32(3))
	})
	only(t, set, map[string]int64{"web-0": 2, "web-1": 3, "web-2": 1})
	for _, leader := range []string{"web-0", "web-1", "web-2"} {
		waitFor(t, set, leader, func(g *unstructured.Unstructured) bool { return field(g, "minMember") == "1" })
	}
	set = env.WaitAvailable(t, set)
	env.AtRest(t, set.Namespace)
	// Without Volcano, after an update, there is no PodGroup.
	env.Update(t, set, harness.Worker(func(p *corev1.PodTemplateSpec) { p.Spec.SchedulerName = "" }))
	only(t, set, nil)
	set = env.WaitAvailable(t, set)
	for _, p := range env.Pods(t, set) {
		if p.Annotations["scheduling.k8s.io/group-name"] != "" {
			t.Errorf("pod %s: annotations %v", p.Name, p.Annotations)
		}
	}
	env.AtRest(t, set.Namespace)
}

// Pods for which there is no room wait, and cost no writes.
func TestWaits(t *testing.T) {
	t.Parallel()
	install()
	set := create(t, harness.Replicas(2), harness.Size(2), harness.Annotation(lwsv1.AnnotationVolcanoQueue, "closed"))
	harness.WaitFor(t, "the pods", harness.DefaultTimeout, func() (bool, string) { return len(env.Pods(t, set)) == 4, "" })
	time.Sleep(time.Second)
	since := time.Now()
	time.Sleep(time.Second)
	if writes := env.Writes(t, set.Namespace, since); len(writes) > 0 {
		t.Errorf("while the groups wait: %v", writes)
	}
	for _, p := range env.Pods(t, set) {
		if p.Spec.NodeName != "" {
			t.Errorf("pod %s is on %s", p.Name, p.Spec.NodeName)
		}
	}
	env.Update(t, set, harness.Annotation(lwsv1.AnnotationVolcanoQueue, "open"))
	env.WaitAvailable(t, set)
}

// Sets that Volcano cannot place as one get no pods, and say why.
func TestRefused(t *testing.T) {
	t.Parallel()
	install()
	ns := env.Namespace(t)
	for name, tc := range map[string]struct {
		option harness.Option
		want   string
	}{
		"mixed":  {harness.Leader(func(p *corev1.PodTemplateSpec) { p.Spec.SchedulerName = "volcano" }), "schedulerName"},
		"native": {func(s *harness.Set) { placed(s); s.Spec.Scheduling = &lwsv1.Scheduling{} }, "spec.scheduling"},
	} {
		set := env.Create(t, harness.NewSet(ns, name, harness.Size(2), tc.option))
		if found := env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue); found.Reason != lwsv1.ReasonSchedulingConflict || !strings.Contains(found.Message, tc.want) {
			t.Errorf("%s: condition %+v", name, found)
		}
		env.WaitEvent(t, set, corev1.EventTypeWarning, lwsv1.ReasonSchedulingConflict, tc.want)
		if n := len(env.Pods(t, set)); n > 0 {
			t.Errorf("%s: %d pods", name, n)
		}
	}
}

// A PodGroup of our name that is somebody else's has the pods wait, and is left alone. A
// template that names a PodGroup of its own is left to it.
func TestOthers(t *testing.T) {
	t.Parallel()
	install()
	set := create(t, harness.Replicas(0), harness.Size(2))
	set = env.WaitAvailable(t, set)
	name := "web-0-" + set.Status.UpdateRevision
	made := foreign(t, set.Namespace, name)
	env.Scale(t, set, 1)
	env.WaitEvent(t, set, corev1.EventTypeWarning, "NameTaken", "podgroup "+name)
	if n := len(env.Pods(t, set)); n > 0 {
		t.Errorf("%d pods without a PodGroup", n)
	}
	if g := podGroups(t, set.Namespace)[name]; g.GetUID() != made.GetUID() || field(g, "minMember") != "2" {
		t.Errorf("the foreign podgroup was touched: %v", g.Object)
	}
	if err := groups().Namespace(set.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.WaitAvailable(t, set)

	foreign(t, set.Namespace, "mine")
	own := env.WaitAvailable(t, env.Create(t, harness.NewSet(set.Namespace, "own", harness.Size(2), placed,
		harness.Worker(harness.Annotated("scheduling.k8s.io/group-name", "mine")))))
	if have := slices.Sorted(maps.Keys(podGroups(t, set.Namespace))); !slices.Equal(have, []string{"mine", name}) {
		t.Errorf("podgroups %v", have)
	}
	if p := env.Pod(t, own.Namespace, "own-0-1"); p.Annotations["scheduling.k8s.io/group-name"] != "mine" {
		t.Errorf("annotations %v", p.Annotations)
	}
}

// Scaling down and deleting leave none.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	install()
	set := env.WaitAvailable(t, create(t, harness.Replicas(3), harness.Size(2)))
	set = env.Scale(t, set, 1)
	only(t, set, map[string]int64{"web-0": 1})
	if err := env.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	only(t, set, nil)
}

func create(t *testing.T, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.Create(t, harness.NewSet(env.Namespace(t), "web", append(options, placed)...))
}

// podGroups are those of a namespace by name.
func podGroups(t *testing.T, ns string) map[string]*unstructured.Unstructured {
	t.Helper()
	list, err := groups().Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		out[list.Items[i].GetName()] = &list.Items[i]
	}
	return out
}

func field(g *unstructured.Unstructured, name string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(g.Object, "spec", name)
	return fmt.Sprint(value)
}

// only waits until the PodGroups of a set's namespace are those of these groups, each of
// an incarnation.
func only(t *testing.T, set *harness.Set, want map[string]int64) {
	t.Helper()
	harness.WaitFor(t, "the podgroups", harness.DefaultTimeout, func() (bool, string) {
		have := map[string]int64{}
		for name, g := range podGroups(t, set.Namespace) {
			var n int64
			_, _ = fmt.Sscan(g.GetAnnotations()[lwsv1.AnnotationIncarnation], &n)
			have[name[:strings.LastIndex(name, "-")]] += n
		}
		return maps.Equal(have, want), fmt.Sprintf("podgroups %v, want %v", have, want)
	})
}

// waitFor waits until the one PodGroup of a group is as it should be.
func waitFor(t *testing.T, set *harness.Set, leader string, is func(*unstructured.Unstructured) bool) {
	t.Helper()
	harness.WaitFor(t, "the podgroup of "+leader, harness.DefaultTimeout, func() (bool, string) {
		all := podGroups(t, set.Namespace)
		for name, g := range all {
			if strings.HasPrefix(name, leader+"-") {
				return is(g), fmt.Sprint(g.Object)
			}
		}
		return false, fmt.Sprint("podgroups ", slices.Sorted(maps.Keys(all)))
	})
}

func patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	if _, err := groups().Namespace(ns).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// foreign makes a PodGroup that is nobody's.
func foreign(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"minMember": int64(2)}}}
	made, err := groups().Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

package robust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/deploy/rbac"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// unused are rights that the life below does not need, each with the reason why it
// is granted all the same.
var unused = map[string]string{
	"list leaderworkersets.leaderworkerset.x-k8s.io": listing,
	"list services":                                                   listing,
	"list poddisruptionbudgets.policy":                                listing,
	"list podgroups.scheduling.k8s.io":                                listing,
	"list workloads.scheduling.k8s.io":                                listing,
	"patch podgroups.scheduling.k8s.io":                               adopted,
	"patch workloads.scheduling.k8s.io":                               adopted,
	"list leases.coordination.k8s.io":                                 listing,
	"list mutatingwebhookconfigurations.admissionregistration.k8s.io": listing,
	"list nodes":                    listing,
	"get persistentvolumeclaims":    claimed,
	"create persistentvolumeclaims": claimed,
	"patch persistentvolumeclaims":  claimed,
	"get nodes":                     "a node is read live before a pod of it is deleted by force: package nodes of the end-to-end tests",
}

// adopted is why PodGroups are patched: the life below orphans none.
const adopted = "a set that is created again adopts them: scenario gang-deleted.txt of package scenario"

// claimed is why claims are there: the life below has none.
const claimed = "sets with volumeClaimTemplates ask for it: scenarios claims-*.txt of package scenario"

// listing is why caches need the verb list.
const listing = "caches are filled by a watch where the API server can do that (WatchList, on since Kubernetes 1.34), by a list where not"

// rights leads a full life with exactly the rights of deploy/ and compares what is
// granted with what was asked. That nothing is forbidden is checked by the harness,
// which reads the log.
func rights(t *testing.T, e *harness.Env) {
	r := startReplica(t, e)
	life(t, e)
	r.Stop(t) // watches are in the audit log when they have ended
	granted, err := rbac.Granted(rbac.ClusterRole, rbac.LeaseRole, rbac.FenceRole, rbac.NodesRole)
	if err != nil {
		t.Fatal(err)
	}
	used := map[rbac.Permission]bool{}
	for _, ev := range audit(t, e, cluster.AuditFilter{User: managerUser}) {
		if o := ev.ObjectRef; o != nil {
			used[rbac.Request(o.APIGroup, o.Resource, o.Subresource, ev.Verb)] = true
			if ev.ResponseStatus.Code == 403 {
				t.Errorf("forbidden: %s %s", ev.Verb, ev.RequestURI)
			}
		}
	}
	spare, missing := rbac.Compare(granted, slices.Collect(maps.Keys(used)))
	for _, p := range missing {
		t.Errorf("used and not granted: %s", p)
	}
	explained := maps.Clone(unused)
	for _, p := range spare {
		if explained[p.String()] == "" {
			t.Errorf("granted and not used: %s", p)
		}
		delete(explained, p.String())
	}
	for p := range explained {
		t.Errorf("explained as unused, but it is used or not granted: %s", p)
	}
}

// life is everything that happens to sets: creation, scaling, failure, update and
// its undoing, names that others hold, pods and services that lose their labels or owners.
func life(t *testing.T, e *harness.Env) {
	ns := e.Namespace(t)
	gang := e.Create(t, harness.NewSet(ns, "gang", harness.Size(2), func(s *lwsv1.LeaderWorkerSet) { s.Spec.Scheduling = &lwsv1.Scheduling{} }))
	e.WaitAvailable(t, gang)
	e.Scale(t, gang, 0)
	harness.WaitFor(t, "the workload to be gone", harness.DefaultTimeout, func() (bool, string) {
		list, err := e.Kube.SchedulingV1beta1().Workloads(ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, fmt.Sprint(err)
	})
	if err := e.Sets.LeaderWorkerSets(ns).Delete(t.Context(), gang.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	web := e.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2), harness.UniquePerReplica, harness.LeaderReady))
	e.WaitAvailable(t, web)
	e.Scale(t, web, 3)
	e.WaitAvailable(t, web)
	e.Scale(t, web, 1)
	e.WaitAvailable(t, web)
	recreate(t, e, web)
	updated(t, e, web, func(s *harness.Set) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
	})
	// An old revision becomes the newest again, and the other one is not kept.
	updated(t, e, web, func(s *harness.Set) {
		s.Annotations = map[string]string{lwsv1.AnnotationUndo: "previous", lwsv1.AnnotationHistoryLimit: "0"}
	})
	harness.WaitFor(t, "the revision to go", harness.DefaultTimeout, func() (bool, string) {
		list, err := e.Kube.AppsV1().ControllerRevisions(ns).List(t.Context(), metav1.ListOptions{LabelSelector: lwsv1.LabelName + "=web"})
		return err == nil && len(list.Items) == 1, fmt.Sprint(len(list.Items), " revisions ", err)
	})
	budgeted(t, e, web)
	heldNames(t, e, ns)
	orphaned(t, e, ns)
	unlabelled(t, e, ns)
	refusedAgain(t, e, ns)
	for _, set := range []string{"web", "held", "left", "bad"} {
		if err := e.Sets.LeaderWorkerSets(ns).Delete(t.Context(), set, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	harness.WaitFor(t, "everything to go", harness.DefaultTimeout, func() (bool, string) {
		list, err := e.Kube.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: lwsv1.LabelName})
		return err == nil && len(list.Items) == 0, fmt.Sprint(len(list.Items), " pods ", err)
	})
}

// budgeted has a set keep a disruption budget for a while, during which it grows.
func budgeted(t *testing.T, e *harness.Env, set *harness.Set) {
	t.Helper()
	e.Update(t, set, func(s *harness.Set) {
		s.Annotations = map[string]string{lwsv1.AnnotationDisruptionBudget: "1"}
	})
	budget := func(want string, is func(*policyv1.PodDisruptionBudget) bool) {
		t.Helper()
		harness.WaitFor(t, want, harness.DefaultTimeout, func() (bool, string) {
			b, err := e.Kube.PolicyV1().PodDisruptionBudgets(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
			if err != nil {
				b = nil
			}
			return is(b), fmt.Sprint(err)
		})
	}
	budget("a budget", func(b *policyv1.PodDisruptionBudget) bool { return b != nil })
	e.Scale(t, set, 2)
	budget("a larger budget", func(b *policyv1.PodDisruptionBudget) bool { return b != nil && b.Spec.MinAvailable.IntVal == 3 })
	e.Scale(t, set, 1)
	e.Update(t, set, func(s *harness.Set) { s.Annotations = nil })
	budget("no budget", func(b *policyv1.PodDisruptionBudget) bool { return b == nil })
	e.WaitAvailable(t, set)
}

// updated changes the set of one group, and waits until that has a new revision and
// is Ready.
func updated(t *testing.T, e *harness.Env, set *harness.Set, change func(*harness.Set)) {
	t.Helper()
	before := e.Get(t, set).Status.UpdateRevision
	e.Update(t, set, change)
	harness.WaitFor(t, "the update", harness.DefaultTimeout, func() (bool, string) {
		s := e.Get(t, set)
		return s.Status.UpdateRevision != before && s.Status.ObservedGeneration == s.Generation &&
			s.Status.UpdatedReplicas == 1 && s.Status.ReadyReplicas == 1, e.Describe(t, s)
	})
}

// recreate deletes a worker and waits for the group to be there again.
func recreate(t *testing.T, e *harness.Env, set *harness.Set) {
	t.Helper()
	leader := e.Pod(t, set.Namespace, set.Name+"-0")
	deletePod(t, e, set.Namespace, set.Name+"-0-1")
	harness.WaitFor(t, "a new leader", harness.DefaultTimeout, func() (bool, string) {
		p, err := e.Kube.CoreV1().Pods(set.Namespace).Get(t.Context(), leader.Name, metav1.GetOptions{})
		return err == nil && p.UID != leader.UID, fmt.Sprint(err)
	})
	e.WaitAvailable(t, set)
}

func deletePod(t *testing.T, e *harness.Env, namespace, name string) {
	t.Helper()
	if err := e.Kube.CoreV1().Pods(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// heldNames has a Service and a pod of somebody else in the way, with and without
// the set's label.
func heldNames(t *testing.T, e *harness.Env, ns string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns, Name: "held"}
	if _, err := e.Kube.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{ObjectMeta: meta,
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	meta.Name = "held-0"
	if _, err := e.Kube.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: meta,
		Spec: harness.Template("foreign").Spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := e.Create(t, harness.NewSet(ns, "held"))
	assertDegraded(t, e, set, "NameTaken", "ervice held ")
	if err := e.Kube.CoreV1().Services(ns).Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the pod to be in the way", harness.DefaultTimeout, func() (bool, string) {
		got := condition(e.Get(t, set), lwsv1.ConditionDegraded)
		return strings.Contains(got, "pod held-0 "), got
	})
	deletePod(t, e, ns, "held-0")
	e.WaitAvailable(t, set)
}

// orphaned deletes a set without its dependents, and makes it again: it adopts
// them.
func orphaned(t *testing.T, e *harness.Env, ns string) {
	t.Helper()
	create := func() *harness.Set {
		return e.WaitAvailable(t, e.Create(t, harness.NewSet(ns, "left", harness.Size(3))))
	}
	set := create()
	before := uids(e.Pods(t, set))
	orphan := metav1.DeletePropagationOrphan
	if err := e.Sets.LeaderWorkerSets(ns).Delete(t.Context(), "left", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the set to go", harness.DefaultTimeout, func() (bool, string) {
		_, err := e.Sets.LeaderWorkerSets(ns).Get(t.Context(), "left", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	if after := uids(e.Pods(t, create())); !maps.Equal(before, after) {
		t.Errorf("pods were not adopted: before %v, after %v", before, after)
	}
}

// unlabelled takes the set's label off a pod, as people do to debug it. The set
// gives it up and waits for its name.
func unlabelled(t *testing.T, e *harness.Env, ns string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, lwsv1.LabelName)
	if _, err := e.Kube.CoreV1().Pods(ns).Patch(t.Context(), "left-0-1", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the pod to be released", harness.DefaultTimeout, func() (bool, string) {
		p := e.Pod(t, ns, "left-0-1")
		return metav1.GetControllerOf(p) == nil, fmt.Sprint(p.OwnerReferences)
	})
	deletePod(t, e, ns, "left-0-1")
	e.WaitAvailable(t, harness.NewSet(ns, "left"))
}

// refusedAgain has pods refused until the event about it is one that repeats.
func refusedAgain(t *testing.T, e *harness.Env, ns string) {
	t.Helper()
	set := e.Create(t, harness.NewSet(ns, "bad", harness.Worker(badName)))
	harness.WaitFor(t, "an event that repeats", harness.DefaultTimeout, func() (bool, string) {
		events := e.Events(t, set)
		return slices.ContainsFunc(events, func(ev eventsv1.Event) bool { return ev.Series != nil }), fmt.Sprint(events)
	})
}

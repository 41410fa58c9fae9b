package robust

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// audit returns requests of controllers; the filter needs no user agent.
func audit(t testing.TB, e *harness.Env, f cluster.AuditFilter) []auditv1.Event {
	t.Helper()
	f.UserAgent = harness.ControllerAgent
	events, err := e.Cluster.Audit(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// besidesLeases drops the leader election's requests, and watches, which are
// answered at their end.
func besidesLeases(events []auditv1.Event) []auditv1.Event {
	return slices.DeleteFunc(events, func(ev auditv1.Event) bool {
		return ev.Verb == "watch" || ev.ObjectRef != nil && ev.ObjectRef.Resource == "leases"
	})
}

// accepted counts, by name, the creations of a resource that were accepted.
func accepted(t testing.TB, e *harness.Env, namespace, resource string) map[string]int {
	t.Helper()
	names := map[string]int{}
	for _, ev := range audit(t, e, cluster.AuditFilter{Namespace: namespace, Resource: resource, Verbs: []string{"create"}}) {
		if ev.ResponseStatus.Code == http.StatusCreated {
			names[ev.ObjectRef.Name]++
		}
	}
	return names
}

// podNames are the names that the pods of the set must have.
func podNames(set *harness.Set) []string {
	var names []string
	for g := range *set.Spec.Replicas {
		names = append(names, fmt.Sprintf("%s-%d", set.Name, g))
		for w := int32(1); w < *set.Spec.LeaderWorkerTemplate.Size; w++ {
			names = append(names, fmt.Sprintf("%s-%d-%d", set.Name, g, w))
		}
	}
	slices.Sort(names)
	return names
}

// answers says whether the log shows every creation as accepted. It does not where
// the client or the server was killed in between: the object is there all the same.
type answers bool

const (
	allLogged answers = true
	someLost  answers = false
)

// assertMadeOnce checks that the sets, which are all that there is in the
// namespace, have exactly their pods, all of the first incarnation, and that
// nothing of theirs was created twice or deleted.
func assertMadeOnce(t *testing.T, e *harness.Env, logged answers, sets ...*harness.Set) {
	t.Helper()
	namespace := sets[0].Namespace
	var want []string
	for _, set := range sets {
		want = append(want, podNames(set)...)
		var got []string
		for _, p := range e.Pods(t, set) {
			got = append(got, p.Name)
			if n := p.Annotations[lwsv1.AnnotationIncarnation]; n != "1" || p.DeletionTimestamp != nil {
				t.Errorf("pod %s: incarnation %s, deleted %v", p.Name, n, p.DeletionTimestamp)
			}
		}
		if !slices.Equal(got, podNames(set)) {
			t.Errorf("pods of set %s: %v", set.Name, got)
		}
	}
	made := accepted(t, e, namespace, "pods")
	for _, name := range want {
		if n := made[name]; n > 1 || n < 1 && logged == allLogged {
			t.Errorf("pod %s was created %d times", name, n)
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("pods that belong to no set were created: %v", made)
	}
	for _, resource := range []string{"services", "controllerrevisions"} {
		for name, n := range accepted(t, e, namespace, resource) {
			if n != 1 {
				t.Errorf("%s %s was created %d times", resource, name, n)
			}
		}
	}
	// What was never deleted, by anybody, exists once.
	deletions, err := e.Cluster.Audit(cluster.AuditFilter{Namespace: namespace, Verbs: []string{"delete", "deletecollection"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(deletions) > 0 {
		t.Errorf("something was deleted:\n%s", cluster.Summary(deletions))
	}
	assertOneRevision(t, e, sets...)
}

func assertOneRevision(t *testing.T, e *harness.Env, sets ...*harness.Set) {
	t.Helper()
	for _, set := range sets {
		list, err := e.Kube.AppsV1().ControllerRevisions(set.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: lwsv1.LabelName + "=" + set.Name})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 {
			t.Errorf("set %s has %d revisions", set.Name, len(list.Items))
		}
	}
}

// waitPods waits until the namespace has so many pods, and returns how many.
func waitPods(t *testing.T, e *harness.Env, namespace string, atLeast int) int {
	t.Helper()
	n := 0
	harness.WaitFor(t, fmt.Sprintf("%d pods", atLeast), harness.DefaultTimeout, func() (bool, string) {
		list, err := e.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		n = len(list.Items)
		return n >= atLeast, fmt.Sprintf("%d pods", n)
	})
	return n
}

// waitQuiet waits until the controllers have asked nothing in the namespace ("" all)
// for so long.
func waitQuiet(t *testing.T, e *harness.Env, namespace string, quiet time.Duration) {
	t.Helper()
	harness.WaitFor(t, "the controller to be quiet", 2*harness.DefaultTimeout, func() (bool, string) {
		time.Sleep(time.Second)
		events := besidesLeases(audit(t, e, cluster.AuditFilter{Namespace: namespace, Since: time.Now().Add(-quiet)}))
		return len(events) == 0, cluster.Summary(events)
	})
}

// describe lists requests one by one, for messages of failed tests.
func describe(events []auditv1.Event) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%s %s %s\n", ev.RequestReceivedTimestamp.Format("15:04:05.000"), ev.Verb, ev.RequestURI)
	}
	return b.String()
}

// condition returns the set's condition of a kind as text, "" if it is absent.
func condition(set *harness.Set, kind string) string {
	for _, c := range set.Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

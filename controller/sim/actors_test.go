package sim

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// named gives a set another name.
func named(name string) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Name = name }
}

// Groups that wait for names of another set say so, all of them at once, also
// after a restart; when that set is gone they come up.
func TestNamesThatMeet(t *testing.T) {
	unique := subdomain(v1.SubdomainUniquePerReplica)
	for _, sets := range [][2]*v1.LeaderWorkerSet{
		{newSet(1, 4), newSet(4, 1, named("a-0"))},
		{newSet(1, 4, unique), newSet(2, 2, named("a-0"), unique)},
		{newSet(1, 4, unique), newSet(2, 2, named("a-0"))}, // the Service a-0
	} {
		w := runs(t, sets[0])
		w.at.Name = "a-0"
		w.Apply(sets[1])
		w.settle()
		if s := w.server.sets.items[w.at]; !meta.IsStatusConditionTrue(s.Status.Conditions, v1.ConditionDegraded) {
			t.Errorf("set %s does not say that it waits: %+v", s.Name, s.Status.Conditions)
		}
		w.atRest()
		w.at = theKey
		w.DeleteSet(metav1.DeletePropagationBackground)
		w.settle()
		w.atRest()
	}
}

// In a namespace that is being deleted nothing is created, and nothing is left.
func TestNamespaceIsDeleted(t *testing.T) {
	w := runs(t, newSet(2, 3, subdomain(v1.SubdomainUniquePerReplica)))
	created := w.server.uids
	w.DeleteNamespace()
	w.settle()
	if left := w.state(); left != "" || w.server.ending {
		t.Errorf("left in the namespace:\n%s", left)
	}
	if w.server.uids != created {
		t.Errorf("%d objects were created in a namespace that was being deleted", w.server.uids-created)
	}
	w.atRest()
	w.Apply(newSet(1, 2))
	w.settle()
	w.atRest()
}

// A pod on a node that is lost is not replaced as long as a kubelet may run it:
// not by force, and not under another name (S1).
func TestLostNode(t *testing.T) {
	w := runs(t, newSet(1, 2))
	for _, n := range w.nodeList() {
		w.lose(n)
	}
	w.pass(time.Hour)
	if p := w.pod("a-0"); p == nil || p.DeletionTimestamp == nil || incarnationOf(p) != "1" {
		t.Fatalf("pod a-0 of the lost node is %+v", p)
	}
	w.mendNodes()
	w.settle()
	w.atRest()
	if p := w.pod("a-0"); p == nil || incarnationOf(p) != "2" {
		t.Errorf("pod a-0 was not made again")
	}
}

// Pods that find no room are reported by the scheduler, and come up when there is
// some; nothing is torn down for that.
func TestNoRoom(t *testing.T) {
	w := runs(t, newSet(2, 2))
	for _, n := range w.nodeList() {
		n.capacity = 5
	}
	w.Edit("scale to 3", scale(3))
	w.settle()
	waiting := slices.DeleteFunc(w.server.pods.list(), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	if len(waiting) != 1 || waiting[0].Status.Conditions[0].Reason != corev1.PodReasonUnschedulable {
		t.Errorf("waiting for room are %+v, not one pod", waiting)
	}
	before := w.writes
	w.pass(10 * time.Minute)
	if w.writes != before {
		t.Errorf("%d writes while a pod waits for room", w.writes-before)
	}
	w.addNode("rack-2", plenty)
	w.settle()
	w.atRest()
	if p := w.pod("a-2"); p == nil || incarnationOf(p) != "1" {
		t.Error("group 2 was made again")
	}
}

// A finalizer of others on a pod keeps its group waiting for the name, and no more.
func TestForeignFinalizer(t *testing.T) {
	w := runs(t, newSet(1, 2))
	w.podUpdate(w.pod("a-0-1"), invariant.User, func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, theirs) })
	w.Edit("image v2", image("v2"))
	w.pass(10 * time.Minute)
	if p := w.pod("a-0-1"); p == nil || p.DeletionTimestamp == nil {
		t.Fatalf("pod a-0-1, which a finalizer holds, is %+v", p)
	}
	if w.pod("a-0") != nil {
		t.Error("pod a-0 exists beside one of the incarnation before")
	}
	w.liftFinalizers()
	w.settle()
	w.atRest()
}

// A pod whose containers end because it was deleted has not failed by itself: the
// restart count, and with it the backoff, is left alone (CONTRACT §6).
func TestEndsBecauseItWasDeleted(t *testing.T) {
	w := runs(t, newSet(1, 2))
	w.DeletePod("a-0-1")
	w.podStatus(w.pod("a-0-1"), func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	w.pass(5 * time.Second)
	if counts := restartCounts(w.server.sets.items[theKey]); len(counts) > 0 {
		t.Errorf("restart counts %v", counts)
	}
	w.settle()
	w.atRest()
}

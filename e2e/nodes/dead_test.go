package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// stuck waits until the status says which node does not end its pods, and checks that
// all that can be gone is.
func (s *scene) stuck(t *testing.T) {
	t.Helper()
	c := env.WaitCondition(t, s.set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	for _, words := range []string{"waits for pod web-", "node " + s.dead + ", which is not Ready", corev1.TaintNodeOutOfService} {
		if c.Reason != lwsv1.ReasonPodsStuck || !strings.Contains(c.Message, words) {
			t.Errorf("condition %s: %s; it should say %q", c.Reason, c.Message, words)
		}
	}
	for _, pod := range env.Pods(t, s.set) {
		if struck := s.struck[pod.Labels[lwsv1.LabelGroupIndex]]; struck && pod.Spec.NodeName != s.dead {
			t.Errorf("pod %s of a group that is torn down is still there, on node %s", pod.Name, pod.Spec.NodeName)
		}
	}
	if n := env.Get(t, s.set).Status.ReadyReplicas; int(n) != groups-len(s.struck) {
		t.Errorf("%d groups are Ready, not the %d that have nothing on the node", n, groups-len(s.struck))
	}
	env.WaitEvent(t, s.set, corev1.EventTypeWarning, lwsv1.ReasonPodsStuck, s.dead)
	t.Logf("reported %.1f s after the death of the node", time.Since(s.began).Seconds())
}

// forced are the notes of events about forced deletions.
func (s *scene) forced(t *testing.T) []string {
	t.Helper()
	return notes(t, s.set, "ForceDeleted")
}

func notes(t *testing.T, set *harness.Set, reason string) (out []string) {
	t.Helper()
	for _, ev := range slices.DeleteFunc(env.Events(t, set), func(ev eventsv1.Event) bool { return ev.Reason != reason }) {
		out = append(out, ev.Note)
	}
	return out
}

// The machine is gone, and somebody, mostly the cloud, deletes its node at once: the pod
// garbage collector ends the pods.
func TestNodeDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.dies(t)
	deleteNode(t, s.dead)
	s.recovers(t, "node deleted at once", s.began)
}

// The node is deleted when its pods are stuck: there is nothing more to wait for.
func TestSilentNodeIsDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.dies(t)
	silence(t, s.dead, true)
	s.stuck(t)
	since := time.Now()
	deleteNode(t, s.dead)
	s.recovers(t, "node deleted while its pods were stuck", since)
	if took := time.Since(since); took > 30*time.Second {
		t.Errorf("that took %s: the pod garbage collector was faster", took)
	}
	if all := s.forced(t); len(all) != len(s.struck) || !strings.Contains(fmt.Sprint(all), "node "+s.dead+" is gone") {
		t.Errorf("events about forced deletions, for %d groups: %q", len(s.struck), all)
	}
}

// The node is marked as out of service when its pods are stuck.
func TestOutOfService(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.dies(t)
	silence(t, s.dead, true)
	s.stuck(t)
	since := time.Now()
	node, err := env.Kube.CoreV1().Nodes().Get(t.Context(), s.dead, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	taints := append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	env.PatchNode(t, s.dead, map[string]any{"spec": map[string]any{"taints": taints}})
	s.recovers(t, "node out of service", since)
}

// Nobody does anything: the annotation gives the pods up, and not before its time.
func TestForceDeleteAfter(t *testing.T) {
	t.Parallel()
	s := newScene(t, harness.Annotation(lwsv1.AnnotationForceDeleteAfter, "30s"))
	s.dies(t)
	silence(t, s.dead, true)
	s.stuck(t)
	s.recovers(t, "force-delete-after 30s", s.began)
	if all := s.forced(t); len(all) != len(s.struck) || !strings.Contains(fmt.Sprint(all), lwsv1.AnnotationForceDeleteAfter) {
		t.Errorf("events about forced deletions, for %d groups: %q", len(s.struck), all)
	}
}

// The node comes back: its kubelet ends the pods, and nothing is deleted by force.
func TestNodeComesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, harness.Annotation(lwsv1.AnnotationForceDeleteAfter, "10m"))
	s.dies(t)
	silence(t, s.dead, true)
	s.stuck(t)
	since := time.Now()
	silence(t, s.dead, false)
	for name, pod := range s.before {
		if pod.Spec.NodeName == s.dead {
			env.Annotate(t, pod.Namespace, name, cluster.AnnotationHang, nil)
		}
	}
	s.dead += " that is no longer dead" // it may have pods again
	s.recovers(t, "node back", since)
	if all := s.forced(t); len(all) > 0 {
		t.Errorf("events about forced deletions: %q", all)
	}
	if c := env.WaitCondition(t, s.set, lwsv1.ConditionDegraded, metav1.ConditionFalse); c.Reason != lwsv1.ReasonPodsStuck {
		t.Errorf("condition: %+v", c)
	}
}

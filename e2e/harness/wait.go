package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	lwsv1 "lws-controller/api/v1"
)

// WaitFor waits until check is true. If that takes too long, it fails the test
// and shows the last state that check returned.
func WaitFor(t testing.TB, what string, timeout time.Duration, check func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		done, state := check()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s; last state:\n%s", timeout, what, state)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// DefaultTimeout is ample for a small set on a busy machine, also where the garbage
// collector has a part: it looks for new kinds, like that of the CRD just installed,
// only every 30 s.
const DefaultTimeout = 2 * time.Minute

// WaitAvailable waits until the status is that of the newest spec and says that
// all groups are Ready, and returns the set.
func (e *Env) WaitAvailable(t testing.TB, set *Set) *Set {
	t.Helper()
	var s *Set
	WaitFor(t, "set "+set.Name+" to be Available", DefaultTimeout, func() (bool, string) {
		s = e.Get(t, set)
		ready := s.Status.ReadyReplicas == *s.Spec.Replicas && s.Status.Replicas == *s.Spec.Replicas
		return ready && s.Status.ObservedGeneration == s.Generation &&
			meta.IsStatusConditionTrue(s.Status.Conditions, lwsv1.ConditionAvailable), e.Describe(t, s)
	})
	return s
}

// WaitCondition waits for a condition to have this status and returns it.
func (e *Env) WaitCondition(t testing.TB, set *Set, kind string, status metav1.ConditionStatus) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	WaitFor(t, fmt.Sprintf("condition %s=%s of set %s", kind, status, set.Name), DefaultTimeout, func() (bool, string) {
		s := e.Get(t, set)
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		if c == nil || c.Status != status {
			return false, e.Describe(t, s)
		}
		found = *c
		return true, ""
	})
	return found
}

// Describe tells the state of a set and its pods in a few lines, for messages of
// failed tests.
func (e *Env) Describe(t testing.TB, set *Set) string {
	t.Helper()
	var b strings.Builder
	st := set.Status
	fmt.Fprintf(&b, "generation %d observed %d, replicas %d ready %d updated %d\n",
		set.Generation, st.ObservedGeneration, st.Replicas, st.ReadyReplicas, st.UpdatedReplicas)
	for _, c := range st.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, p := range e.Pods(t, set) {
		fmt.Fprintf(&b, "  pod %s %s incarnation %s on %q", p.Name, p.Status.Phase, p.Annotations[lwsv1.AnnotationIncarnation], p.Spec.NodeName)
		if p.DeletionTimestamp != nil {
			b.WriteString(" terminating")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// WaitEvent waits for an event of this type and reason whose note contains all parts.
func (e *Env) WaitEvent(t testing.TB, set *Set, eventType, reason string, parts ...string) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("event %s about %v", reason, parts), DefaultTimeout, func() (bool, string) {
		var all strings.Builder
		for _, ev := range e.Events(t, set) {
			fmt.Fprintf(&all, "%s %s: %s\n", ev.Type, ev.Reason, ev.Note)
			lacks := slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(ev.Note, part) })
			if ev.Type == eventType && ev.Reason == reason && !lacks {
				return true, ""
			}
		}
		return false, all.String()
	})
}

// AwaitCollector waits until the garbage collector knows LeaderWorkerSets: it looks for new
// kinds only every 30 s, and what it has met of a kind before that it tries again after
// delays that double. Sets that are made after this are collected at once.
func (e *Env) AwaitCollector(t testing.TB) {
	t.Helper()
	api := e.Kube.CoreV1().ConfigMaps(e.Namespace(t))
	WaitFor(t, "the garbage collector to know LeaderWorkerSets", DefaultTimeout, func() (bool, string) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: lwsv1.SchemeGroupVersion.String(), Kind: lwsv1.Kind, Name: "nobody", UID: uuid.NewUUID()}}}}
		probe, err := api.Create(t.Context(), probe, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			if _, err = api.Get(t.Context(), probe.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				return true, ""
			}
		}
		return false, ""
	})
}

package contract

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"lws-controller/e2e/harness"
)

// waitEvent waits for an event with this reason whose note contains part, and
// checks what is the same for all.
func waitEvent(t *testing.T, set *harness.Set, eventType, reason, part string) *eventsv1.Event {
	t.Helper()
	var found *eventsv1.Event
	harness.WaitFor(t, "event "+reason, harness.DefaultTimeout, func() (bool, string) {
		var all strings.Builder
		for _, e := range env.Events(t, set) {
			fmt.Fprintf(&all, "%s %s: %s\n", e.Type, e.Reason, e.Note)
			if e.Reason == reason && strings.Contains(e.Note, part) {
				found = &e
			}
		}
		return found != nil, all.String()
	})
	regarding := corev1.ObjectReference{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID}
	got := found.Regarding
	got.ResourceVersion = ""
	if got != regarding {
		t.Errorf("event %s is about %+v, want %+v", reason, got, regarding)
	}
	if found.Type != eventType {
		t.Errorf("event %s is of type %s, want %s", reason, found.Type, eventType)
	}
	return found
}

func TestEventsOfConditions(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2))))
	key := set.Status.UpdateRevision
	waitEvent(t, set, "Normal", "CreatingRevision", key)
	if e := waitEvent(t, set, "Normal", "GroupsProgressing", ""); e.Note != "Replicas are progressing, with 0 groups ready of total 2 groups" {
		t.Errorf("note %q", e.Note)
	}
	if e := waitEvent(t, set, "Normal", "AllGroupsReady", ""); e.Note != "All replicas are ready, with 2 groups ready of total 2 groups" {
		t.Errorf("note %q", e.Note)
	}
	env.Update(t, set, func(s *harness.Set) { s.Spec.LeaderWorkerTemplate.WorkerTemplate.Labels = map[string]string{"v": "2"} })
	if e := waitEvent(t, set, "Normal", "GroupsUpdating", ""); e.Note != "Rolling Upgrade is in progress, with 2 groups ready of total 2 groups" {
		t.Errorf("note %q", e.Note)
	}
}

func TestEventOfRecreation(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2))))
	env.DeletePod(t, ns, "web-1-1")
	e := waitEvent(t, set, "Normal", "RecreateGroup", "")
	if e.Related == nil || e.Related.Kind != "Pod" || e.Related.Namespace != ns || e.Related.Name != "web-1" {
		t.Errorf("related object %+v, want pod web-1", e.Related)
	}
	if !strings.Contains(e.Note, "web-1-1") {
		t.Errorf("note %q does not name the pod at fault", e.Note)
	}
}

// TestEventOfRefusal: what the API server says of a pod that it refuses reaches
// the user, in an event and in a condition; when the template is right the set
// proceeds.
func TestEventOfRefusal(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	const message = "spec.containers[0].name: Invalid value"
	set := env.Create(t, harness.NewSet(ns, "web", harness.Size(2), harness.Worker(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Name = "Not_A_Name"
	})))
	waitEvent(t, set, "Warning", "FailedCreate", message)
	c := env.WaitCondition(t, set, "Degraded", "True")
	if c.Reason != "FailedCreate" || !strings.Contains(c.Message, message) || !strings.Contains(c.Message, "Group 0") {
		t.Errorf("Degraded has %s: %s", c.Reason, c.Message)
	}
	env.Update(t, set, func(s *harness.Set) { s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Name = "fine" })
	env.WaitAvailable(t, set)
	env.WaitCondition(t, set, "Degraded", "False")
}

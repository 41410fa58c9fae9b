package steer

import (
	"strings"
	"testing"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestPausedWithTheChange: with a pause that comes in the same write as the change no
// group moves, failures and scaling go on, and people see why.
func TestPausedWithTheChange(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(2), harness.Size(2))
	before := leaders(t, set)
	set = change(t, set, image("2"), annotate(lwsv1.AnnotationPaused, "true"))
	env.WaitCondition(t, set, lwsv1.ConditionRolloutPaused, "True")
	set = env.WaitAvailable(t, set) // a healthy service does not look down
	quiet(t, ns)
	sameLeaders(t, set, before)

	env.DeletePod(t, ns, "web-0-1")
	harness.WaitFor(t, "group 0 to be recreated", harness.DefaultTimeout, func() (bool, string) {
		return leaders(t, set)["web-0"] != before["web-0"], ""
	})
	set = env.WaitAvailable(t, set)
	env.Scale(t, set, 3)
	waitTags(t, set, "0:1 1:1 2:1")
	described := env.Kubectl(t, "-n", ns, "describe", "lws", "web")
	for _, part := range []string{"RolloutPaused", "PausedByAnnotation", "No further group is updated while annotation"} {
		if !strings.Contains(described, part) {
			t.Errorf("kubectl describe does not tell %q:\n%s", part, described)
		}
	}
	env.Scale(t, set, 2)
	waitTags(t, set, "0:1 1:1")

	change(t, set, annotate(lwsv1.AnnotationPaused))
	waitTags(t, set, "0:2 1:2")
	env.WaitCondition(t, set, lwsv1.ConditionRolloutPaused, "False")
	env.WaitEvent(t, set, "Normal", "RolloutPaused")
	env.WaitEvent(t, set, "Normal", "RolloutResumed")
	quiet(t, ns)
}

// TestPausedMidway: a pause stops the rollout within one group, and once it is over
// the rollout goes on where it stood.
func TestPausedMidway(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(5), harness.Size(2))
	change(t, set, image("2"), harness.Worker(harness.Annotated(cluster.AnnotationReadyAfter, "500ms")))
	moved := func() int { return strings.Count(tags(t, set), ":2") + strings.Count(tags(t, set), "-") }
	harness.WaitFor(t, "the second group to move", harness.DefaultTimeout, func() (bool, string) { return moved() >= 2, tags(t, set) })
	change(t, set, annotate(lwsv1.AnnotationPaused, "true"))
	at := moved()
	env.WaitCondition(t, set, lwsv1.ConditionRolloutPaused, "True")
	set = env.WaitAvailable(t, set)
	quiet(t, ns)
	if now := moved(); now > at+1 || now == 5 {
		t.Errorf("%d groups have moved, %d had when the pause began", now, at)
	}
	change(t, set, annotate(lwsv1.AnnotationPaused))
	waitTags(t, set, "0:2 1:2 2:2 3:2 4:2")
}

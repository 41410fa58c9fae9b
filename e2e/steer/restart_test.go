package steer

import (
	"testing"
	"time"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// TestRestartedAt: all groups are restarted, within the budget and once, whatever
// becomes of the annotation, and of the controller. It stops the shared controller,
// so it runs alone.
func TestRestartedAt(t *testing.T) {
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(3), harness.Size(2))
	before := leaders(t, set)
	least := lowest(t, set)
	time.Sleep(50 * time.Millisecond)
	at := time.Now()
	env.Update(t, set, annotate(lwsv1.AnnotationRestartedAt, stamp(at)))
	harness.WaitFor(t, "all groups to be others", harness.DefaultTimeout, func() (bool, string) {
		now := leaders(t, set)
		for name, uid := range before {
			if now[name] == uid || now[name] == "" {
				return false, env.Describe(t, env.Get(t, set))
			}
		}
		return true, ""
	})
	set = env.WaitAvailable(t, set)
	if n := least(); n != 2 {
		t.Errorf("%d groups were Ready at the lowest, want 2", n)
	}
	for _, p := range env.Pods(t, set) {
		if p.Annotations[lwsv1.AnnotationTemplateRestartedAt] == "" {
			t.Errorf("pod %s does not tell of the restart", p.Name)
		}
	}
	again := leaders(t, set)
	env.Controller.Stop(t)
	env.Controller.Start(t)
	env.Controller.Ready(t)
	quiet(t, ns)
	env.Update(t, set, annotate(lwsv1.AnnotationRestartedAt))
	env.Update(t, set, annotate(lwsv1.AnnotationRestartedAt, stamp(at.Add(-time.Hour))))
	env.WaitAvailable(t, set)
	quiet(t, ns)
	sameLeaders(t, set, again)
	change(t, set, image("2")) // what comes later is restarted already
	waitTags(t, set, "0:2 1:2 2:2")
	quiet(t, ns)
}

// TestRecycle: chosen groups are recreated when the time has come, within the budget
// and once, at the revision that they have.
func TestRecycle(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(4), harness.Size(2))
	before := leaders(t, set)
	least := lowest(t, set)
	due := time.Now().Add(4 * time.Second).Truncate(time.Second)
	set = env.Update(t, set, annotate(lwsv1.AnnotationRecycle, "0,2-3@"+stamp(due)))
	time.Sleep(time.Second)
	sameLeaders(t, set, before)
	harness.WaitFor(t, "the groups to be others", harness.DefaultTimeout, func() (bool, string) {
		now, n := leaders(t, set), 0
		for name, uid := range before {
			if now[name] != uid && now[name] != "" {
				n++
			}
		}
		return n == 3, env.Describe(t, env.Get(t, set))
	})
	if time.Now().Before(due) {
		t.Error("recreated before its time")
	}
	set = env.WaitAvailable(t, set)
	if n := least(); n != 3 {
		t.Errorf("%d groups were Ready at the lowest, want 3", n)
	}
	quiet(t, ns)
	sameLeaders(t, set, before, "web-0", "web-2", "web-3")
	for _, p := range env.Pods(t, set) {
		if is := p.Annotations[lwsv1.AnnotationRecycledAt]; (is == stamp(due)) == (p.Labels[lwsv1.LabelGroupIndex] == "1") {
			t.Errorf("pod %s has the mark %q", p.Name, is)
		}
		if p.Labels[lwsv1.LabelRevision] != set.Status.UpdateRevision {
			t.Errorf("pod %s has another revision", p.Name)
		}
	}
	env.WaitEvent(t, set, "Normal", "RecreateGroup", "group 3", "annotation "+lwsv1.AnnotationRecycle+" asks for it")
}

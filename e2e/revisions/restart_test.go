package revisions

import (
	"strconv"
	"testing"

	"lws-controller/e2e/harness"
)

func version(t *testing.T, set *harness.Set) int64 {
	t.Helper()
	n, err := strconv.ParseInt(set.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestControllerReplacedMidway: another controller goes on with an update where the one
// before it stopped, was killed or handed over. No group is touched twice. It is not
// parallel, so that no other test is without a controller.
func TestControllerReplacedMidway(t *testing.T) {
	for name, replace := range map[string]func(){
		"restarted": func() { env.Controller.Stop(t); env.Controller.Start(t) },
		"killed":    func() { env.Controller.Kill(t); env.Controller.Start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			set := midway(t, 4)
			before := leaders(t, set, 3)
			replace()
			env.Controller.Ready(t)
			keepsTags(t, set, "1 1 1 2")
			untouched(t, set, before)
			waitRolled(t, set)
			if got := incarnations(t, set); got != "2 2 2 2" {
				t.Errorf("incarnations %s: a group was touched twice", got)
			}
		})
	}
	t.Run("handed over", func(t *testing.T) {
		env.Controller.Stop(t)
		first := harness.StartController(t, env.Cluster, "--leader-elect=true")
		second := harness.StartController(t, env.Cluster, "--leader-elect=true")
		set := midway(t, 4)
		before := leaders(t, set, 3)
		// Whichever leads: one of the two stops is a handover.
		first.Stop(t)
		keepsTags(t, set, "1 1 1 2")
		untouched(t, set, before)
		waitRolled(t, set)
		if got := incarnations(t, set); got != "2 2 2 2" {
			t.Errorf("incarnations %s: a group was touched twice", got)
		}
		second.Stop(t)
		env.Controller.Start(t)
		env.Controller.Ready(t)
	})
}

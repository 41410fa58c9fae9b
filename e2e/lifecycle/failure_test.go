package lifecycle

import (
	"testing"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var atOnce = "0s"

// fail are the ways for a pod to fail, and whether they count against the restart
// budget: a deletion by a person does not.
var fail = map[string]struct {
	do     func(t *testing.T, ns, pod string)
	counts bool
}{
	"deleted":   {func(t *testing.T, ns, pod string) { env.DeletePod(t, ns, pod) }, false},
	"restarted": {func(t *testing.T, ns, pod string) { env.Annotate(t, ns, pod, cluster.AnnotationRestartAfter, &atOnce) }, true},
	"failed":    {func(t *testing.T, ns, pod string) { env.Annotate(t, ns, pod, cluster.AnnotationFailAfter, &atOnce) }, true},
}

// TestRecreateGroup: when a pod of a Ready group fails, exactly that group is made
// anew, and once.
func TestRecreateGroup(t *testing.T) {
	t.Parallel()
	for how, f := range fail {
		for _, pod := range []string{"web-1", "web-1-2"} {
			t.Run(how+"/"+pod, func(t *testing.T) {
				t.Parallel()
				ns := env.Namespace(t)
				set := available(t, ns, "web", harness.Replicas(3), harness.Size(3))
				before := uids(env.Pods(t, set))
				f.do(t, ns, pod)
				set = waitRestored(t, set, before, ofGroup(set, 1)...)
				quiet(t, ns)
				replaced(t, set, before, ofGroup(set, 1)...)
				incarnation(t, set, 0, "1")
				incarnation(t, set, 1, "2")
				incarnation(t, set, 2, "1")
				restarts := env.Get(t, set).Status.GroupRestarts
				switch {
				case f.counts && (len(restarts) != 1 || restarts[0].Index != 1 || restarts[0].Count != 1 || restarts[0].Revision != set.Status.UpdateRevision):
					t.Errorf("groupRestarts %+v, want one of group 1", restarts)
				case !f.counts && len(restarts) > 0 && restarts[0].Count > 0:
					t.Errorf("groupRestarts %+v for a deletion through the API", restarts)
				}
				if recycling := env.Get(t, set).Status.Recycling; len(recycling) > 0 {
					t.Errorf("recycling %+v is left", recycling)
				}
			})
		}
	}
}

// TestReplacePod: with restartPolicy None only the pod is replaced, in its
// incarnation; a restart of a container is none of our business.
func TestReplacePod(t *testing.T) {
	t.Parallel()
	for _, policy := range []lwsv1.RestartPolicyType{lwsv1.NoneRestartPolicy, lwsv1.DefaultRestartPolicy} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, "web", harness.Replicas(2), harness.Size(3), harness.RestartPolicy(policy))
			for _, step := range []struct{ how, pod string }{{"deleted", "web-0-1"}, {"failed", "web-0-2"}, {"deleted", "web-1"}, {"failed", "web-0"}} {
				before := uids(env.Pods(t, set))
				fail[step.how].do(t, ns, step.pod)
				set = waitRestored(t, set, before, step.pod)
				replaced(t, set, before, step.pod)
			}
			before := uids(env.Pods(t, set))
			fail["restarted"].do(t, ns, "web-1-1")
			waitRestartCount(t, ns, "web-1-1")
			quiet(t, ns)
			replaced(t, set, before)
			incarnation(t, set, 0, "1")
			incarnation(t, set, 1, "1")
		})
	}
}

func waitRestartCount(t *testing.T, ns, pod string) {
	t.Helper()
	harness.WaitFor(t, "pod "+pod+" to restart", harness.DefaultTimeout, func() (bool, string) {
		statuses := env.Pod(t, ns, pod).Status.ContainerStatuses
		return len(statuses) == 1 && statuses[0].RestartCount == 1, "it has not"
	})
}

// TestGroupsFailTogether: two groups that fail at once are both made anew.
func TestGroupsFailTogether(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(4), harness.Size(2))
	before := uids(env.Pods(t, set))
	for _, pod := range []string{"web-0-1", "web-0", "web-2", "web-3-1"} {
		env.DeletePod(t, ns, pod)
	}
	var anew []string
	for _, g := range []int{0, 2, 3} {
		anew = append(anew, ofGroup(set, g)...)
	}
	set = waitRestored(t, set, before, anew...)
	quiet(t, ns)
	replaced(t, set, before, anew...)
	for g, want := range []string{"2", "1", "2", "2"} {
		incarnation(t, set, g, want)
	}
}

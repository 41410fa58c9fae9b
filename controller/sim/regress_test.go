package sim

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// runs is a world with a set that has come up.
func runs(t *testing.T, s *v1.LeaderWorkerSet) *World {
	t.Helper()
	w := newWorld(1, true)
	t.Cleanup(func() {
		for _, v := range w.broken {
			t.Error(v)
		}
		if t.Failed() {
			t.Log(strings.Join(w.story, "\n"))
		}
		w.end()
	})
	w.startProcess(upToDate)
	w.Apply(s)
	w.settle()
	return w
}

func (w *World) pod(name string) *corev1.Pod {
	return w.server.pods.items[types.NamespacedName{Namespace: theKey.Namespace, Name: name}]
}

func (w *World) strip(name string) {
	w.note("user takes the label off %s", name)
	w.podUpdate(w.pod(name), invariant.User, func(p *corev1.Pod) { delete(p.Labels, v1.LabelName) })
}

// A controller whose caches begin in the past, however far, does nothing to
// groups that are there, and makes no second revision (S18).
func TestRestartInThePast(t *testing.T) {
	for _, s := range []*v1.LeaderWorkerSet{
		newSet(2, 3, startup(v1.LeaderReadyStartupPolicy)),
		newSet(3, 2, subdomain(v1.SubdomainUniquePerReplica)),
	} {
		for behind := range 45 {
			w := runs(t, s)
			before := w.tallied()
			w.hasty = true
			w.processes[0].dead = true
			w.rest(func(*call) Fault { return noFault }, func() int { return behind })
			if after := w.tallied(); after != before {
				t.Fatalf("%d writes behind, the controller did\n%s", behind, difference(after, before))
			}
			w.atRest()
		}
	}
}

// A pod of the last incarnation that lost its label holds a name that the next,
// smaller one does not use. It is found all the same (S3).
func TestStrippedWorkerBeyondTheNewSize(t *testing.T) {
	w := runs(t, newSet(1, 3))
	w.strip("a-0-2")
	w.Edit("size 2", resize(2))
	w.pass(10 * time.Second)
	if p := w.pod("a-0-2"); controllerOf(p) != "" {
		t.Errorf("pod a-0-2 is still controlled by the set")
	}
	w.cleanUp()
	w.settle()
	w.removeOrphans()
	w.settle()
	w.atRest()
}

// A pod without its label that is going anyway is waited for, not patched (S15).
func TestTerminatingPodIsNotReleased(t *testing.T) {
	w := runs(t, newSet(1, 2))
	w.strip("a-0-1")
	w.DeletePod("a-0-1")
	w.settle()
	w.atRest()
}

// A surge group that was refused, and then is not needed any more, is no trouble.
func TestRefusedSurgeIsForgotten(t *testing.T) {
	w := runs(t, newSet(2, 1, budget(0, 1, 0)))
	w.server.quota = 2
	w.Edit("image v2", image("v2"))
	w.pass(10 * time.Second)
	w.Edit("image v1", image("v1"))
	w.settle()
	w.atRest()
}

// A deletion that a webhook refuses with 409 is tried again: the pod is not gone.
func TestConflictOnDeletion(t *testing.T) {
	w := runs(t, newSet(2, 2))
	refused := 0
	w.Edit("scale to 1", scale(1))
	w.rest(func(c *call) Fault {
		if c.what == "delete pod" && refused < 3 {
			refused++
			return conflict
		}
		return noFault
	}, upToDate)
	w.Edit("scale to 2", scale(2))
	w.settle()
	w.atRest()
}

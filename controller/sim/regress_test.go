package sim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
				t.Fatalf("S18: %d writes behind, the controller did\n%s", behind, difference(after, before))
			}
			w.atRest()
			visited.take(w.reached)
			visited.tried(pastStarts)
		}
	}
}

// An annotation that goes while the controller looks at the set, before it stores the
// revision of a new spec, holds no more: annotations make no generation, and what was
// read live counts (S8).
func TestAnnotationGoesMeanwhile(t *testing.T) {
	w := runs(t, newSet(1, 2))
	w.Annotate(v1.AnnotationMaxSurge, "1")
	w.settle()
	w.Edit("image v2", image("v2"))
	gone := false
	w.meanwhile = func(*Process) {
		if !gone {
			gone = true
			w.Annotate(v1.AnnotationMaxSurge, "")
		}
	}
	w.pass(time.Second)
	if !gone {
		t.Error("nothing was asked of the API server")
	}
	w.settle()
	w.atRest()
}

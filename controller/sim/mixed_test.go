package sim

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// busy are ways to bring a set that runs into a situation.
var busy = map[string]func(*World){
	updating:  edit("image", image("v2")),
	recycling: goesWrong("restart", "a-1-1"),
	scaling:   edit("scale to 2", scale(2)),
}

// setFor is a set to begin a situation with: where nothing may ever have been
// available, its pods never become Ready.
func setFor(situation string) *v1.LeaderWorkerSet {
	if situation == creating {
		return newSet(3, 2, subdomain(v1.SubdomainUniquePerReplica), image(badImage))
	}
	return newSet(3, 2, subdomain(v1.SubdomainUniquePerReplica))
}

// disturbance is what makes the controller write what it rarely writes.
type disturbance struct {
	name  string
	write string
	// before is a step that prepares it.
	before func(*World)
	do     func(*World)
}

var disturbances = []disturbance{
	{"a service is deleted", createService, nil, func(w *World) { w.deleteService("a-0") }},
	{"services are shared from now on", deleteService, nil, edit("shared", subdomain(v1.SubdomainShared))},
	{"the last group goes", deleteService, nil, edit("scale to 2", scale(2))},
	{"another size", createRevision, nil, edit("size 3", resize(3))},
	{"back to the first size", numberRevision, edit("size 3", resize(3)), edit("size 2", resize(2))},
	{"a pod loses its owner", adoptPod, nil, func(w *World) { w.disown("a-0-1") }},
	{"a pod loses its label", releasePod, nil, func(w *World) {
		w.unlabel("a-0-1")
		w.pass(3 * time.Minute) // the group waits for the name
		w.DeletePod("a-0-1")
	}},
	{"a service loses its owner", adoptService, nil, func(w *World) { w.disownService("a-0") }},
	{"revisions lose their owner", adoptRevision, nil, func(w *World) { w.disownRevisions() }},
	{"a group fails", recordTeardown, nil, goesWrong("fail", "a-0")},
	{"a group fails and is torn down", deletePod, nil, goesWrong("fail", "a-0")},
}

// scenario has something else happen to a set that is in a situation.
func (d *disturbance) scenario(situation string) Scenario {
	s := Scenario{Name: situation + ", " + d.name, Steps: at(setFor(situation))}
	if d.before != nil {
		s.Steps = append(s.Steps, d.before)
	}
	s.Steps = append(s.Steps, func(w *World) {
		if begin := busy[situation]; begin != nil {
			begin(w)
		}
		d.do(w)
	})
	return s
}

// TestBusy plays scenarios in which something else happens to a set that is busy,
// with a crash before, a crash after and a lost answer at each of the writes that
// this leads to. The end must be that of the run without (L3).
func TestBusy(t *testing.T) {
	t.Run("scenarios", func(t *testing.T) {
		for _, situation := range situations {
			for _, d := range disturbances {
				s := d.scenario(situation)
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					exhaustWrite(t, s, d.write)
				})
			}
		}
	})
	visited.done(t, busyRuns)
}

func exhaustWrite(t *testing.T, s Scenario, write string) {
	want := play(s, -1, noFault, 0, false)
	if len(want.broken) > 0 {
		t.Fatalf("without faults: %v\n%s", want.broken, strings.Join(play(s, -1, noFault, 0, true).story, "\n"))
	}
	for n := want.first; n < want.writes; n++ {
		if want.kinds[n] != write || skips(n) {
			continue
		}
		for _, fault := range []Fault{crashBefore, crashAfter, unanswered} {
			got := play(s, n, fault, 0, false)
			visited.take(got.reached)
			visited.tried(struckWrites)
			if len(got.broken) > 0 || got.state != want.state || got.tally != want.tally {
				t.Fatalf("%s at write %d: %v\nL3: ends as\n%s\nnot as\n%s\nmade\n%s\nnot\n%s\nstory:\n%s", fault, n, got.broken, got.state, want.state,
					difference(got.tally, want.tally), difference(want.tally, got.tally), strings.Join(play(s, n, fault, 0, true).story, "\n"))
			}
		}
	}
}

func keyIn(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: theKey.Namespace, Name: name}
}

func (w *World) deleteService(name string) {
	w.note("user deletes service %s", name)
	_ = remove(w.server, w.server.services, keyIn(name), request{by: invariant.User})
}

func (w *World) disown(pod string) {
	w.note("user takes the owner off pod %s", pod)
	orphan(w, w.server.pods, pod)
}

func (w *World) unlabel(pod string) {
	if w.pod(pod) != nil {
		w.strip(pod)
	}
}

func (w *World) disownService(name string) {
	w.note("user takes the owner off service %s", name)
	orphan(w, w.server.services, name)
}

func (w *World) disownRevisions() {
	w.note("user takes the owner off all revisions")
	for _, r := range w.server.revisions.list() {
		orphan(w, w.server.revisions, r.Name)
	}
}

func orphan[T object](w *World, t *table[T], name string) {
	_, _ = update(w.server, t, keyIn(name), request{by: invariant.User}, func(o T) error {
		o.SetOwnerReferences(nil)
		return nil
	})
}

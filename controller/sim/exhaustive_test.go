package sim

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

func apply(s *v1.LeaderWorkerSet) func(*World) { return func(w *World) { w.Apply(s) } }

func edit(what string, f ...func(*v1.LeaderWorkerSet)) func(*World) {
	return func(w *World) {
		w.Edit(what, func(s *v1.LeaderWorkerSet) {
			for _, f := range f {
				f(s)
			}
		})
	}
}

// goesWrong has a trouble of this name come upon a pod.
func goesWrong(what, pod string) func(*World) {
	return func(w *World) {
		for _, t := range troubles {
			if t.name == what {
				w.note("trouble: %s of %s", what, pod)
				if p := w.server.pods.items[types.NamespacedName{Namespace: theKey.Namespace, Name: pod}]; p != nil {
					t.do(w, p)
				}
			}
		}
	}
}

func deleteSet(how metav1.DeletionPropagation) func(*World) {
	return func(w *World) { w.DeleteSet(how) }
}

// at begins a scenario with a set that runs.
func at(s *v1.LeaderWorkerSet, steps ...func(*World)) []func(*World) {
	return append([]func(*World){apply(s)}, steps...)
}

var scenarios = []Scenario{
	{"create 3 groups of 3", at(newSet(3, 3))},
	{"create, leader first", at(newSet(2, 3, startup(v1.LeaderReadyStartupPolicy)))},
	{"create, a service per group", at(newSet(2, 2, subdomain(v1.SubdomainUniquePerReplica)))},
	{"scale 3, 1, 2", at(newSet(3, 2), edit("scale to 1", scale(1)), edit("scale to 2", scale(2)))},
	{"a worker restarts", at(newSet(2, 3), goesWrong("restart", "a-1-1"))},
	{"a leader fails", at(newSet(2, 3, startup(v1.LeaderReadyStartupPolicy)), goesWrong("fail", "a-0"))},
	{"a pod is evicted", at(newSet(2, 2), goesWrong("evict", "a-0-1"))},
	{"evicted within a budget", at(newSet(2, 2, annotate(v1.AnnotationDisruptionBudget, "1")), func(w *World) { _ = w.Evict(w.pod("a-0-1")) })},
	{"a budget, an update, and no budget", at(newSet(2, 2, annotate(v1.AnnotationDisruptionBudget, "1")), edit("image", image("v2")),
		edit("no budget", annotate(v1.AnnotationDisruptionBudget, "")))},
	{"a budget makes way for another", at(newSet(1, 2, annotate(v1.AnnotationDisruptionBudget, "1")), func(w *World) { w.rival(true) }, func(w *World) { w.rival(false) })},
	{"a pod is deleted", at(newSet(2, 2), func(w *World) { w.DeletePod("a-1") })},
	{"a pod fails, policy None", at(newSet(1, 3, restartPolicy(v1.NoneRestartPolicy)), goesWrong("fail", "a-0-1"))},
	{"two failures", at(newSet(1, 2), goesWrong("restart", "a-0-1"), goesWrong("fail", "a-0"))},
	{"a restart budget is spent, and a new revision", at(newSet(2, 2, maxGroupRestarts(0)), goesWrong("restart", "a-0-1"), edit("image", image("v2")))},
	{"a restart budget is spent, and reset", at(newSet(1, 2, maxGroupRestarts(1)), goesWrong("restart", "a-0-1"), goesWrong("fail", "a-0"),
		edit("recover", annotate(v1.AnnotationRecover, "true")))},
	{"restarts before and after the start", at(newSet(1, 3, restartPolicy(v1.RecreateGroupAfterStart)), goesWrong("restart", "a-0-1"), goesWrong("vanish", "a-0"))},
	{"update", at(newSet(2, 2), edit("image", image("v2")))},
	{"update with surge", at(newSet(2, 2, budget(0, 1, 0)), edit("image", image("v2")))},
	{"update with a new size", at(newSet(2, 2), edit("size and image", image("v2"), resize(3)))},
	{"update below a partition", at(newSet(3, 1), edit("image", image("v2"), budget(1, 0, 1)), edit("partition 0", budget(1, 0, 0)))},
	{"update and back", at(newSet(2, 2), edit("image", image("bad")), edit("back", image("v1")))},
	{"delete in the background", at(newSet(2, 2), deleteSet(metav1.DeletePropagationBackground))},
	{"delete in the foreground", at(newSet(2, 2), deleteSet(metav1.DeletePropagationForeground))},
	{"orphan and adopt", at(newSet(2, 2), deleteSet(metav1.DeletePropagationOrphan), apply(newSet(2, 2)))},
	{"gangs, a failure and an update with a new size", at(newSet(1, 2, gangs(gang)), goesWrong("restart", "a-0-1"), edit("size", resize(3)))},
	{"gangs with surge, then in a rack, then none", at(newSet(1, 2, gangs(gang), budget(0, 1, 0)), edit("image", image("v2")),
		edit("rack and image", gangs(gangInRack), image("v3")), edit("no gangs", gangs(nil), image("v4")))},
	{"gangs are scaled and deleted", at(newSet(2, 2, gangs(gang)), edit("scale to 0", scale(0)), edit("scale to 2", scale(2)), deleteSet(metav1.DeletePropagationBackground))},
	{"Volcano, a failure and an update with a new size", at(newSet(1, 2, placedByVolcano(true)), goesWrong("restart", "a-0-1"), edit("size", resize(3)))},
	{"Volcano with surge, leader first, another queue", at(newSet(1, 2, placedByVolcano(true), budget(0, 1, 0)), edit("image", image("v2")),
		edit("leader first", startup(v1.LeaderReadyStartupPolicy)), edit("queue", annotate(v1.AnnotationVolcanoQueue, "q")))},
	{"Volcano, then none, then native gangs", at(newSet(1, 2, placedByVolcano(true)), edit("no Volcano", placedByVolcano(false)), edit("gangs", gangs(gang), image("v2")))},
	{"Volcano, scaled and deleted", at(newSet(2, 2, placedByVolcano(true)), edit("scale to 0", scale(0)), edit("scale to 2", scale(2)), deleteSet(metav1.DeletePropagationBackground))},
	{"Volcano, orphaned and adopted", at(newSet(1, 2, placedByVolcano(true)), deleteSet(metav1.DeletePropagationOrphan), apply(newSet(1, 2, placedByVolcano(true))), goesWrong("restart", "a-0-1"))},
	{"delete and create at once", at(newSet(2, 2), func(w *World) {
		w.DeleteSet(metav1.DeletePropagationBackground)
		w.Apply(newSet(2, 2))
	})},
}

// TestExhaustive plays each scenario with a crash before, a crash after, a lost
// answer and an error at each write; after a crash the next controller acts on caches
// that are so many writes behind. The end and what was created and deleted must
// be those of the run without (L3). Where a scenario goes on after its set has
// come up, the faults begin there.
func TestExhaustive(t *testing.T) {
	behinds := []int{0, 4}
	if *flagDeep {
		behinds = []int{0, 1, 2, 4, 8, 15, 30}
	}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				exhaust(t, s, behinds)
			})
		}
	})
	visited.done(t, exhaustiveRuns)
}

func exhaust(t *testing.T, s Scenario, behinds []int) {
	want := play(s, -1, noFault, 0, false)
	if len(want.broken) > 0 {
		t.Fatalf("without faults: %v\n%s", want.broken, strings.Join(play(s, -1, noFault, 0, true).story, "\n"))
	}
	faults := []Fault{crashBefore, crashAfter, unanswered, conflict}
	if *flagDeep {
		faults = append(slices.Clone(crashes), failures...)
	}
	first := 0
	if len(s.Steps) > 1 && !*flagDeep {
		first = want.first
	}
	for n := first; n < want.writes; n++ {
		if skips(n) {
			continue
		}
		for _, fault := range faults {
			for _, behind := range behinds {
				if fault != crashBefore && fault != crashAfter && behind > 0 {
					continue
				}
				got := play(s, n, fault, behind, false)
				visited.take(got.reached)
				visited.tried(struckWrites)
				if len(got.broken) == 0 && got.state == want.state && got.tally == want.tally {
					continue
				}
				t.Errorf("%s at write %d (%s), then caches %d behind: %v", fault, n, got.what, behind, got.broken)
				if got.state != want.state {
					t.Errorf("L3: ends as\n%s\nnot as\n%s", got.state, want.state)
				} else if got.tally != want.tally {
					t.Errorf("L3: made\n%s\nnot\n%s", difference(got.tally, want.tally), difference(want.tally, got.tally))
				}
				t.Fatalf("story:\n%s", strings.Join(play(s, n, fault, behind, true).story, "\n"))
			}
		}
	}
}

// difference are the lines of a that b lacks.
func difference(a, b string) string {
	var out []string
	for _, line := range strings.Split(a, "\n") {
		if !strings.Contains("\n"+b+"\n", "\n"+line+"\n") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

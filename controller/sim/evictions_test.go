package sim

import (
	"fmt"
	"testing"
	"time"

	v1 "lws-controller/api/v1"
)

func guarded(groups string) func(*v1.LeaderWorkerSet) {
	return annotate(v1.AnnotationDisruptionBudget, groups)
}

// A drain ends, and takes each group that has a pod there once, one after the other,
// with two writes of the budget for each.
func TestDrain(t *testing.T) {
	w := runs(t, newSet(4, 3, guarded("1")))
	w.addNode("rack-1", plenty)
	w.addNode("rack-2", plenty)
	before := w.server.budgets.items[theKey].Generation
	w.Drain("node-1")
	for i := 0; w.drainOne(); i++ {
		w.pass(time.Second)
		if i > 200 {
			t.Fatalf("the drain does not end:\n%s", w.state())
		}
	}
	w.endDrain()
	w.settle()
	w.atRest()
	for i := range 4 {
		if p := w.pod(fmt.Sprint("a-", i)); p == nil || incarnationOf(p) != "2" {
			t.Errorf("leader of group %d is %+v", i, p)
		}
	}
	if n := w.server.budgets.items[theKey].Generation - before; n > 2*4 {
		t.Errorf("the budget was written %d times for 4 groups", n)
	}
}

// Groups that go down and come back all at once are no reason to write the budget for
// each of them.
func TestBudgetInAStorm(t *testing.T) {
	w := runs(t, newSet(30, 2, guarded("1")))
	before := w.server.budgets.items[theKey].Generation
	for i := range 30 {
		goesWrong("fail", fmt.Sprintf("a-%d-1", i))(w)
		w.pass(10 * time.Millisecond)
	}
	w.settle()
	w.atRest()
	if n := w.server.budgets.items[theKey].Generation - before; n > 6 {
		t.Errorf("the budget was written %d times for 30 groups that fail within half a second", n)
	}
}

// A set of one group that may be taken down loses its budget's pods, and not its budget.
func TestBudgetOfNothing(t *testing.T) {
	w := runs(t, newSet(1, 2, guarded("1")))
	uid := w.server.budgets.items[theKey].UID
	w.Edit("scale to 0", scale(0))
	w.settle()
	w.atRest()
	if b := w.server.budgets.items[theKey]; b == nil || b.UID != uid || len(b.Spec.Selector.MatchExpressions[0].Values) > 0 {
		t.Errorf("the budget of no group is %+v", b)
	}
	w.Edit("scale to 2", scale(2))
	w.settle()
	w.atRest()
	if b := w.server.budgets.items[theKey]; b.UID != uid || b.Spec.MinAvailable.IntVal != 3 {
		t.Errorf("the budget of two groups is %+v", b)
	}
}

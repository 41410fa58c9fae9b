package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lws-controller/e2e/harness"
)

// row is a set with its budgets, and what these come to.
type row struct {
	replicas           int32
	surge, unavailable string
	// least is how many groups must be Ready at every instant of an update, most
	// how many may be alive.
	least, most int32
}

// The budgets of the contract, in groups, at 1, 2, 3 and 10 replicas: surge is
// rounded up and at most the replicas, unavailable is rounded down.
var (
	counts = []int32{1, 2, 3, 10}
	surges = map[string][]int32{
		"0": {0, 0, 0, 0}, "1": {1, 1, 1, 1}, "2": {1, 2, 2, 2}, "50%": {1, 1, 2, 5},
	}
	unavailables = map[string][]int32{
		"0": {0, 0, 0, 0}, "1": {1, 1, 1, 1}, "30%": {0, 0, 0, 3}, "100%": {1, 2, 3, 10},
	}
)

// rows are all combinations but those that the API refuses: both literally 0.
func rows() []row {
	var out []row
	for i, n := range counts {
		for surge, groups := range surges {
			for unavailable, may := range unavailables {
				s, u := groups[i], may[i]
				switch {
				case surge == "0" && unavailable == "0":
					continue
				case s == 0 && u == 0:
					u = 1 // or nothing would ever be updated
				case s > 0:
					u = min(u, n-1) // a spare group is not for taking the last one down
				}
				out = append(out, row{n, surge, unavailable, n - u, n + s})
			}
		}
	}
	return out
}

func (r row) name() string {
	return fmt.Sprintf("r%d-s%s-u%s", r.replicas, strings.TrimSuffix(r.surge, "%")+percent(r.surge), strings.TrimSuffix(r.unavailable, "%")+percent(r.unavailable))
}

func percent(s string) string {
	if strings.HasSuffix(s, "%") {
		return "pct"
	}
	return ""
}

// TestBudgets rolls a set for each combination of budgets, all at once, and looks at
// every instant of it in the recorded history.
func TestBudgets(t *testing.T) {
	rows := rows()
	if len(rows) != 60 {
		t.Fatalf("%d combinations, want 60", len(rows))
	}
	sets := make([]*harness.Set, len(rows))
	for i, r := range rows {
		// Groups of one pod and of two, in turn.
		set := harness.NewSet(env.Cluster.NamespaceT(t, r.name()), "web", harness.Replicas(r.replicas), harness.Size(int32(1+i%2)), budgets(r.surge, r.unavailable))
		sets[i] = env.Create(t, set)
	}
	from := make([]int64, len(rows))
	for i := range rows {
		env.WaitAvailable(t, sets[i])
	}
	for i := range rows {
		sets[i] = env.Update(t, sets[i], newTemplate)
		from[i] = version(t, sets[i])
	}
	for i := range rows {
		waitRolled(t, sets[i])
	}
	verdict := env.Verdict(t, "")
	t.Log(verdict)
	for i, r := range rows {
		counted := verdict.Counted(sets[i].Namespace)
		for _, number := range []string{"S7", "S8"} {
			if counted[number] == 0 {
				t.Errorf("%s: %s was never looked at", r.name(), number)
			}
		}
		moments := verdict.Since(sets[i].UID, from[i])
		if len(moments) < 2 {
			t.Errorf("%s: nothing happened: %v", r.name(), moments)
		}
		for _, m := range moments {
			if m.Ready < r.least || m.Alive > r.most {
				t.Errorf("%s: %d groups Ready, %d alive at resourceVersion %d; want at least %d and at most %d", r.name(), m.Ready, m.Alive, m.Version, r.least, r.most)
				break
			}
		}
		if err := verdict.AtRest(sets[i].Namespace); err != nil {
			t.Errorf("%s: %v", r.name(), err)
		}
	}
}

func version(t *testing.T, set *harness.Set) int64 {
	t.Helper()
	n, err := strconv.ParseInt(set.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestShrunk: percentages that came to something before a set was shrunk, and come
// to nothing now, do not hold up its update.
func TestShrunk(t *testing.T) {
	t.Parallel()
	for _, surge := range []string{"0", "10%"} {
		for _, unavailable := range []string{"30%", "10%"} {
			r := row{replicas: 10, surge: surge, unavailable: unavailable}
			t.Run(r.name(), func(t *testing.T) {
				t.Parallel()
				set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(r.replicas), harness.Size(2), budgets(surge, unavailable)))
				env.WaitAvailable(t, set)
				env.Scale(t, set, 2)
				env.WaitAvailable(t, set)
				env.Update(t, set, newTemplate)
				waitRolled(t, set)
				env.AtRest(t, set.Namespace)
			})
			t.Run("midway-"+r.name(), func(t *testing.T) {
				t.Parallel()
				set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(r.replicas), harness.Size(2), budgets(surge, unavailable)))
				env.WaitAvailable(t, set)
				env.Update(t, set, newTemplate)
				harness.WaitFor(t, "the first updated group", harness.DefaultTimeout, func() (bool, string) {
					s := env.Get(t, set)
					return s.Status.UpdatedReplicas > 0, env.Describe(t, s)
				})
				env.Scale(t, set, 2)
				waitRolled(t, set)
				env.AtRest(t, set.Namespace)
			})
		}
	}
}

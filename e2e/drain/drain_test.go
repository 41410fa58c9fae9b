package drain

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestDrain: a drain of a node that holds a pod of each group takes one group after
// the other, each once, and the budget is written at most twice for each.
func TestDrain(t *testing.T) {
	t.Parallel()
	set := started(t, 3, budget("1"))
	before := waitBudget(t, set, 9, 1)
	drain(t, set, "a")
	set = env.WaitAvailable(t, set)
	after := waitBudget(t, set, 9, 1)
	p := pastOf(t, set)
	if p.mostDown != 1 || p.evicted != 1 || p.disrupted != 3 {
		t.Errorf("%+v: want 3 groups disrupted, one at a time", p)
	}
	if n := after.Generation - before.Generation; n > 2*3 {
		t.Errorf("the budget was written %d times for 3 groups", n)
	}
	if restarts := env.Get(t, set).Status.GroupRestarts; len(restarts) > 0 {
		t.Errorf("restarts are counted: %+v", restarts)
	}
	env.AtRest(t, set.Namespace)
}

// TestTwoNodes: two drains at once take no more groups at a time than one, with
// annotation values 1 and 2.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	for _, groups := range []string{"1", "2"} {
		t.Run(groups, func(t *testing.T) {
			t.Parallel()
			// So slow that the second drain comes back before the first group does.
			set := started(t, 4, budget(groups), harness.Worker(harness.Annotated(cluster.AnnotationReadyAfter, "6s")))
			waitBudget(t, set, 12, 1)
			var drains sync.WaitGroup
			for _, node := range []string{"a", "b"} {
				drains.Go(func() { drain(t, set, node) })
			}
			drains.Wait()
			set = env.WaitAvailable(t, set)
			if p, most := pastOf(t, set), int(groups[0]-'0'); p.mostDown > most || p.evicted != most || p.disrupted < 4 {
				t.Errorf("%+v: want %s groups at a time, each at least once", p, groups)
			}
		})
	}
}

// TestDrainDuringUpdate: a drain and an update together take as many groups as the
// larger of their budgets.
func TestDrainDuringUpdate(t *testing.T) {
	t.Parallel()
	set := started(t, 4, budget("1"))
	waitBudget(t, set, 12, 1)
	env.Update(t, set, func(s *harness.Set) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
	})
	drain(t, set, "a")
	harness.WaitFor(t, "the update", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.UpdatedReplicas == 4 && s.Status.ReadyReplicas == 4, env.Describe(t, s)
	})
	waitBudget(t, set, 12, 1)
	if p := pastOf(t, set); p.mostDown != 1 {
		t.Errorf("%+v: want one group at a time", p)
	}
}

// TestNone: where pods are replaced one by one, they are evicted one by one.
func TestNone(t *testing.T) {
	t.Parallel()
	set := started(t, 3, budget("2"), harness.RestartPolicy(lwsv1.NoneRestartPolicy))
	waitBudget(t, set, 9, 1)
	before := map[string]bool{}
	for _, p := range env.Pods(t, set) {
		before[string(p.UID)] = true
	}
	drain(t, set, "a")
	set = env.WaitAvailable(t, set)
	waitBudget(t, set, 9, 1)
	fresh := 0
	for _, p := range env.Pods(t, set) {
		if !before[string(p.UID)] {
			fresh++
		}
	}
	if p := pastOf(t, set); p.mostDown != 1 || fresh != 3 {
		t.Errorf("%+v, %d pods are new: want 3, one at a time", p, fresh)
	}
}

// TestAnnotation: the budget comes and goes with the annotation, and with the set.
func TestAnnotation(t *testing.T) {
	t.Parallel()
	set := started(t, 2)
	waitNoBudget(t, set)
	env.Update(t, set, budget("1"))
	b := waitBudget(t, set, 6, 1)
	if !metav1.IsControlledBy(b, set) || *b.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow || b.Labels[lwsv1.LabelName] != set.Name {
		t.Errorf("budget %+v", b)
	}
	env.WaitEvent(t, set, corev1.EventTypeNormal, "CreatedDisruptionBudget", "web")
	env.Update(t, set, func(s *harness.Set) { s.Annotations = nil })
	waitNoBudget(t, set)
	env.WaitEvent(t, set, corev1.EventTypeNormal, "DeletedDisruptionBudget", "web")
	env.Update(t, set, budget("1"))
	waitBudget(t, set, 6, 1)
	if err := env.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitNoBudget(t, set)
}

// TestUsersBudget: a budget that somebody else keeps for the pods is named and never
// touched, and ours is there only while it is not.
func TestUsersBudget(t *testing.T) {
	t.Parallel()
	set := started(t, 2, budget("1"))
	waitBudget(t, set, 6, 1)
	budgets, one := env.Kube.PolicyV1().PodDisruptionBudgets(set.Namespace), intstr.FromInt32(1)
	users := func(name string) *policyv1.PodDisruptionBudget {
		b, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{lwsv1.LabelName: set.Name}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	remove := func(name string) {
		if err := budgets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	users("of-the-user")
	env.WaitEvent(t, set, corev1.EventTypeWarning, "DisruptionBudgetInTheWay", "of-the-user")
	waitNoBudget(t, set)
	remove("of-the-user")
	waitBudget(t, set, 6, 1)

	env.Update(t, set, func(s *harness.Set) { s.Annotations = nil })
	waitNoBudget(t, set)
	theirs := users(set.Name)
	env.Update(t, set, budget("1"))
	env.WaitEvent(t, set, corev1.EventTypeWarning, "NameTaken", "PodDisruptionBudget web")
	if b, err := budgets.Get(t.Context(), set.Name, metav1.GetOptions{}); err != nil || b.UID != theirs.UID || b.Generation != 1 || len(b.OwnerReferences) > 0 {
		t.Errorf("the user's budget is now %+v, %v", b, err)
	}
	remove(set.Name)
	b := waitBudget(t, set, 6, 1)
	if !metav1.IsControlledBy(b, set) {
		t.Errorf("budget %+v", b)
	}
}

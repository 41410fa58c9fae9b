package rollout

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	// Hundreds of pods are rolled: at their own limits scheduler and collector would
	// be what takes time.
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// budgets sets maxSurge and maxUnavailable, like "1" or "30%".
func budgets(surge, unavailable string) harness.Option {
	return func(set *harness.Set) {
		set.Spec.RolloutStrategy = lwsv1.RolloutStrategy{
			Type: lwsv1.RollingUpdateStrategyType,
			RollingUpdateConfiguration: &lwsv1.RollingUpdateConfiguration{
				MaxSurge: intstr.Parse(surge), MaxUnavailable: intstr.Parse(unavailable),
			},
		}
	}
}

// newTemplate is a change that rolls all groups.
func newTemplate(set *harness.Set) {
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
}

// waitRolled waits until all groups of the set are updated and Ready, and nothing
// else of it is left.
func waitRolled(t *testing.T, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "the update of "+set.Namespace+" to end", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		pods := env.Pods(t, s)
		done := s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == *s.Spec.Replicas &&
			meta.IsStatusConditionTrue(s.Status.Conditions, lwsv1.ConditionAvailable) &&
			len(pods) == int(*s.Spec.Replicas**s.Spec.LeaderWorkerTemplate.Size)
		for _, p := range pods {
			done = done && p.Spec.Containers[0].Image == "example.com/worker:2"
		}
		return done, env.Describe(t, s)
	})
}

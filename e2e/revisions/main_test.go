package revisions

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	// With its own limits the garbage collector would be what takes time.
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// settled is how long to look for what must not happen: the controller acts within
// milliseconds.
const settled = 1500 * time.Millisecond

// available creates a set and waits until it is Available.
func available(t *testing.T, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.WaitAvailable(t, env.Create(t, harness.NewSet(env.Namespace(t), "web", options...)))
}

// change changes a set, in one write.
func change(t *testing.T, set *harness.Set, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.Update(t, set, func(s *harness.Set) {
		for _, o := range options {
			o(s)
		}
	})
}

// rolling sets maxUnavailable, maxSurge and the partition.
func rolling(unavailable, surge, partition int32) harness.Option {
	return func(set *harness.Set) {
		set.Spec.RolloutStrategy = lwsv1.RolloutStrategy{
			Type: lwsv1.RollingUpdateStrategyType,
			RollingUpdateConfiguration: &lwsv1.RollingUpdateConfiguration{
				MaxUnavailable: intstr.FromInt32(unavailable), MaxSurge: intstr.FromInt32(surge), Partition: &partition,
			},
		}
	}
}

// image gives the worker template an image of this tag. held pods stay Pending until
// they are let go.
func image(tag string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Image = "example.com/worker:" + tag
		delete(t.Annotations, cluster.AnnotationHold)
	})
}

var held = harness.Worker(harness.Annotated(cluster.AnnotationHold, ""))

// letGo lets held pods go, also those still to come, until done.
func letGo(t *testing.T, set *harness.Set, what string, done func(*harness.Set) bool) {
	t.Helper()
	harness.WaitFor(t, what, harness.DefaultTimeout, func() (bool, string) {
		for _, p := range env.Pods(t, set) {
			if _, is := p.Annotations[cluster.AnnotationHold]; is {
				env.Annotate(t, set.Namespace, p.Name, cluster.AnnotationHold, nil)
			}
		}
		s := env.Get(t, set)
		return done(s), env.Describe(t, s)
	})
}

// rolled says that all groups have the present spec and are Ready, and no other group
// is there.
func rolled(s *harness.Set) bool {
	n := *s.Spec.Replicas
	return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == n && s.Status.Replicas == n && s.Status.ReadyReplicas == n &&
		s.Status.CurrentRevision == s.Status.UpdateRevision && meta.IsStatusConditionTrue(s.Status.Conditions, lwsv1.ConditionAvailable)
}

// waitRolled waits until a set has rolled, and checks it at rest.
func waitRolled(t *testing.T, set *harness.Set) {
	t.Helper()
	letGo(t, set, "the update to end", rolled)
	env.AtRest(t, set.Namespace)
}

// tags are the tags of the images of the groups' leaders, by index, "-" where there is
// none.
func tags(t *testing.T, set *harness.Set) string {
	t.Helper()
	found := map[int]string{}
	for _, p := range env.Pods(t, set) {
		if index, err := strconv.Atoi(strings.TrimPrefix(p.Name, set.Name+"-")); err == nil {
			_, found[index], _ = strings.Cut(p.Spec.Containers[0].Image, ":")
		}
	}
	last := -1
	for _, index := range slices.Collect(maps.Keys(found)) {
		last = max(last, index)
	}
	out := make([]string, last+1)
	for i := range out {
		out[i] = "-"
		if tag, is := found[i]; is {
			out[i] = tag
		}
	}
	return strings.Join(out, " ")
}

// waitTags waits until the images of the groups are these.
func waitTags(t *testing.T, set *harness.Set, want string) {
	t.Helper()
	harness.WaitFor(t, "images "+want, harness.DefaultTimeout, func() (bool, string) {
		got := tags(t, set)
		return got == want, got + "\n" + env.Describe(t, env.Get(t, set))
	})
}

// keepsTags looks for a while that the images of the groups are these.
func keepsTags(t *testing.T, set *harness.Set, want string) {
	t.Helper()
	waitTags(t, set, want)
	for end := time.Now().Add(settled); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got := tags(t, set); got != want {
			t.Fatalf("images are %s, want %s\n%s", got, want, env.Describe(t, env.Get(t, set)))
		}
	}
}

// leaders are the UIDs of the leaders of these groups.
func leaders(t *testing.T, set *harness.Set, indexes ...int) map[int]types.UID {
	t.Helper()
	out := map[int]types.UID{}
	for _, i := range indexes {
		out[i] = env.Pod(t, set.Namespace, fmt.Sprintf("%s-%d", set.Name, i)).UID
	}
	return out
}

// untouched fails the test unless these groups have the leaders they had.
func untouched(t *testing.T, set *harness.Set, before map[int]types.UID) {
	t.Helper()
	after := leaders(t, set, slices.Collect(maps.Keys(before))...)
	if !maps.Equal(before, after) {
		t.Errorf("groups were touched: leaders %v, before %v\n%s", after, before, env.Describe(t, env.Get(t, set)))
	}
}

// incarnations are those of the groups, by index.
func incarnations(t *testing.T, set *harness.Set) string {
	t.Helper()
	var out []string
	for i := range int(*set.Spec.Replicas) {
		out = append(out, env.Pod(t, set.Namespace, fmt.Sprintf("%s-%d", set.Name, i)).Annotations[lwsv1.AnnotationIncarnation])
	}
	return strings.Join(out, " ")
}

package page

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: 6, RaisedLimits: true}, &env))
}

const (
	// small is how many sets there are besides the large one.
	small = 49
	// groups is how many the large one has; outdated of them have yet to be updated when
	// the rollout is held up, which takes down no more than unavailable.
	groups      = 300
	outdated    = 180
	unavailable = 20
)

func image(tag string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "example.com/worker:" + tag })
}

func annotated(key, value string) harness.Option {
	return harness.Worker(harness.Annotated(key, value))
}

func maxGroupRestarts(n int32) harness.Option {
	return func(set *harness.Set) { set.Spec.LeaderWorkerTemplate.MaxGroupRestarts = &n }
}

// fleet makes the small sets: most are well, one cannot start, one has failed, one is
// paused.
func fleet(t *testing.T, ns string) {
	t.Helper()
	for i := range small {
		options := []harness.Option{harness.Replicas(int32(1 + i%4)), harness.Size(int32(1 + i%3))}
		name := fmt.Sprintf("model-%02d", i)
		switch i {
		case 7:
			name = "cannot-start"
			options = append(options, annotated(cluster.AnnotationHold, ""))
		case 23:
			name = "has-failed"
			options = append(options, maxGroupRestarts(0), annotated(cluster.AnnotationFailAfter, "1s"))
		case 31:
			name = "paused"
			options = append(options, harness.Annotation(lwsv1.AnnotationPaused, "true"))
		}
		env.Create(t, harness.NewSet(ns, name, options...))
	}
}

// phases counts the groups of a set by phase, and those at the update revision.
func phases(t *testing.T, set *harness.Set) (of map[group.Phase]int, updated int) {
	t.Helper()
	of = map[group.Phase]int{}
	for _, s := range env.Controller.Groups(t) {
		if s.Namespace != set.Namespace || s.Name != set.Name {
			continue
		}
		for _, g := range s.Groups {
			of[g.Phase]++
			if g.Revision == s.UpdateRevision {
				updated++
			}
		}
	}
	return of, updated
}

// inTheMiddle makes the large set and takes it to where the pages look at it: most of its
// groups updated, some torn down whose pods do not go, some failed and unready.
func inTheMiddle(t *testing.T, ns string) *harness.Set {
	t.Helper()
	set := env.Create(t, harness.NewSet(ns, "large-language-model", harness.Replicas(groups), harness.Size(2), image("1"), maxGroupRestarts(1)))
	env.WaitAvailable(t, set)
	set = env.Update(t, set, func(s *harness.Set) {
		image("2")(s)
		rolling(outdated, 60)(s)
	})
	harness.WaitFor(t, "the first part of the rollout", harness.DefaultTimeout, func() (bool, string) {
		of, updated := phases(t, set)
		return of[group.Ready] == groups && updated == groups-outdated, fmt.Sprint(of, updated)
	})
	// Group 250 is recreated once, and 251 then fails again.
	for _, index := range []int{250, 251} {
		env.Annotate(t, ns, fmt.Sprintf("%s-%d-1", set.Name, index), cluster.AnnotationFailAfter, new("1ms"))
	}
	waitRecreated(t, set, 250, 251)
	env.Annotate(t, ns, set.Name+"-251-1", cluster.AnnotationFailAfter, new("1ms"))
	env.Annotate(t, ns, set.Name+"-260", cluster.AnnotationUnready, new(""))
	env.Annotate(t, ns, set.Name+"-261-1", cluster.AnnotationUnready, new(""))
	// The pods of the next groups will not go.
	var hanging sync.WaitGroup
	for i := outdated - unavailable; i < outdated; i++ {
		hanging.Go(func() { env.Annotate(t, ns, fmt.Sprintf("%s-%d", set.Name, i), cluster.AnnotationHang, new("")) })
	}
	hanging.Wait()
	harness.WaitFor(t, "the failures", harness.DefaultTimeout, func() (bool, string) {
		of, _ := phases(t, set)
		return of[group.Failed] == 1 && of[group.Pending] == 1 && of[group.WorkersStarting] == 1, fmt.Sprint(of)
	})
	set = env.Update(t, set, rolling(0, unavailable))
	harness.WaitFor(t, "the second part of the rollout", harness.DefaultTimeout, func() (bool, string) {
		of, updated := phases(t, set)
		return of[group.Recycling] == unavailable-3 && updated == groups-outdated, fmt.Sprint(of, updated)
	})
	return set
}

// rolling keeps groups below the partition back, and lets so many be unavailable.
func rolling(partition int32, unavailable int) harness.Option {
	return func(s *harness.Set) {
		s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{Partition: &partition, MaxUnavailable: intstr.FromInt(unavailable)}
	}
}

// waitRecreated waits until updated groups were recreated and are Ready.
func waitRecreated(t *testing.T, set *harness.Set, indices ...int) {
	t.Helper()
	harness.WaitFor(t, fmt.Sprintf("the recreation of groups %v", indices), time.Minute, func() (bool, string) {
		for _, s := range env.Controller.Groups(t) {
			if s.Name != set.Name {
				continue
			}
			for _, index := range indices {
				if g := s.Groups[index]; g.Incarnation < 3 || g.Phase != group.Ready {
					return false, fmt.Sprintf("%+v", g)
				}
			}
			return true, ""
		}
		return false, "the set is not there"
	})
}

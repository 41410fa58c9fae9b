package steer

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// available creates a set, waits until it is Available, and returns it.
func available(t *testing.T, ns string, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", options...)))
}

// annotate sets an annotation of the set; no value takes it off.
func annotate(key string, value ...string) harness.Option {
	return func(s *harness.Set) {
		if len(value) == 0 {
			delete(s.Annotations, key)
			return
		}
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = value[0]
	}
}

// image changes the template.
func image(tag string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "example.com/worker:" + tag })
}

// change changes the set in one write.
func change(t *testing.T, set *harness.Set, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.Update(t, set, func(s *harness.Set) {
		for _, o := range options {
			o(s)
		}
	})
}

// groups are the pods of a set by group, those being deleted too.
func groups(t *testing.T, set *harness.Set) map[string][]corev1.Pod {
	t.Helper()
	out := map[string][]corev1.Pod{}
	for _, p := range env.Pods(t, set) {
		index := p.Labels[lwsv1.LabelGroupIndex]
		out[index] = append(out[index], p)
	}
	return out
}

// tags shows the image tag of each group in the order of the indices, like
// "0:1 1:2"; a group of several shows all, one being deleted a minus.
func tags(t *testing.T, set *harness.Set) string {
	t.Helper()
	all := groups(t, set)
	var out []string
	for _, index := range slices.Sorted(maps.Keys(all)) {
		found := map[string]bool{}
		for _, p := range all[index] {
			_, tag, _ := strings.Cut(p.Spec.Containers[0].Image, ":")
			if p.DeletionTimestamp != nil {
				tag = "-"
			}
			found[tag] = true
		}
		out = append(out, index+":"+strings.Join(slices.Sorted(maps.Keys(found)), "+"))
	}
	return strings.Join(out, " ")
}

// waitTags waits until the set is at rest with these tags.
func waitTags(t *testing.T, set *harness.Set, want string) *harness.Set {
	t.Helper()
	harness.WaitFor(t, "the groups to be "+want, harness.DefaultTimeout, func() (bool, string) {
		got := tags(t, set)
		return got == want, got + "\n" + env.Describe(t, env.Get(t, set))
	})
	return env.WaitAvailable(t, set)
}

// leaders are the UIDs of the leaders by name.
func leaders(t *testing.T, set *harness.Set) map[string]types.UID {
	t.Helper()
	out := map[string]types.UID{}
	for _, p := range env.Pods(t, set) {
		if p.Labels[lwsv1.LabelWorkerIndex] == "0" {
			out[p.Name] = p.UID
		}
	}
	return out
}

// sameLeaders fails the test unless all leaders but those named are the same as
// before, and those named are others.
func sameLeaders(t *testing.T, set *harness.Set, before map[string]types.UID, but ...string) {
	t.Helper()
	after := leaders(t, set)
	for name, uid := range before {
		if is := after[name] == uid; is == slices.Contains(but, name) {
			t.Errorf("leader %s is the same as before: %t", name, is)
		}
	}
}

// lowest watches the set until the function that it returns is called, which tells
// the lowest number of Ready groups that it saw.
func lowest(t *testing.T, set *harness.Set) func() int {
	t.Helper()
	done, found := make(chan struct{}), make(chan int)
	go func() {
		least := 1 << 30
		for {
			select {
			case <-done:
				found <- least
				return
			case <-time.After(20 * time.Millisecond):
				least = min(least, ready(t, set))
			}
		}
	}()
	return func() int {
		close(done)
		return <-found
	}
}

// ready counts the groups whose pods all are Ready and stay.
func ready(t *testing.T, set *harness.Set) (n int) {
	for _, pods := range groups(t, set) {
		if int32(len(pods)) >= *set.Spec.LeaderWorkerTemplate.Size && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			return p.DeletionTimestamp != nil || !group.ObservePod(&p, 0).Ready
		}) {
			n++
		}
	}
	return n
}

// settled is how long to look for what must not happen.
const settled = 1500 * time.Millisecond

// quiet fails the test if the controller writes anything about the namespace for a
// while.
func quiet(t *testing.T, ns string) {
	t.Helper()
	time.Sleep(settled)
	since := time.Now()
	time.Sleep(settled)
	if writes := env.Writes(t, ns, since); len(writes) > 0 {
		t.Errorf("nothing happens, but the controller writes:\n%s", writes)
	}
}

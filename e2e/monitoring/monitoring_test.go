package monitoring

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// image changes the template.
func image(tag string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "example.com/worker:" + tag })
}

// behaves has the pods of the template do something; none: they behave well.
func behaves(annotation, value string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) {
		t.Annotations = nil
		if annotation != "" {
			t.Annotations = map[string]string{annotation: value}
		}
	})
}

func change(t *testing.T, set *harness.Set, options ...harness.Option) *harness.Set {
	t.Helper()
	return env.Update(t, set, func(s *harness.Set) {
		for _, o := range options {
			o(s)
		}
	})
}

// of selects the series of a set.
func of(set *harness.Set) string { return fmt.Sprintf("namespace=%q,name=%q", set.Namespace, set.Name) }

// TestMonitoring is one story, since each part of it takes its time. Each alert fires
// for its own reason, and ends.
func TestMonitoring(t *testing.T) {
	p := startPrometheus(t)
	ns := env.Namespace(t)
	a := replica{"a", env.Controller}
	b := replica{"b", harness.StartController(t, env.Cluster, replicaFlags...)}
	b.Ready(t)
	p.targets(t, a, b)
	leads(t, p, "a")

	// The first one has too few requests. It makes groups, and is stopped in the middle of
	// their update.
	web := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(6), harness.Size(4), image("1")))
	p.fires(t, true, "LWSControllerThrottled")
	env.WaitAvailable(t, web)
	web = change(t, web, image("2"))
	waitValue(t, p, "lws_set_rollout_progress_ratio{"+of(web)+"}", func(v float64) bool { return v > 0 && v < 1 })
	a.Stop(t)
	p.targets(t, b)
	leads(t, p, "b")
	p.fires(t, false, "LWSControllerThrottled")

	stalled, taken, crash, stuck := troubles(t, ns)
	web = env.WaitAvailable(t, web)
	waitValue(t, p, "lws_rollout_duration_seconds_count", func(v float64) bool { return v == 1 })
	p.fires(t, true, "LWSRolloutStalled", of(stalled))
	p.fires(t, true, "LWSGroupStuck", of(stuck), `phase="Pending"`)
	p.fires(t, true, "LWSSetDegraded", of(taken))
	p.fires(t, true, "LWSGroupRecreatedTooOften", of(crash))
	compareTroubles(t, p, stalled, taken, crash)

	crash = change(t, crash, behaves("", ""))
	stalled = change(t, stalled, behaves("", ""))
	stuck = change(t, stuck, behaves("", ""))
	env.DeletePod(t, ns, "taken-1")
	taken = env.Scale(t, taken, 3) // a change of the spec has the name tried again at once
	p.fires(t, false, "LWSRolloutStalled")
	p.fires(t, false, "LWSSetDegraded")
	p.fires(t, false, "LWSGroupRecreatedTooOften")
	for _, set := range []*harness.Set{web, stalled, taken, crash, stuck} {
		env.WaitAvailable(t, set)
	}
	p.fires(t, false, "LWSGroupStuck")

	fence(t, p, web)

	b.Kill(t)
	p.fires(t, true, "LWSControllerNotLeading")
	// These are as they are released, without the race detector: what they take is measured.
	released := build(t)
	c := replica{"c", harness.StartProgram(t, env.Cluster, released, replicaFlags...)}
	c.Ready(t)
	p.targets(t, c)
	p.fires(t, false, "LWSControllerNotLeading")
	d := replica{"d", harness.StartProgram(t, env.Cluster, released, replicaFlags...)}
	d.Ready(t)
	p.targets(t, c, d)
	last := newLeader(t, p, ns)
	for _, set := range []*harness.Set{web, stalled, taken, crash, stuck, last} {
		compare(t, p, set)
	}
	allQueries(t, p)
	load(t, p, c, ns)
}

// leads waits until a replica leads, and no other.
func leads(t *testing.T, p *prometheus, name string) {
	t.Helper()
	waitValue(t, p, fmt.Sprintf(`sum(lws_controller_leading{replica=%q}) == 1 and sum(lws_controller_leading) == 1`, name), func(v float64) bool { return v == 1 })
}

func waitValue(t *testing.T, p *prometheus, expr string, is func(float64) bool) {
	t.Helper()
	harness.WaitFor(t, expr, alertTimeout, func() (bool, string) {
		v, some := p.value(t, expr)
		return some && is(v), fmt.Sprintf("%g, %t", v, some)
	})
}

// troubles makes a set whose update cannot go on, one whose second group waits for a
// name, one whose group fails a moment after it is Ready, and one whose group never is.
func troubles(t *testing.T, ns string) (stalled, taken, crash, stuck *harness.Set) {
	t.Helper()
	stuck = env.Create(t, harness.NewSet(ns, "stuck", behaves(cluster.AnnotationHold, "")))
	crash = env.Create(t, harness.NewSet(ns, "crash", harness.Size(2), behaves(cluster.AnnotationFailAfter, "500ms")))
	stalled = env.Create(t, harness.NewSet(ns, "stalled", harness.Replicas(2), harness.Annotation(lwsv1.AnnotationProgressDeadline, "2s")))
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "taken-1"}, Spec: harness.Template("other").Spec}
	if _, err := env.Kube.CoreV1().Pods(ns).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	taken = env.Create(t, harness.NewSet(ns, "taken", harness.Replicas(2)))
	stalled = env.WaitAvailable(t, stalled)
	stalled = change(t, stalled, behaves(cluster.AnnotationHold, ""))
	return stalled, taken, crash, stuck
}

// compareTroubles looks at what gauges and counters say of sets that are not at rest.
func compareTroubles(t *testing.T, p *prometheus, stalled, taken, crash *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "restarts to be those of the status", alertTimeout, func() (bool, string) {
		v, _ := p.value(t, "lws_set_group_restarts_max{"+of(crash)+"}")
		restarts := env.Get(t, crash).Status.GroupRestarts
		return len(restarts) == 1 && float64(restarts[0].Count) == v, fmt.Sprint(v, restarts)
	})
	waitValue(t, p, "sum(lws_group_recreations_total{"+of(crash)+`,cause="Failure"})`, func(v float64) bool { return v >= 3 })
	waitValue(t, p, "sum(lws_group_failures_total{"+of(crash)+`,reason="PodFailed"})`, func(v float64) bool { return v >= 3 })
	waitValue(t, p, "lws_set_degraded_info{"+of(taken)+`,reason="NameTaken"}`, func(v float64) bool { return v == 1 })
	waitValue(t, p, "lws_set_rollout_progress_ratio{"+of(stalled)+"}", func(v float64) bool { return v == 0 })
	waitValue(t, p, "lws_group_recreation_duration_seconds_count{cause=\"Failure\"}", func(v float64) bool { return v >= 2 })
}

// fence has another controller be at work for a while.
func fence(t *testing.T, p *prometheus, set *harness.Set) {
	t.Helper()
	other := env.Namespace(t)
	now, holder, seconds := metav1.NowMicro(), "published", int32(600)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "b8b2488c.x-k8s.io"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now, LeaseDurationSeconds: &seconds}}
	leases := env.Kube.CoordinationV1().Leases(other)
	if _, err := leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Delete(context.Background(), lease.Name, metav1.DeleteOptions{}) })
	change(t, set, harness.Annotation("example.com/news", "1"))
	p.fires(t, true, "LWSControllerFenced")
	p.fires(t, true, "LWSControllerNotSyncing", of(set))
	if err := leases.Delete(t.Context(), lease.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.fires(t, false, "LWSControllerFenced")
	p.fires(t, false, "LWSControllerNotSyncing")
}

// newLeader has a leader that has counted nothing of what was before it make groups and
// update them.
func newLeader(t *testing.T, p *prometheus, ns string) *harness.Set {
	t.Helper()
	waitValue(t, p, `sum(lws_groups{phase="Ready"})`, func(v float64) bool { return v == 13 })
	if v, _ := p.value(t, "sum(lws_group_transitions_total)"); v != 0 {
		t.Errorf("a new leader has counted %g transitions, where nothing has happened", v)
	}
	last := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "last", harness.Replicas(3), harness.Size(2), image("1"))))
	last = env.WaitAvailable(t, change(t, last, image("2")))
	for expr, want := range map[string]float64{
		`sum(lws_writes_total{kind="Pod",verb="create",result="accepted"})`:   12,
		`sum(lws_writes_total{kind="Pod",verb="delete",result="accepted"})`:   6,
		`sum(lws_writes_total{kind="ControllerRevision",verb="create"})`:      2,
		`sum(lws_group_transitions_total{from="WorkersStarting",to="Ready"})`: 6,
		`sum(lws_group_transitions_total{from="Ready",to="Recycling"})`:       3,
		`sum(lws_group_startup_duration_seconds_count)`:                       6,
		`sum(lws_group_recreation_duration_seconds_count{cause="Update"})`:    3,
		`sum(lws_group_recreations_total{cause="Update"})`:                    3,
		`sum(lws_group_failures_total)`:                                       0,
		`sum(lws_group_undeclared_transitions_total)`:                         0,
		`sum(lws_rollout_duration_seconds_count)`:                             1,
		`sum(lws_event_to_write_duration_seconds_count) > bool 5`:             1,
		`count(lws_group_phase_timestamp_seconds{phase="Ready",name="last"})`: 3,
		`max(lws_set_rollout_duration_seconds{name="last"}) >= bool 0`:        1,
	} {
		waitValue(t, p, expr, func(v float64) bool { return v == want })
	}
	return last
}

// compare compares the gauges of a set at rest with its status.
func compare(t *testing.T, p *prometheus, set *harness.Set) {
	t.Helper()
	s := env.Get(t, set)
	for expr, want := range map[string]int32{
		"lws_set_replicas_desired{%s}":           *s.Spec.Replicas,
		"lws_set_replicas{%s}":                   s.Status.Replicas,
		"lws_set_replicas_ready{%s}":             s.Status.ReadyReplicas,
		"lws_set_replicas_updated{%s}":           s.Status.UpdatedReplicas,
		`lws_groups{%s,phase="Pending"}`:         s.Status.Groups.Pending,
		`lws_groups{%s,phase="LeaderReady"}`:     s.Status.Groups.LeaderReady,
		`lws_groups{%s,phase="WorkersStarting"}`: s.Status.Groups.WorkersStarting,
		`lws_groups{%s,phase="Ready"}`:           s.Status.Groups.Ready,
		`lws_groups{%s,phase="Recycling"}`:       s.Status.Groups.Recycling,
		`lws_groups{%s,phase="Failed"}`:          s.Status.Groups.Failed,
		"lws_set_rollout_progress_ratio{%s}":     1,
		"lws_set_stalled{%s}":                    0,
		"lws_set_degraded{%s}":                   0,
		"lws_set_paused{%s}":                     0,
		fmt.Sprintf("lws_set_revision_info{%%s,current_revision=%q,update_revision=%q}", s.Status.CurrentRevision, s.Status.UpdateRevision): 1,
	} {
		expr = fmt.Sprintf(expr, of(set))
		waitValue(t, p, expr, func(v float64) bool { return v == float64(want) })
	}
	waitValue(t, p, "lws_set_unsynced_seconds{"+of(set)+"}", func(v float64) bool { return v == 0 })
	if v, some := p.value(t, "lws_set_rollout_end_timestamp_seconds{"+of(set)+"}"); some && math.Abs(float64(time.Now().Unix())-v) > 600 {
		t.Errorf("the rollout of %s ended at %g", set.Name, v)
	}
}

// What a scrape may cost.
const (
	scrapeTime  = 0.05 // s
	scrapeBytes = 1 << 20
)

// build makes the controller as it is released.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lws-controller")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the controller: %v\n%s", err, out)
	}
	return program
}

// load makes 1000 groups in 50 sets, while Prometheus goes on to scrape. The control
// plane takes what there is of the machine meanwhile: a quarter of the scrapes must be
// fast all the same.
func load(t *testing.T, p *prometheus, leader replica, ns string) {
	t.Helper()
	const sets, groups = 50, 20
	began := time.Now()
	for i := range sets {
		env.Create(t, harness.NewSet(ns, fmt.Sprintf("load-%d", i), harness.Replicas(groups)))
	}
	waitValue(t, p, `sum(lws_groups{phase="Ready",name=~"load-.*"})`, func(v float64) bool { return v == sets*groups })
	seconds := int(time.Since(began).Seconds()) + 1
	_, body, err := leader.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	quantile := func(q float64) float64 {
		v, some := p.value(t, fmt.Sprintf("quantile_over_time(%g, scrape_duration_seconds{replica=%q}[%ds])", q, leader.name, seconds))
		if !some {
			t.Fatal("no scrape was measured")
		}
		return v
	}
	fast := quantile(0.25)
	t.Logf("%d groups in %d sets, Ready after %d s: a scrape has %d bytes; it took %.3f s or less for a quarter, %.3f s for half, and at most %.3f s",
		sets*groups, sets, seconds, len(body), fast, quantile(0.5), quantile(1))
	if fast > scrapeTime || len(body) > scrapeBytes {
		t.Errorf("a quarter of the scrapes took at most %g s, want %g; %d bytes, want at most %d", fast, scrapeTime, len(body), scrapeBytes)
	}
}

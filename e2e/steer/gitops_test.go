package steer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// reapply has a tool apply the same manifest again and again, as its own field
// manager, until the test ends or stop is called. It is the tool's alone.
func reapply(t *testing.T, ns string, spec map[string]any) (now func(spec map[string]any), stop func()) {
	t.Helper()
	type wish struct {
		spec map[string]any
		done chan error
	}
	apply := func(spec map[string]any) error {
		manifest, err := json.Marshal(map[string]any{"apiVersion": lwsv1.SchemeGroupVersion.String(), "kind": lwsv1.Kind,
			"metadata": map[string]any{"name": "web", "namespace": ns}, "spec": spec})
		if err != nil {
			return err
		}
		force := true
		_, err = env.Sets.LeaderWorkerSets(ns).Patch(t.Context(), "web", types.ApplyPatchType, manifest, metav1.PatchOptions{FieldManager: "gitops", Force: &force})
		return err
	}
	if err := apply(spec); err != nil {
		t.Fatal(err)
	}
	wishes, quit, ended := make(chan wish), make(chan struct{}), make(chan error)
	go func() {
		var first error
		for {
			select {
			case w := <-wishes:
				spec = w.spec
				w.done <- apply(spec)
			case <-quit:
				ended <- first
				return
			case <-time.After(50 * time.Millisecond):
				if err := apply(spec); err != nil && first == nil {
					first = err
				}
			}
		}
	}()
	now = func(spec map[string]any) {
		t.Helper()
		w := wish{spec, make(chan error)}
		wishes <- w
		if err := <-w.done; err != nil {
			t.Fatal(err)
		}
	}
	return now, func() {
		t.Helper()
		close(quit)
		if err := <-ended; err != nil {
			t.Errorf("applying again: %v", err)
		}
	}
}

func manifest(tag string) map[string]any {
	return map[string]any{"replicas": 4,
		"rolloutStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdateConfiguration": map[string]any{"partition": 0, "maxUnavailable": 1}},
		"leaderWorkerTemplate": map[string]any{"size": 2, "workerTemplate": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "worker", "image": "example.com/worker:" + tag}}}}}}
}

// TestOverrides: partition and budgets by annotation hold while a tool applies its
// spec over and over, and nobody fights.
func TestOverrides(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	now, stop := reapply(t, ns, manifest("1"))
	defer stop()
	set := env.WaitAvailable(t, harness.NewSet(ns, "web"))
	// People annotate, as kubectl annotate does, before the tool brings the change.
	env.Update(t, set, annotate(lwsv1.AnnotationPartition, "50%"))
	env.Update(t, set, annotate(lwsv1.AnnotationMaxUnavailable, "2"))
	least := lowest(t, set)
	now(manifest("2"))
	set = waitTags(t, set, "0:1 1:1 2:2 3:2")
	atRest(t, set)
	set = env.Get(t, set)
	if c := set.Spec.RolloutStrategy.RollingUpdateConfiguration; *c.Partition != 0 || c.MaxUnavailable.IntValue() != 1 {
		t.Errorf("the spec is no longer the tool's: %+v", c)
	}
	env.Update(t, set, annotate(lwsv1.AnnotationPartition))
	env.Update(t, set, annotate(lwsv1.AnnotationMaxUnavailable, "0"))
	env.Update(t, set, annotate(lwsv1.AnnotationMaxSurge, "1"))
	waitTags(t, set, "0:2 1:2 2:2 3:2")
	atRest(t, set)
	if n := least(); n < 2 {
		t.Errorf("%d groups were Ready at the lowest, want 2", n)
	}
}

// atRest fails the test if the set changes, or if the controller writes, while the
// tool goes on.
func atRest(t *testing.T, set *harness.Set) {
	t.Helper()
	time.Sleep(settled)
	before := env.Get(t, set).ResourceVersion
	quiet(t, set.Namespace)
	if after := env.Get(t, set).ResourceVersion; after != before {
		t.Errorf("the set went on from version %s to %s", before, after)
	}
}

// TestBeforePolicy: a value that was there before the policy has no effect but a
// warning, and disturbs nothing else. It takes the policy away, so it runs alone.
func TestBeforePolicy(t *testing.T) {
	ns := env.Namespace(t)
	const binding = "validatingadmissionpolicybinding/lws-controller-annotations"
	env.Kubectl(t, "delete", binding)
	wrong := harness.NewSet(ns, "web", harness.Replicas(2), annotate(lwsv1.AnnotationPaused, "yes"),
		annotate(lwsv1.AnnotationMaxSurge, "some"), annotate(lwsv1.AnnotationRecycle, "1-0@2026-12-01T10:00:00Z"), annotate(lwsv1.AnnotationHistoryLimit, "0"))
	harness.WaitFor(t, "the policy to be gone", harness.DefaultTimeout, func() (bool, string) {
		_, err := env.Sets.LeaderWorkerSets(ns).Create(t.Context(), wrong, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	env.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join("..", "..", "deploy", "policy", "annotations.yaml"))
	harness.WaitFor(t, "the policy to be there again", harness.DefaultTimeout, func() (bool, string) {
		probe := harness.NewSet(ns, "probe", annotate(lwsv1.AnnotationPaused, "yes"))
		_, err := env.Sets.LeaderWorkerSets(ns).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) || err != nil && strings.Contains(err.Error(), "must be"), fmt.Sprint(err)
	})
	set := env.WaitAvailable(t, wrong)
	for key, value := range map[string]string{lwsv1.AnnotationPaused: `"yes"`, lwsv1.AnnotationMaxSurge: `"some"`, lwsv1.AnnotationRecycle: `"1-0@2026`} {
		env.WaitEvent(t, set, "Warning", "InvalidAnnotation", key+": "+value, "has no effect: it must be")
	}
	set = change(t, set, image("2"))
	waitTags(t, set, "0:2 1:2")
	set = env.Scale(t, set, 3)
	waitTags(t, set, "0:2 1:2 2:2")
	harness.WaitFor(t, "the good annotation to have its effect", harness.DefaultTimeout, func() (bool, string) {
		list, err := env.Kube.AppsV1().ControllerRevisions(ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1, fmt.Sprint(len(list.Items), err)
	})
	quiet(t, ns)
}

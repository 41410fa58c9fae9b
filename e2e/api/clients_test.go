package api

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
)

// typed is what a Go program makes that sets nothing but a template.
func typed(name string) *lwsv1.LeaderWorkerSet {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9000}}}
	return &lwsv1.LeaderWorkerSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: lwsv1.LeaderWorkerSetSpec{
			LeaderWorkerTemplate: lwsv1.LeaderWorkerTemplate{
				WorkerTemplate: corev1.PodTemplateSpec{
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", LivenessProbe: probe}}},
				},
			},
		},
	}
}

// A typed client that leaves structs unset sends empty strings, nulls and an
// empty status. That is accepted, stored as sent, and sending it again changes
// nothing.
func TestTypedClient(t *testing.T) {
	ctx, c := t.Context(), sets.LeaderWorkerSets(control.NamespaceT(t, "typed"))
	sent := typed("web")
	stored, err := c.Create(ctx, sent.DeepCopy(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored.Spec.StartupPolicy != "" || stored.Spec.RolloutStrategy.Type != "" {
		t.Errorf("startupPolicy %q and rolloutStrategy.type %q, both were sent empty", stored.Spec.StartupPolicy, stored.Spec.RolloutStrategy.Type)
	}
	if !apiequality.Semantic.DeepEqual(sent.Spec.LeaderWorkerTemplate.WorkerTemplate, stored.Spec.LeaderWorkerTemplate.WorkerTemplate) {
		t.Errorf("the template is stored as\n%v\nsent\n%v", stored.Spec.LeaderWorkerTemplate.WorkerTemplate, sent.Spec.LeaderWorkerTemplate.WorkerTemplate)
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		again := sent.DeepCopy()
		again.ResourceVersion = stored.ResourceVersion
		updated, err := c.Update(ctx, again, metav1.UpdateOptions{DryRun: dryRun})
		if err != nil {
			t.Fatal(err)
		}
		if updated.ResourceVersion != stored.ResourceVersion || updated.Generation != stored.Generation {
			t.Errorf("sent again, dry run %v: resourceVersion %s -> %s, generation %d -> %d", dryRun,
				stored.ResourceVersion, updated.ResourceVersion, stored.Generation, updated.Generation)
		}
	}
	// Read, change, write: as most programs do.
	stored.Labels = map[string]string{"a": "b"}
	updated, err := c.Update(ctx, stored.DeepCopy(), metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Generation != stored.Generation || !apiequality.Semantic.DeepEqual(updated.Spec, stored.Spec) {
		t.Errorf("a label changed the spec:\n%v\nto\n%v", stored.Spec, updated.Spec)
	}
}

// The same as it stands on the wire, older encodings included.
func TestSentNulls(t *testing.T) {
	ns := control.NamespaceT(t, "nulls")
	sent := with(minimal("web"), `
metadata: {creationTimestamp: null}
status: {}
spec:
  rolloutStrategy: {type: ""}
  startupPolicy: ""
  leaderWorkerTemplate:
    workerTemplate: {metadata: {creationTimestamp: null}}
    volumeClaimTemplates:
    - {metadata: {name: v, creationTimestamp: null}, spec: {resources: {requests: {storage: 1Gi}}}, status: {}}
`)
	if err := create(t.Context(), ns, sent); err != nil {
		t.Fatal(err)
	}
	before, err := sets.LeaderWorkerSets(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(with(sent, `metadata: {resourceVersion: "`+before.ResourceVersion+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	after, err := sets.RESTClient().Put().Namespace(ns).Resource(lwsv1.Resource).Name("web").Body(data).Do(t.Context()).Get()
	if err != nil {
		t.Fatal(err)
	}
	if a := after.(*lwsv1.LeaderWorkerSet); a.ResourceVersion != before.ResourceVersion {
		t.Errorf("sent again, resourceVersion %s -> %s:\n%v\n%v", before.ResourceVersion, a.ResourceVersion, before, a)
	}
}

// Server-side apply by two managers, one with the manifest, one with the number
// of replicas: neither conflicts, and applying again changes nothing.
func TestTwoManagers(t *testing.T) {
	ctx, c := t.Context(), sets.LeaderWorkerSets(control.NamespaceT(t, "apply"))
	apply := func(manager string, object map[string]any, dryRun ...string) *lwsv1.LeaderWorkerSet {
		t.Helper()
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Patch(ctx, "web", types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: manager, DryRun: dryRun})
		if err != nil {
			t.Fatalf("%s: %v", manager, err)
		}
		return got
	}
	manifest := with(minimal("web"), rich, `spec: {rolloutStrategy: {type: ""}, startupPolicy: ""}`)
	scaler := fromYAML(`{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: web}, spec: {replicas: 3}}`)

	apply("gitops", manifest)
	first := apply("scaler", scaler)
	if *first.Spec.Replicas != 3 || first.Generation != 2 {
		t.Errorf("replicas %d, generation %d; want 3 and 2", *first.Spec.Replicas, first.Generation)
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		for _, again := range []*lwsv1.LeaderWorkerSet{apply("gitops", manifest, dryRun...), apply("scaler", scaler, dryRun...)} {
			if again.ResourceVersion != first.ResourceVersion {
				t.Errorf("applied again, dry run %v: resourceVersion %s -> %s", dryRun, first.ResourceVersion, again.ResourceVersion)
			}
		}
	}
	// Lists are merged by upstream's keys: a manager owns its entries only.
	apply("sidecar", with(fromYAML(`{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: web}}`),
		lwt(`workerTemplate: {spec: {containers: [{name: sidecar, image: s}]}}`)))
	got := apply("gitops", manifest)
	if n := len(got.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers); n != 2 {
		t.Errorf("%d containers, want those of both managers", n)
	}
}

// An autoscaler reads and writes /scale.
func TestScale(t *testing.T) {
	ns := control.NamespaceT(t, "scale")
	if err := create(t.Context(), ns, minimal("web")); err != nil {
		t.Fatal(err)
	}
	if err := patchSet(t.Context(), ns, "web", `status: {replicas: 1, hpaPodSelector: "x=1"}`, "status"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "", "-n", ns, "scale", "lws/web", "--replicas=4")
	scale, err := resource(ns).Get(t.Context(), "web", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	got := normal(t, map[string]any{"spec": scale.Object["spec"], "status": scale.Object["status"]})
	if want := normal(t, fromYAML(`{spec: {replicas: 4}, status: {replicas: 1, selector: "x=1"}}`)); !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("scale is %v, want %v", got, want)
	}
	refused(t, "scale to -1", patchSet(t.Context(), ns, "web", `spec: {replicas: -1}`, "scale"), "replicas")
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

const storedNamespace = "stored"

// Objects that break a rule and are stored nonetheless, as those written before
// the rule was made: patches of the minimal set.
var broken = []struct {
	name    string
	patch   string
	again   string // breaks the rule again by an input of its own
	message string
}{
	{name: "1-digit", patch: `{}`},
	{name: strings.Repeat("long-", 12) + "er", patch: `{}`, again: `spec: {replicas: 11}`, message: "metadata.name is too long"},
	{name: "size-zero", patch: lwt(`size: 0`), again: lwt(`size: -1`), message: "leaderWorkerTemplate.size"},
	{name: "too-many-pods", patch: `spec: {replicas: 1000000, leaderWorkerTemplate: {size: 3000}}`, again: lwt(`size: 3001`), message: "the number of pods"},
	{name: "subgroups-uneven", patch: sub(8, `{subGroupSize: 3}`), again: lwt(`size: 11`), message: "size or size-1 must be divisible"},
	{name: "subgroups-too-large", patch: sub(2, `{subGroupSize: 3}`), again: lwt(`size: 1`), message: "must not exceed size"},
	{name: "subgroups-excluded", patch: sub(8, `{subGroupSize: 4, subGroupPolicyType: LeaderExcluded}`), again: lwt(`size: 12`), message: "size-1 must be divisible"},
	{name: "subgroups-empty", patch: sub(8, `{}`), again: lwt(`subGroupPolicy: {subGroupPolicyType: LeaderExcluded}`), message: "subGroupSize"},
	{name: "subgroups-zero", patch: sub(8, `{subGroupSize: 0}`), again: lwt(`subGroupPolicy: {subGroupSize: -1}`), message: "subGroupSize"},
	{name: "no-budget", patch: rolling(`maxUnavailable: 0, maxSurge: 0`)},
	{name: "surge-150", patch: rolling(`maxSurge: 150%`), again: rolling(`maxSurge: 151%`), message: "maxSurge must be"},
	{name: "surge-text", patch: rolling(`maxSurge: most`), again: rolling(`maxSurge: more`), message: "maxSurge must be"},
	{name: "partition-negative", patch: rolling(`partition: -1`), again: rolling(`partition: -2`), message: "partition"},
	{name: "pods-never-restart", patch: lwt(`workerTemplate: {spec: {restartPolicy: Never}}`), again: lwt(`workerTemplate: {spec: {restartPolicy: OnFailure}}`), message: "restartPolicy must be Always or unset"},
	{name: "budget-without-recreation", patch: lwt(`restartPolicy: None, maxGroupRestarts: 3`), again: lwt(`maxGroupRestarts: 4`), message: "maxGroupRestarts needs"},
	{name: "gang-leader-ready", patch: `spec: {scheduling: {}, startupPolicy: LeaderReady}`},
	{name: "claims-kept-somehow", patch: lwt(`persistentVolumeClaimRetentionPolicy: {whenDeleted: Somehow}`), again: lwt(`persistentVolumeClaimRetentionPolicy: {whenDeleted: Else}`), message: "must be Retain or Delete"},
	{name: "quantity-unreadable", patch: lwt(`volumeClaimTemplates: [{metadata: {name: v}, spec: {resources: {requests: {storage: "1e1.5"}}}}]`)},
	{
		name:    "annotations-wrong",
		patch:   `metadata: {annotations: {rollout.leaderworkerset.x-k8s.io/undo: x, rollout.leaderworkerset.x-k8s.io/min-ready: soon, topology.leaderworkerset.x-k8s.io/colocate: " ", rollout.leaderworkerset.x-k8s.io/unknown: x}}`,
		again:   `metadata: {annotations: {rollout.leaderworkerset.x-k8s.io/undo: z}}`,
		message: "undo must be previous or the number of a revision",
	},
	{
		name:    "annotations-gang",
		patch:   `{metadata: {annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack, leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: rack}}, spec: {scheduling: {}}}`,
		again:   `metadata: {annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: zone}}`,
		message: "cannot be used with gang scheduling",
	},
	{name: "no-spec", patch: `spec: null`},
}

// storeBroken stores the objects by way of the CRD without rules, over which the
// real one is then applied, as an upgrade does.
func storeBroken(ctx context.Context) error {
	crd, err := crdWithoutRules()
	if err != nil {
		return err
	}
	if out, err := runKubectl(crd, "create", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := control.Namespace(ctx, storedNamespace); err != nil {
		return err
	}
	for _, b := range broken {
		object := with(minimal(`"`+b.name+`"`), b.patch, `metadata: {finalizers: [example.com/hold]}`)
		// The resource may take a moment to be served.
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			err := create(ctx, storedNamespace, object)
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

func crdWithoutRules() (string, error) {
	data, err := os.ReadFile(crdFile)
	if err != nil {
		return "", err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return "", err
	}
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	dropRules(version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any))
	data, err = json.Marshal(crd)
	return string(data), err
}

// dropRules removes what refuses a value from a schema and all below; types
// stay, and so do defaults and the keys of lists.
func dropRules(schema map[string]any) {
	for _, k := range []string{"x-kubernetes-validations", "minimum", "maximum", "enum", "pattern"} {
		delete(schema, k)
	}
	if _, keep := schema["x-kubernetes-embedded-resource"]; !keep {
		if p, ok := schema["properties"].(map[string]any); ok && p["subGroupSize"] != nil {
			delete(schema, "required")
		}
	}
	for _, below := range []string{"items", "additionalProperties"} {
		if s, ok := schema[below].(map[string]any); ok {
			dropRules(s)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		dropRules(p.(map[string]any))
	}
}

func patchSet(ctx context.Context, namespace, name, patch, subresource string, dryRun ...string) error {
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return err
	}
	var sub []string
	if subresource != "" {
		sub = []string{subresource}
	}
	_, err = resource(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{DryRun: dryRun}, sub...)
	return err
}

// TestStoredObjects: whatever a stored object breaks, it can be handled.
func TestStoredObjects(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			ctx := t.Context()
			hasSpec := b.name != "no-spec"
			do := func(what, patch, subresource string) {
				t.Helper()
				if err := patchSet(ctx, storedNamespace, b.name, patch, subresource); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if b.again != "" {
				refused(t, b.again, patchSet(ctx, storedNamespace, b.name, b.again, "", metav1.DryRunAll), b.message)
			}
			do("label", `metadata: {labels: {a: b}}`, "")
			do("annotate", `metadata: {annotations: {rollout.leaderworkerset.x-k8s.io/paused: "true"}}`, "")
			do("status", `status: {replicas: 1, hpaPodSelector: a=b, observedGeneration: 1}`, "status")
			if hasSpec {
				do("scale up", `spec: {replicas: 2}`, "scale")
				do("scale to 0", `spec: {replicas: 0}`, "scale")
				do("scale in the spec", `spec: {replicas: 1}`, "")
				do("new template label", lwt(`workerTemplate: {metadata: {labels: {a: b}}}`), "")
				do("new partition", rolling(`partition: 1`), "")
			}
			if err := resource(storedNamespace).Delete(ctx, b.name, metav1.DeleteOptions{}); err != nil {
				t.Errorf("delete: %v", err)
			}
			do("annotate while deleted", `metadata: {annotations: {rollout.leaderworkerset.x-k8s.io/undo: nonsense}}`, "")
			do("remove the finalizer", `metadata: {finalizers: null}`, "")
			if _, err := resource(storedNamespace).Get(ctx, b.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("still there: %v", err)
			}
		})
	}
}

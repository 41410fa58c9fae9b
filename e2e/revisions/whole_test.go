package revisions

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// made is what a revision decides of a pod, as indented JSON.
func made(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	annotations := maps.Clone(p.Annotations)
	delete(annotations, lwsv1.AnnotationIncarnation)
	labels := maps.Clone(p.Labels)
	// Those of the node, which the API server copies.
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, "topology.kubernetes.io/") })
	spec := p.Spec.DeepCopy()
	spec.NodeName = ""
	for i := range spec.Volumes {
		// The API server adds a volume whose name it draws.
		if strings.HasPrefix(spec.Volumes[i].Name, "kube-api-access-") {
			drawn := spec.Volumes[i].Name
			spec.Volumes[i].Name = "kube-api-access"
			for c := range spec.Containers {
				for m := range spec.Containers[c].VolumeMounts {
					if spec.Containers[c].VolumeMounts[m].Name == drawn {
						spec.Containers[c].VolumeMounts[m].Name = "kube-api-access"
					}
				}
			}
		}
	}
	data, err := json.MarshalIndent(map[string]any{"labels": labels, "annotations": annotations, "spec": spec}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// group are the pods of group 0 by name. It is whole if all are Ready, and new if none
// is among those before, which it adds to.
func group(t *testing.T, set *harness.Set, before map[types.UID]bool) (pods map[string]string, whole bool) {
	t.Helper()
	pods = map[string]string{}
	seen := map[types.UID]bool{}
	for _, p := range env.Pods(t, set) {
		if p.Labels[lwsv1.LabelGroupIndex] != "0" {
			continue
		}
		ready := false
		for _, c := range p.Status.Conditions {
			ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if !ready || p.DeletionTimestamp != nil || before[p.UID] {
			return pods, false
		}
		seen[p.UID] = true
		pods[p.Name] = made(t, &p)
	}
	maps.Copy(before, seen)
	return pods, true
}

// TestOldGroupsStayWhole: a group of an old revision that fails comes back as it was,
// in every respect, also where the new revision has another size, network and
// templates. Then the update goes on, and all groups have the new size.
func TestOldGroupsStayWhole(t *testing.T) {
	t.Parallel()
	reasons := map[string]struct{ hold, release harness.Option }{
		"below the partition": {rolling(1, 0, 2), rolling(1, 0, 0)},
		"paused":              {harness.Annotation(lwsv1.AnnotationPaused, "true"), harness.Annotation(lwsv1.AnnotationPaused, "")},
		// The first group of the new revision does not become Ready, and one of the old
		// still is.
		"midway": {func(s *harness.Set) {
			held(s)
			harness.Leader(harness.Annotated(cluster.AnnotationHold, ""))(s)
		}, func(*harness.Set) {}},
	}
	for _, sizes := range [][2]int32{{4, 2}, {2, 1}, {1, 4}} {
		for why, reason := range reasons {
			t.Run(fmt.Sprintf("%s %d to %d", why, sizes[0], sizes[1]), func(t *testing.T) {
				t.Parallel()
				set := available(t, harness.Replicas(3), harness.Size(sizes[0]), harness.UniquePerReplica, image("1"), subGroups,
					harness.Leader(harness.Annotated("example.com/leader", "1")))
				uids := map[types.UID]bool{}
				before, _ := group(t, set, uids)
				if len(before) != int(sizes[0]) {
					t.Fatalf("group 0 has %d pods", len(before))
				}
				set = change(t, set, harness.Size(sizes[1]), image("2"), harness.Leader(harness.Annotated("example.com/leader", "2")), shared, reason.hold)
				if why != "paused" {
					harness.WaitFor(t, "group 2 to be of the new revision", harness.DefaultTimeout, func() (bool, string) {
						s := env.Get(t, set)
						return s.Status.UpdatedReplicas == 1 && s.Status.ObservedGeneration == s.Generation, env.Describe(t, s)
					})
				} else {
					env.WaitCondition(t, set, lwsv1.ConditionRolloutPaused, "True")
				}
				env.DeletePod(t, set.Namespace, fmt.Sprintf("web-0%s", map[bool]string{true: "-1"}[sizes[0] > 1]))
				var after map[string]string
				harness.WaitFor(t, "group 0 to be back", harness.DefaultTimeout, func() (whole bool, state string) {
					if after, whole = group(t, set, maps.Clone(uids)); len(after) != int(sizes[0]) {
						whole = false
					}
					return whole, env.Describe(t, env.Get(t, set))
				})
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("group 0 is not what it was (- before, + after):\n%s", diff)
				}
				set = change(t, set, reason.release)
				waitRolled(t, set)
				if n := len(env.Pods(t, set)); n != 3*int(sizes[1]) {
					t.Errorf("%d pods, want 3 groups of %d", n, sizes[1])
				}
			})
		}
	}
}

func subGroups(s *harness.Set) {
	one := int32(1)
	s.Spec.LeaderWorkerTemplate.SubGroupPolicy = &lwsv1.SubGroupPolicy{SubGroupSize: &one}
}

func shared(s *harness.Set) {
	policy := lwsv1.SubdomainShared
	s.Spec.NetworkConfig = &lwsv1.NetworkConfig{SubdomainPolicy: &policy}
}

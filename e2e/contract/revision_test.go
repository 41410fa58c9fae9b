package contract

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

func revisions(t *testing.T, set *harness.Set) []appsv1.ControllerRevision {
	t.Helper()
	list, err := env.Kube.AppsV1().ControllerRevisions(set.Namespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: "leaderworkerset.sigs.k8s.io/name=" + set.Name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func oneRevision(t *testing.T, set *harness.Set) *appsv1.ControllerRevision {
	t.Helper()
	all := revisions(t, set)
	if len(all) != 1 {
		t.Fatalf("%d revisions of %s, want 1", len(all), set.Name)
	}
	return &all[0]
}

// revisionKey is the key of revision data: FNV-32 in decimal, each digit replaced
// by a character that forms no words.
func revisionKey(data []byte) string {
	const safe = "bcdfghjklmnpqrstvwxz2456789"
	h := fnv.New32()
	h.Write(data)
	var key strings.Builder
	for _, digit := range strconv.FormatUint(uint64(h.Sum32()), 10) {
		key.WriteByte(safe[int(digit)%len(safe)])
	}
	return key.String()
}

func TestRevision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []harness.Option
		network map[string]any
	}{
		{"plain", nil, map[string]any{"subdomainPolicy": "Shared"}},
		{"rich", []harness.Option{harness.Leader(rich("lead")), harness.Worker(rich("work")), harness.Size(2), harness.UniquePerReplica},
			map[string]any{"subdomainPolicy": "UniquePerReplica"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", c.options...)))
			r := oneRevision(t, set)
			key := revisionKey(r.Data.Raw)
			if want := "web-" + key + "-1"; r.Name != want || r.Revision != 1 {
				t.Errorf("revision %d is named %s, want 1 and %s", r.Revision, r.Name, want)
			}
			labels := map[string]string{
				"leaderworkerset.sigs.k8s.io/name":                   "web",
				"leaderworkerset.sigs.k8s.io/template-revision-hash": key,
			}
			if diff := cmp.Diff(labels, r.Labels); diff != "" {
				t.Errorf("labels (- want, + got):\n%s", diff)
			}
			if diff := cmp.Diff(ownedBy(set), r.OwnerReferences); diff != "" {
				t.Errorf("owner references (- want, + got):\n%s", diff)
			}
			// The data are the two parts of the stored spec, each to be replaced whole.
			template := raw(t, set)["spec"].(map[string]any)["leaderWorkerTemplate"].(map[string]any)
			template["$patch"], c.network["$patch"] = "replace", "replace"
			want := map[string]any{"spec": map[string]any{"leaderWorkerTemplate": template, "networkConfig": c.network}}
			var got map[string]any
			if err := json.Unmarshal(r.Data.Raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutNulls(want), withoutNulls(got)); diff != "" {
				t.Errorf("data (- want, + got):\n%s", diff)
			}
			status := raw(t, set)["status"].(map[string]any)
			if status["currentRevision"] != key || status["updateRevision"] != key {
				t.Errorf("status names revisions %v and %v, want %s", status["currentRevision"], status["updateRevision"], key)
			}
		})
	}
}

// withoutNulls drops creationTimestamp: null and empty structs, in which
// serialisations differ without meaning anything.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			value = withoutNulls(value)
			if m, isMap := value.(map[string]any); value != nil && (!isMap || len(m) > 0) {
				out[key] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNulls(v[i])
		}
		return out
	default:
		return v
	}
}

// TestRevisionsFollowTheTemplate edits a set: what is part of a revision makes a
// new one, what is not does not, and going back uses the old one again.
func TestRevisionsFollowTheTemplate(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Size(2))))
	first := oneRevision(t, set)

	env.Update(t, set, func(s *harness.Set) {
		s.Labels = map[string]string{"team": "a"}
		s.Annotations = map[string]string{"example.com/note": "b"}
		s.Spec.StartupPolicy = "LeaderReady"
		two := int32(2)
		s.Spec.Replicas = &two
		s.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition = &two
	})
	set = env.WaitAvailable(t, set)
	if r := oneRevision(t, set); r.Name != first.Name || r.ResourceVersion != first.ResourceVersion {
		t.Errorf("an edit of what is in no revision turned %s (version %s) into %s (%s)", first.Name, first.ResourceVersion, r.Name, r.ResourceVersion)
	}
	image := func(s *harness.Set, image string) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = image
	}
	waitRevision := func(number int64) (key string) {
		harness.WaitFor(t, "the latest revision to have a number", harness.DefaultTimeout, func() (bool, string) {
			var latest appsv1.ControllerRevision
			for _, r := range revisions(t, set) {
				if r.Revision > latest.Revision {
					latest = r
				}
			}
			key = latest.Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"]
			update := env.Get(t, set).Status.UpdateRevision
			return latest.Revision == number && update == key, latest.Name + " update revision " + update
		})
		return key
	}
	env.Update(t, set, func(s *harness.Set) { image(s, "example.com/worker:2") })
	second := waitRevision(2)
	if len(revisions(t, set)) != 2 {
		t.Errorf("%d revisions after an edit, want 2", len(revisions(t, set)))
	}
	env.Update(t, set, func(s *harness.Set) { image(s, "example.com/worker:1") })
	if key := waitRevision(3); key != first.Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"] || key == second {
		t.Errorf("going back uses revision %s, not the first one", key)
	}
	if len(revisions(t, set)) != 2 {
		t.Errorf("%d revisions after going back, want 2", len(revisions(t, set)))
	}
}

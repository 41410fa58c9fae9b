package informers

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// sink writes down what it is told.
type sink struct{ told []string }

func (s *sink) Pod(set types.NamespacedName, index int32, e group.Event) {
	what := fmt.Sprintf("%s/%d/%d %s", set.Name, index, e.Worker, e.Kind)
	if e.Pod != nil {
		what += fmt.Sprintf(" %s@%s", e.Pod.UID, e.Pod.Version)
	} else {
		what += fmt.Sprintf(" %s@%s", e.UID, e.Version)
	}
	s.told = append(s.told, what)
}
func (s *sink) Touch(set types.NamespacedName) { s.told = append(s.told, "touch "+set.Name) }
func (s *sink) Freed(set types.NamespacedName, index int32) {
	s.told = append(s.told, fmt.Sprintf("freed %s/%d", set.Name, index))
}

func (s *sink) Node(name string) { s.told = append(s.told, "node "+name) }

func pod(name, set, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: version,
		Labels: map[string]string{v1.LabelName: set}}}
}

func TestPodHandler(t *testing.T) {
	deleted := func(p *corev1.Pod) cache.DeletedObject[*corev1.Pod] {
		return cache.DeletedObject[*corev1.Pod]{OptionalObj: p}
	}
	type handler = cache.TypedResourceEventHandler[*corev1.Pod]
	for _, tc := range []struct {
		name string
		do   func(handler)
		want string
	}{
		{"leader added", func(h handler) { h.OnAdd(pod("a-1", "a", "u", "5"), true) }, "a/1/0 PodObserved u@5"},
		{"worker added", func(h handler) { h.OnAdd(pod("a-1-2", "a", "u", "5"), false) }, "a/1/2 PodObserved u@5"},
		{"of a name that the set never gives", func(h handler) { h.OnAdd(pod("a-copy", "a", "u", "5"), false) }, ""},
		{"updated", func(h handler) { h.OnUpdate(pod("a-1", "a", "u", "5"), pod("a-1", "a", "u", "6")) }, "a/1/0 PodObserved u@6"},
		{"deleted and created in one update", func(h handler) { h.OnUpdate(pod("a-1", "a", "u", "5"), pod("a-1", "a", "w", "9")) },
			"a/1/0 PodGone u@5; a/1/0 PodObserved w@9"},
		{"handed to another set", func(h handler) { h.OnUpdate(pod("a-1-2", "a", "u", "5"), pod("a-1-2", "a-1", "u", "6")) },
			"a/1/2 PodGone u@5; freed a-1/2; a-1/2/0 PodObserved u@6"},
		{"deleted", func(h handler) { h.OnDelete(deleted(pod("a-1", "a", "u", "7"))) }, "a/1/0 PodGone u@7"},
		{"deleted, name wanted by another set", func(h handler) { h.OnDelete(deleted(pod("a-1-2", "a-1", "u", "7"))) },
			"a-1/2/0 PodGone u@7; freed a/1"},
		{"tombstone with a copy", func(h handler) {
			p := pod("a-1", "a", "u", "3")
			h.OnDelete(cache.DeletedObject[*corev1.Pod]{OptionalObj: p, FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: "ns/a-1", Obj: p}})
		}, "a/1/0 PodGone u@3"},
		{"tombstone without any", func(h handler) {
			h.OnDelete(cache.DeletedObject[*corev1.Pod]{FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: "ns/a-1"}})
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &sink{}
			sets := map[string]bool{"a": true, "a-1": true}
			tc.do(PodHandler(s, func(key types.NamespacedName) bool { return sets[key.Name] }))
			if got := strings.Join(s.told, "; "); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOwnedHandlerTouchesBothSets(t *testing.T) {
	service := func(set string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{v1.LabelName: set}}}
	}
	s := &sink{}
	h := OwnedHandler[*corev1.Service](s)
	h.OnUpdate(service("a"), service("b"))
	h.OnDelete(cache.DeletedObject[*corev1.Service]{})
	h.OnAdd(service(""), false)
	if got := strings.Join(s.told, "; "); got != "touch a; touch b" {
		t.Errorf("told %q", got)
	}
}

// A new status of a PodGroup of Volcano wakes nobody; what the controller keeps up to date
// does, and so does an end.
func TestVolcanoHandler(t *testing.T) {
	podGroup := func(path string, value any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a-0-k", "uid": "u", "resourceVersion": "1",
			"labels": map[string]any{v1.LabelName: "a"}, "annotations": map[string]any{}}, "spec": map[string]any{"minMember": int64(3)}}}
		if err := unstructured.SetNestedField(o.Object, value, strings.Split(path, "/")...); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for path, tc := range map[string]struct {
		value any
		want  string
	}{
		"status/phase":                 {"Running", ""},
		"metadata/resourceVersion":     {"2", ""},
		"spec/minMember":               {int64(1), "touch a; touch a"},
		"metadata/annotations/x":       {"y", "touch a; touch a"},
		"metadata/labels/x":            {"y", "touch a; touch a"},
		"metadata/uid":                 {"v", "touch a; touch a"},
		"metadata/deletionTimestamp":   {"2026-12-01T10:00:00Z", "touch a; touch a"},
		"metadata/ownerReferences":     {[]any{map[string]any{"uid": "x"}}, "touch a; touch a"},
		"metadata/labels/team":         {"b", "touch a; touch a"},
		"metadata/managedFields":       {[]any{}, ""},
		"metadata/generation":          {int64(2), ""},
		"metadata/annotations/volcano": {"x", "touch a; touch a"},
	} {
		s := &sink{}
		before, _ := Trim(podGroup("metadata/resourceVersion", "1"))
		after, _ := Trim(podGroup(path, tc.value))
		VolcanoHandler(s).OnUpdate(before.(*unstructured.Unstructured), after.(*unstructured.Unstructured))
		if got := strings.Join(s.told, "; "); got != tc.want {
			t.Errorf("%s: told %q, want %q", path, got, tc.want)
		}
		if _, has := after.(*unstructured.Unstructured).Object["status"]; has {
			t.Errorf("%s: the status is kept", path)
		}
	}
	s := &sink{}
	VolcanoHandler(s).OnDelete(cache.DeletedObject[*unstructured.Unstructured]{OptionalObj: podGroup("spec/queue", "q")})
	if got := strings.Join(s.told, "; "); got != "touch a" {
		t.Errorf("deleted: told %q", got)
	}
}

// A heartbeat wakes nobody; what says whether pods can still run, or where, does.
func TestNodeHandler(t *testing.T) {
	node := func(change ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"rack": "r"}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		for _, c := range change {
			c(n)
		}
		return n
	}
	ready := func(is corev1.ConditionStatus) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Conditions[1].Status = is }
	}
	tainted := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
	}
	heartbeat := func(n *corev1.Node) {
		n.ResourceVersion, n.Status.Conditions[1].LastHeartbeatTime = "9", metav1.Now()
	}
	moved := func(n *corev1.Node) { n.Labels = map[string]string{"rack": "other"} }
	for name, tc := range map[string]struct {
		before, after *corev1.Node
		want          string
	}{
		"heartbeat":           {node(), node(heartbeat), ""},
		"another label":       {node(), node(moved), "node n"},
		"not ready":           {node(), node(ready(corev1.ConditionFalse)), "node n"},
		"silent":              {node(), node(ready(corev1.ConditionUnknown)), "node n"},
		"false, then unknown": {node(ready(corev1.ConditionFalse)), node(ready(corev1.ConditionUnknown)), ""},
		"out of service":      {node(), node(tainted(corev1.TaintNodeOutOfService)), "node n"},
		"another taint":       {node(), node(tainted("example.com/t")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []*corev1.Node{tc.before, tc.after} {
				full := group.ObserveNode(n)
				if _, err := Trim(n); err != nil {
					t.Fatal(err)
				}
				if got := group.ObserveNode(n); got != full {
					t.Errorf("trimmed it is %+v, not %+v", got, full)
				}
			}
			s := &sink{}
			NodeHandler(s).OnUpdate(tc.before, tc.after)
			if got := strings.Join(s.told, "; "); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
	s := &sink{}
	NodeHandler(s).OnAdd(node(), false)
	NodeHandler(s).OnDelete(cache.DeletedObject[*corev1.Node]{FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: "gone"}})
	if got := strings.Join(s.told, "; "); got != "node n; node gone" {
		t.Errorf("told %q", got)
	}
}

func TestBudgetHandler(t *testing.T) {
	budget := func(generation int64, owner string) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "u", Generation: generation}}
		if owner != "" {
			controller := true
			b.OwnerReferences = []metav1.OwnerReference{{Kind: v1.Kind, Name: owner, Controller: &controller}}
		}
		return b
	}
	going := budget(1, "")
	going.DeletionTimestamp = &metav1.Time{}
	type handler = cache.TypedResourceEventHandler[*policyv1.PodDisruptionBudget]
	for _, tc := range []struct {
		name string
		do   func(handler)
		want string
	}{
		{"somebody's matters to all that keep one", func(h handler) { h.OnAdd(budget(1, ""), true) }, "touch a; touch b"},
		{"a set's matters to that", func(h handler) { h.OnAdd(budget(1, "c"), true) }, "touch c"},
		{"a status is no news", func(h handler) { h.OnUpdate(budget(1, ""), budget(1, "")) }, ""},
		{"a spec is", func(h handler) { h.OnUpdate(budget(1, "c"), budget(2, "c")) }, "touch c; touch c"},
		{"let go of", func(h handler) { h.OnUpdate(budget(1, "c"), budget(1, "")) }, "touch c; touch a; touch b"},
		{"about to go", func(h handler) { h.OnUpdate(budget(1, ""), going) }, "touch a; touch b; touch a; touch b"},
		{"gone", func(h handler) {
			h.OnDelete(cache.DeletedObject[*policyv1.PodDisruptionBudget]{OptionalObj: budget(1, "")})
		}, "touch a; touch b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &sink{}
			keeps := func(name, value string) *v1.LeaderWorkerSet {
				set := &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
				if value != "" {
					set.Annotations = map[string]string{v1.AnnotationDisruptionBudget: value}
				}
				return set
			}
			tc.do(BudgetHandler(s, func(string) []*v1.LeaderWorkerSet {
				return []*v1.LeaderWorkerSet{keeps("a", "1"), keeps("b", "odd"), keeps("c", "")}
			}))
			if got := strings.Join(s.told, "; "); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
}

func TestGate(t *testing.T) {
	at := "5"
	g := NewGate(func(_ Kind, version string) bool { return group.Reached(at, version) })
	set, other := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	if g.Behind(set, Revisions) {
		t.Error("behind without a write")
	}
	g.Wrote(set, Revisions, "10")
	g.Wrote(set, Revisions, "9") // an answer that came late
	for at = range map[string]bool{"8": true, "9": true} {
		if !g.Behind(set, Revisions) {
			t.Errorf("not behind at %s, wrote 10", at)
		}
	}
	if g.Behind(other, Revisions) || g.Behind(set, Pods) {
		t.Error("behind for another set or kind")
	}
	at = "10"
	if g.Behind(set, Revisions) {
		t.Error("behind at 10, wrote 10")
	}
	g.Wrote(set, Revisions, "20")
	g.Forget(set)
	if g.Behind(set, Revisions) || len(g.wrote) != 0 {
		t.Error("behind after being told to forget")
	}
}

func TestTrim(t *testing.T) {
	full := func() *corev1.Pod {
		p := pod("a-1", "a", "u", "5")
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		p.Annotations = map[string]string{v1.AnnotationIncarnation: "3", v1.AnnotationSize: "2", "big": "x"}
		p.Labels["user"] = "label"
		p.Spec = corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1.ConditionGroupReady}}}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 2, ImageID: "sha", Image: "i"}}}
		return p
	}
	trimmed := full()
	for range 2 { // twice: it must be idempotent
		if _, err := Trim(trimmed); err != nil {
			t.Fatal(err)
		}
		if a, b := group.ObservePod(full(), 0), group.ObservePod(trimmed, 0); !reflect.DeepEqual(a, b) {
			t.Errorf("the core sees another pod after trimming:\n%+v\n%+v", a, b)
		}
		if trimmed.ManagedFields != nil || len(trimmed.Spec.Containers) > 0 || trimmed.Annotations["big"] != "" || trimmed.Status.ContainerStatuses[0].ImageID != "" {
			t.Errorf("kept what nobody needs: %+v", trimmed)
		}
		if trimmed.Labels["user"] != "label" {
			t.Error("labels are compared on adoption and must stay")
		}
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "k"}
	if got, err := Trim(tombstone); err != nil || got != any(tombstone) {
		t.Errorf("a tombstone became %v, %v", got, err)
	}
}

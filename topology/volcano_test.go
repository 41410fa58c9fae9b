package topology_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

func requests(pairs ...string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: quantities(pairs...)}
}

func quantities(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// volcanoGroup is group 1 of a set of size 3 that Volcano places, changed as a test likes.
func volcanoGroup(change ...func(g *topology.Group)) *topology.Group {
	size := int32(3)
	g := &topology.Group{
		Set: &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}},
		Template: &v1.LeaderWorkerTemplate{Size: &size, WorkerTemplate: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{SchedulerName: "volcano", Containers: []corev1.Container{{Name: "main", Resources: requests("cpu", "2", "memory", "1Gi")}}}}},
		Revision: "key", Index: 1, Incarnation: 4,
	}
	for _, c := range change {
		c(g)
	}
	return g
}

func TestVolcanoPodGroup(t *testing.T) {
	g := volcanoGroup(func(g *topology.Group) {
		g.Set.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "q", "volcano.sh/preemptable": "true", "other.volcano.sh/x": "no", "team": "no"}
		g.Template.LeaderTemplate = g.Template.WorkerTemplate.DeepCopy()
		g.Template.LeaderTemplate.Spec.PriorityClassName = "high"
		g.Template.LeaderTemplate.Spec.Containers[0].Resources = requests("cpu", "500m", "example.com/gpu", "8")
	})
	var want, have any
	if err := yaml.Unmarshal([]byte(`
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: web-1-key
  namespace: ns
  labels:
    leaderworkerset.sigs.k8s.io/name: web
    leaderworkerset.sigs.k8s.io/group-index: "1"
    leaderworkerset.sigs.k8s.io/template-revision-hash: key
  annotations:
    leaderworkerset.x-k8s.io/incarnation: "4"
    volcano.sh/preemptable: "true"
  ownerReferences:
  - {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: web, uid: u, controller: true, blockOwnerDeletion: true}
spec:
  minMember: 3
  queue: q
  priorityClassName: high
  minResources: {cpu: 4500m, memory: 2Gi, example.com/gpu: "8"}
`), &want); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(g.VolcanoPodGroup())
	if err == nil {
		err = yaml.Unmarshal(data, &have)
	}
	if err != nil || asJSON(t, have) != asJSON(t, want) {
		t.Errorf("got\n%s\nwant\n%s\n%v", asJSON(t, have), asJSON(t, want), err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// minMember is the size, or 1 where the workers come later.
func TestVolcanoMinMember(t *testing.T) {
	annotated := func(key string) func(g *topology.Group) {
		return func(g *topology.Group) { g.Set.Annotations = map[string]string{key: "rack"} }
	}
	for name, tc := range map[string]struct {
		change func(g *topology.Group)
		want   int64
	}{
		"all at once":          {func(*topology.Group) {}, 3},
		"leader first":         {func(g *topology.Group) { g.Set.Spec.StartupPolicy = v1.LeaderReadyStartupPolicy }, 1},
		"exclusive":            {annotated(v1.AnnotationExclusiveTopology), 1},
		"colocated":            {annotated(v1.AnnotationColocate), 1},
		"subgroups of its own": {annotated(v1.AnnotationSubGroupExclusiveTopology), 3},
		"size of its revision": {func(g *topology.Group) { g.Template.Size = new(int32(7)) }, 7},
	} {
		spec := volcanoGroup(tc.change).VolcanoPodGroup().Object["spec"].(map[string]any)
		if spec["minMember"] != tc.want {
			t.Errorf("%s: minMember %v, want %d", name, spec["minMember"], tc.want)
		}
		if _, queue := spec["queue"]; queue || spec["minResources"] == nil {
			t.Errorf("%s: spec %v", name, spec)
		}
	}
}

// What a pod requests is what the scheduler counts: containers and sidecars together, or
// its initialisation.
func TestVolcanoMinResources(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	cpu := func(n string) corev1.ResourceRequirements { return requests("cpu", n) }
	two := []corev1.Container{{Resources: cpu("2")}, {Resources: cpu("1")}}
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want string // of two pods
	}{
		"nothing":               {corev1.PodSpec{Containers: []corev1.Container{{}}}, `null`},
		"nought":                {corev1.PodSpec{Containers: []corev1.Container{{Resources: cpu("0")}}}, `null`},
		"containers":            {corev1.PodSpec{Containers: two}, `{"cpu":"6"}`},
		"limits serve as well":  {corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: quantities("cpu", "3", "memory", "1Gi"), Requests: quantities("cpu", "1")}}}}, `{"cpu":"2","memory":"2Gi"}`},
		"initialisation":        {corev1.PodSpec{Containers: two, InitContainers: []corev1.Container{{Resources: cpu("4")}, {Resources: cpu("1")}}}, `{"cpu":"8"}`},
		"sidecar":               {corev1.PodSpec{Containers: two, InitContainers: []corev1.Container{{Resources: cpu("1"), RestartPolicy: &always}}}, `{"cpu":"8"}`},
		"sidecar, then init":    {corev1.PodSpec{Containers: two, InitContainers: []corev1.Container{{Resources: cpu("1"), RestartPolicy: &always}, {Resources: cpu("4")}}}, `{"cpu":"10"}`},
		"init, then sidecar":    {corev1.PodSpec{Containers: two, InitContainers: []corev1.Container{{Resources: cpu("4")}, {Resources: cpu("1"), RestartPolicy: &always}}}, `{"cpu":"8"}`},
		"two sidecars and init": {corev1.PodSpec{Containers: two, InitContainers: []corev1.Container{{Resources: cpu("1"), RestartPolicy: &always}, {Resources: cpu("1"), RestartPolicy: &always}, {Resources: cpu("4")}}}, `{"cpu":"12"}`},
		"overhead":              {corev1.PodSpec{Containers: two, Overhead: quantities("cpu", "500m")}, `{"cpu":"7"}`},
		"of the pod":            {corev1.PodSpec{Containers: two, Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "5"), Limits: quantities("memory", "1Gi", "cpu", "9")}}, `{"cpu":"10","memory":"2Gi"}`},
	} {
		g := volcanoGroup(func(g *topology.Group) { g.Template.Size, g.Template.WorkerTemplate.Spec = new(int32(2)), tc.spec })
		if got := asJSON(t, g.VolcanoPodGroup().Object["spec"].(map[string]any)["minResources"]); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// The patch names what differs, in what it means and not in how it is written, and leaves
// alone what is not ours to say.
func TestVolcanoPatch(t *testing.T) {
	want := volcanoGroup(func(g *topology.Group) { g.Set.Annotations = map[string]string{v1.AnnotationVolcanoQueue: "q"} }).VolcanoPodGroup()
	for name, tc := range map[string]struct {
		change func(o map[string]any, metadata, spec map[string]any)
		want   string
	}{
		"as it was made": {func(_, _, _ map[string]any) {}, `null`},
		"with a status":  {func(o, _, _ map[string]any) { o["status"] = map[string]any{"phase": "Running"} }, `null`},
		"written otherwise": {func(_, _, spec map[string]any) {
			spec["minResources"] = map[string]any{"cpu": int64(6), "memory": "3072Mi"}
		}, `null`},
		"more than we say": {func(_, metadata, spec map[string]any) {
			metadata["labels"].(map[string]any)["team"] = "a"
			spec["priorityClassName"] = "high"
		}, `null`},
		"another size":  {func(_, _, spec map[string]any) { spec["minMember"] = int64(2) }, `{"spec":{"minMember":3}}`},
		"another queue": {func(_, _, spec map[string]any) { spec["queue"] = "default" }, `{"spec":{"queue":"q"}}`},
		"resources too many": {func(_, _, spec map[string]any) {
			spec["minResources"] = map[string]any{"cpu": "6", "memory": "3Gi", "example.com/gpu": "1"}
		}, `{"spec":{"minResources":{"cpu":"6","example.com/gpu":null,"memory":"3Gi"}}}`},
		"resources unreadable": {func(_, _, spec map[string]any) {
			spec["minResources"] = map[string]any{"cpu": "six", "memory": "3Gi"}
		}, `{"spec":{"minResources":{"cpu":"6","memory":"3Gi"}}}`},
		"no spec": {func(o, _, _ map[string]any) { delete(o, "spec") }, `{"spec":{"minMember":3,"minResources":{"cpu":"6","memory":"3Gi"},"queue":"q"}}`},
		"no labels": {func(_, metadata, _ map[string]any) { delete(metadata, "labels") },
			`{"metadata":{"labels":{"leaderworkerset.sigs.k8s.io/group-index":"1","leaderworkerset.sigs.k8s.io/name":"web","leaderworkerset.sigs.k8s.io/template-revision-hash":"key"}}}`},
		"of another incarnation": {func(_, metadata, _ map[string]any) {
			metadata["annotations"] = map[string]any{v1.AnnotationIncarnation: "3"}
		}, `{"metadata":{"annotations":{"leaderworkerset.x-k8s.io/incarnation":"4"}}}`},
	} {
		stored := want.DeepCopy()
		tc.change(stored.Object, stored.Object["metadata"].(map[string]any), stored.Object["spec"].(map[string]any))
		before := asJSON(t, want.Object)
		if got := asJSON(t, topology.VolcanoPatch(stored, want)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if asJSON(t, want.Object) != before {
			t.Errorf("%s: what is wanted was changed", name)
		}
	}
	none := volcanoGroup(func(g *topology.Group) { g.Template.WorkerTemplate.Spec.Containers = nil }).VolcanoPodGroup()
	if got := asJSON(t, topology.VolcanoPatch(want, none)); got != `{"spec":{"minResources":{"cpu":null,"memory":null}}}` {
		t.Errorf("without resources: %s", got)
	}
	if got := topology.VolcanoPatch(none.DeepCopy(), none); got != nil {
		t.Errorf("no resources and none wanted: %v", got)
	}
}

func TestUsesVolcano(t *testing.T) {
	pod := func(scheduler, group string) *corev1.PodTemplateSpec {
		p := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: scheduler}}
		if group != "" {
			p.Annotations = map[string]string{group: "mine"}
		}
		return p
	}
	for name, tc := range map[string]struct {
		leader, worker *corev1.PodTemplateSpec
		uses           bool
		conflict       string
	}{
		"one template":            {nil, pod("volcano", ""), true, ""},
		"both":                    {pod("volcano", ""), pod("volcano", ""), true, ""},
		"another scheduler":       {nil, pod("other", ""), false, ""},
		"none":                    {pod("", ""), pod("", ""), false, ""},
		"workers only":            {pod("", ""), pod("volcano", ""), false, `leaderTemplate.spec.schedulerName "" beside workerTemplate.spec.schedulerName "volcano": one scheduler places all pods of a PodGroup`},
		"leader only":             {pod("volcano", ""), pod("other", ""), false, `leaderTemplate.spec.schedulerName "volcano" beside workerTemplate.spec.schedulerName "other": one scheduler places all pods of a PodGroup`},
		"two others":              {pod("a", ""), pod("b", ""), false, ""},
		"a group of its own":      {nil, pod("volcano", "scheduling.k8s.io/group-name"), false, ""},
		"the other spelling":      {pod("volcano", "scheduling.volcano.sh/group-name"), pod("volcano", ""), false, ""},
		"mixed, a group by hand":  {pod("", ""), pod("volcano", "scheduling.k8s.io/group-name"), false, ""},
		"mixed, the leader's own": {pod("volcano", "scheduling.k8s.io/group-name"), pod("", ""), false, ""},
	} {
		template := &v1.LeaderWorkerTemplate{LeaderTemplate: tc.leader, WorkerTemplate: *tc.worker}
		if uses, conflict := topology.UsesVolcano(template), topology.VolcanoConflict(template); uses != tc.uses || conflict != tc.conflict {
			t.Errorf("%s: uses %t, conflict %q", name, uses, conflict)
		}
	}
	g := volcanoGroup()
	if !g.UsesVolcano() {
		t.Error("a group that Volcano places does not use it")
	}
	if g.Set.Spec.Scheduling = new(v1.Scheduling); g.UsesVolcano() {
		t.Error("a group with native scheduling uses Volcano")
	}
}

// Pods carry the name of their PodGroup where its scheduler looks for it.
func TestPodOfGang(t *testing.T) {
	for gang, want := range map[string][2]string{"": {}, "web-1-4": {"web-1-4", ""}, "volcano/web-1-key": {"", "web-1-key"}} {
		g := volcanoGroup(func(g *topology.Group) { g.Gang = gang })
		for worker := range int32(2) {
			p, native := g.Pod(worker), ""
			if p.Spec.SchedulingGroup != nil {
				native = *p.Spec.SchedulingGroup.PodGroupName
			}
			if got := [2]string{native, p.Annotations["scheduling.k8s.io/group-name"]}; got != want || p.Spec.SchedulerName != "volcano" {
				t.Errorf("gang %q, worker %d: %q, want %q", gang, worker, got, want)
			}
		}
	}
}

func TestVolcanoNames(t *testing.T) {
	for name, want := range map[string]struct {
		index int32
		key   string
	}{"a-b-0-key": {0, "key"}, "a-b-12-key-1": {12, "key-1"}} {
		if index, key, ok := topology.ParseVolcanoName("a-b", name); !ok || index != want.index || key != want.key || topology.VolcanoName("a-b", index, key) != name {
			t.Errorf("%s: %d %q %t", name, index, key, ok)
		}
	}
	for _, name := range []string{"a-b", "a-b-", "a-b-0", "a-b-0-", "a-b-01-key", "a-c-0-key", "a-b-x-key", "a-b--key"} {
		if index, key, ok := topology.ParseVolcanoName("a-b", name); ok {
			t.Errorf("%s: %d %q", name, index, key)
		}
	}
}

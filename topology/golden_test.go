package topology

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// What is built for a revision must never change, or pods of one group would
// differ after an upgrade of the controller. A diff in a golden file that is not
// the addition of a case is such a change.
var update = flag.Bool("update", false, "rewrite the golden files")

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d\n got: %s\nwant: %s", path, i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", path, len(gotLines), len(wantLines))
}

func ptr[T any](v T) *T { return &v }

// group is a group of set ns/s with defaults everywhere.
func group(size int32) *Group {
	return &Group{
		Set:      &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns", UID: "uid-1"}},
		Template: &v1.LeaderWorkerTemplate{Size: &size, WorkerTemplate: podTemplate(container("main"))},
		Network:  &v1.NetworkConfig{},
		Revision: "rev1",
	}
}

func podTemplate(containers ...corev1.Container) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}
}

func container(name string, env ...corev1.EnvVar) corev1.Container {
	return corev1.Container{Name: name, Image: "registry.example/" + name + ":1", Env: env}
}

func tpu(c corev1.Container) corev1.Container {
	c.Resources.Limits = corev1.ResourceList{resourceTPU: resource.MustParse("4")}
	return c
}

// tpuLayouts are who holds TPUs.
var tpuLayouts = []struct {
	name           string
	leader, worker corev1.PodTemplateSpec
}{
	{"all", podTemplate(tpu(container("main"))), podTemplate(tpu(container("main")))},
	{"workers", podTemplate(container("main")), podTemplate(tpu(container("main")))},
	{"leader", podTemplate(tpu(container("main"))), podTemplate(container("main"))},
	{"two", podTemplate(tpu(container("main"))), podTemplate(tpu(container("one")), container("side"),
		tpu(container("two", corev1.EnvVar{Name: "TPU_PROCESS_PORT", Value: "9000"})))},
}

// TestLayoutGolden writes where every pod stands, for every valid way to divide
// groups of up to nine pods.
func TestLayoutGolden(t *testing.T) {
	var out bytes.Buffer
	for size := int32(1); size <= 9; size++ {
		for per := int32(0); per <= size; per++ {
			for _, kind := range []v1.SubGroupPolicyType{v1.SubGroupPolicyLeaderWorker, v1.SubGroupPolicyLeaderExcluded} {
				excluded := kind == v1.SubGroupPolicyLeaderExcluded
				if per == 0 && excluded || per > 0 && (size-1)%per != 0 && (excluded || size%per != 0) {
					continue
				}
				g := group(size)
				if per > 0 {
					g.Template.SubGroupPolicy = &v1.SubGroupPolicy{Type: &kind, SubGroupSize: &per}
				}
				fmt.Fprintf(&out, "size %d by %d", size, per)
				if excluded {
					fmt.Fprint(&out, " leader excluded")
				}
				fmt.Fprintln(&out)
				fmt.Fprintf(&out, "  subgroups")
				for w := range size {
					index, ok := g.Pod(w).Labels[v1.LabelSubGroupIndex]
					if !ok {
						index = "-"
					}
					fmt.Fprintf(&out, " %s", index)
				}
				fmt.Fprintln(&out)
				for _, layout := range tpuLayouts {
					g.Template.LeaderTemplate, g.Template.WorkerTemplate = &layout.leader, layout.worker
					fmt.Fprintf(&out, "  tpu: %s\n", layout.name)
					writeTPUs(&out, g)
				}
			}
		}
	}
	compareGolden(t, "layout.golden", out.Bytes())
}

func writeTPUs(out *bytes.Buffer, g *Group) {
	for w := range g.Size() {
		for _, c := range g.Pod(w).Spec.Containers {
			id := findEnv(c.Env, envTPUWorkerID)
			if id == nil {
				continue
			}
			value := func(name string) string { return findEnv(c.Env, name).Value }
			fmt.Fprintf(out, "    %d/%s: %s of %s port %s", w, c.Name, id.Value,
				value(envTPUWorkerHostnames), value(envTPUProcessPort))
			var ports []string
			for _, address := range strings.Split(value(envTPUProcessAddresses), ",") {
				_, port, _ := strings.Cut(address, ":")
				ports = append(ports, port)
			}
			fmt.Fprintf(out, " of %s\n", strings.Join(ports, ","))
		}
	}
}

// everything is a group that uses all there is.
func everything() *Group {
	leader := podTemplate(
		container("main",
			corev1.EnvVar{Name: "HEAD", Value: "$(LWS_LEADER_ADDRESS):6379"},
			corev1.EnvVar{Name: "LWS_GROUP_SIZE", Value: "mine"}),
		container("side"))
	leader.Labels = map[string]string{"app": "vllm", "role": "leader", v1.LabelWorkerIndex: "mine"}
	leader.Annotations = map[string]string{"note": "kept", v1.AnnotationSize: "mine"}
	leader.Finalizers = []string{"example.com/hold"}
	leader.Name, leader.Namespace = "ignored", "ignored"
	leader.Spec.Hostname, leader.Spec.Subdomain = "mine", "mine"
	leader.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	leader.Spec.NodeSelector = map[string]string{"pool": "a"}

	worker := podTemplate(tpu(container("main", corev1.EnvVar{Name: "LWS_WORKER_INDEX", Value: "mine"})))
	worker.Labels = map[string]string{"app": "vllm"}
	worker.Spec.InitContainers = []corev1.Container{container("init")}
	worker.Spec.Volumes = []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	return &Group{
		Set: &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{
			Name: "vllm", Namespace: "ai", UID: "uid-2",
			Annotations: map[string]string{
				v1.AnnotationExclusiveTopology:         "rack",
				v1.AnnotationSubGroupExclusiveTopology: "host",
				v1.AnnotationColocate:                  "zone",
				"other":                                "not copied",
			},
		}},
		Template: &v1.LeaderWorkerTemplate{
			Size:           ptr(int32(5)),
			LeaderTemplate: &leader,
			WorkerTemplate: worker,
			SubGroupPolicy: &v1.SubGroupPolicy{SubGroupSize: ptr(int32(2))},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{
					Name: "cache", Labels: map[string]string{"tier": "fast"}, Annotations: map[string]string{"a": "b"},
				},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					DataSource:  &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"},
					Selector:    &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "ssd"}},
				},
			}},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			},
		},
		Network:     &v1.NetworkConfig{SubdomainPolicy: ptr(v1.SubdomainUniquePerReplica)},
		Revision:    "5b8c9d7f6",
		Index:       3,
		Incarnation: 2,
		Domain:      map[string]string{"rack": "r7"},
	}
}

func TestObjectsGolden(t *testing.T) {
	minimal, all := group(2), everything()
	for name, object := range map[string]any{
		"minimal-leader.json":     minimal.Pod(0),
		"minimal-worker.json":     minimal.Pod(1),
		"minimal-service.json":    minimal.Service(),
		"everything-leader.json":  all.Pod(0),
		"everything-worker.json":  all.Pod(3),
		"everything-service.json": all.Service(),
		"everything-claims.json":  all.Claims(3),
		"disruption-budget.json":  DisruptionBudget(all.Set, []int32{0, 1, 12}, 8),
		"no-disruption.json":      DisruptionBudget(all.Set, nil, 0),
	} {
		got, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name, append(got, '\n'))
	}
}

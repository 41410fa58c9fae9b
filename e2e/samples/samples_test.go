package samples

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

const folder = "../../deploy/samples"

// samples says of each file how many pods it makes, and what must be seen of it once its
// set is Available.
var samples = map[string]struct {
	pods int
	see  func(t *testing.T, set *harness.Set)
	// patch of the set, for what shows only when pods take their time.
	patch string
}{
	"plain": {pods: 12, see: func(t *testing.T, set *harness.Set) {
		p := env.Pod(t, set.Namespace, "plain-2-3")
		for name, want := range map[string]string{"LWS_WORKER_INDEX": "3", "LWS_GROUP_SIZE": "4", "LWS_LEADER_ADDRESS": "plain-2.plain." + set.Namespace} {
			if got := value(p, name); got != want {
				t.Errorf("%s=%s, want %s", name, got, want)
			}
		}
	}},
	"two-templates": {pods: 6, see: func(t *testing.T, set *harness.Set) {
		for _, p := range env.Pods(t, set) {
			want := "worker"
			if p.Labels[lwsv1.LabelWorkerIndex] == "0" {
				want = "router"
			} else if got, want := value(&p, "ROUTER"), "http://"+value(&p, "LWS_LEADER_ADDRESS")+":80"; strings.ReplaceAll(got, "$(LWS_LEADER_ADDRESS)", value(&p, "LWS_LEADER_ADDRESS")) != want {
				t.Errorf("%s: ROUTER=%s, want %s", p.Name, got, want)
			}
			if p.Labels["role"] != want {
				t.Errorf("%s has role %s, want %s", p.Name, p.Labels["role"], want)
			}
		}
		serves(t, set, "two-templates-leader")
	}},
	"leader-first": {pods: 6, see: leadersCameFirst, patch: `- op: add
  path: /spec/leaderWorkerTemplate/leaderTemplate/metadata
  value: {annotations: {` + cluster.AnnotationReadyAfter + `: 3s}}`},
	"unique-per-replica": {pods: 4, see: func(t *testing.T, set *harness.Set) {
		for _, p := range env.Pods(t, set) {
			service := "unique-" + p.Labels[lwsv1.LabelGroupIndex]
			if _, err := env.Kube.CoreV1().Services(set.Namespace).Get(t.Context(), service, metav1.GetOptions{}); err != nil || p.Spec.Subdomain != service {
				t.Errorf("%s is in %s: %v", p.Name, p.Spec.Subdomain, err)
			}
		}
	}},
	"claims": {pods: 4, see: func(t *testing.T, set *harness.Set) {
		for _, p := range env.Pods(t, set) {
			claim, err := env.Kube.CoreV1().PersistentVolumeClaims(set.Namespace).Get(t.Context(), "cache-"+p.Name, metav1.GetOptions{})
			if err != nil || claim.Status.Phase != corev1.ClaimBound || p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != claim.Name {
				t.Errorf("the claim of %s: %v, %v", p.Name, claim, err)
			}
		}
	}},
	"gang": {pods: 8, see: func(t *testing.T, set *harness.Set) { scheduledAsOne(t, set, 4) }},
	"gang-rack": {pods: 6, see: func(t *testing.T, set *harness.Set) {
		scheduledAsOne(t, set, 3)
		for group, racks := range domains(t, set, cluster.RackLabel, lwsv1.LabelGroupIndex) {
			if len(racks) != 1 {
				t.Errorf("group %s is in racks %q", group, racks)
			}
		}
	}},
	"exclusive-rack": {pods: 6, see: func(t *testing.T, set *harness.Set) {
		eachAlone(t, set, 2, cluster.RackLabel, lwsv1.LabelGroupIndex)
	}},
	"subgroups": {pods: 9, see: func(t *testing.T, set *harness.Set) {
		eachAlone(t, set, 2, cluster.RackLabel, lwsv1.LabelSubGroupIndex)
		if index, has := env.Pod(t, set.Namespace, "subgroups-0").Labels[lwsv1.LabelSubGroupIndex]; has {
			t.Errorf("the leader is in subgroup %s", index)
		}
	}},
	"tpu": {pods: 8, see: func(t *testing.T, set *harness.Set) {
		eachAlone(t, set, 2, labelNodePool, lwsv1.LabelGroupIndex)
		onNodesOfTheirOwn(t, set)
		for _, p := range env.Pods(t, set) {
			leader := "tpu-" + p.Labels[lwsv1.LabelGroupIndex]
			hosts := fmt.Sprintf("%[1]s.tpu,%[1]s-1.tpu,%[1]s-2.tpu,%[1]s-3.tpu", leader)
			for name, want := range map[string]string{"TPU_WORKER_HOSTNAMES": hosts, "TPU_WORKER_ID": p.Labels[lwsv1.LabelWorkerIndex], "TPU_NAME": leader} {
				if got := value(&p, name); got != want {
					t.Errorf("%s: %s=%s, want %s", p.Name, name, got, want)
				}
			}
		}
	}},
	"vllm": {pods: 2, see: func(t *testing.T, set *harness.Set) {
		onNodesOfTheirOwn(t, set)
		runs(t, set, func(group, worker string) []string {
			last := "--headless"
			if worker == "0" {
				last = "--port=8080"
			}
			return []string{"--pipeline-parallel-size=2", "--nnodes=2", "--node-rank=" + worker, "--master-addr=vllm-" + group + ".vllm." + set.Namespace, last}
		})
		serves(t, set, "vllm-leader")
	}},
	"sglang": {pods: 4, see: func(t *testing.T, set *harness.Set) {
		onNodesOfTheirOwn(t, set)
		runs(t, set, func(group, worker string) []string {
			return []string{"--nnodes=2", "--node-rank=" + worker, "--dist-init-addr=sglang-" + group + ".sglang." + set.Namespace + ":20000"}
		})
		serves(t, set, "sglang-leader")
	}},
	"llama-cpp": {pods: 4, see: func(t *testing.T, set *harness.Set) {
		serves(t, set, "llama-cpp-leader")
	}},
	"pytorch": {pods: 4, see: func(t *testing.T, set *harness.Set) {
		onNodesOfTheirOwn(t, set)
		runs(t, set, func(group, worker string) []string {
			return []string{"--nnodes=4", "--node-rank=" + worker, "--master-addr=pytorch-" + group + ".pytorch." + set.Namespace, "/work/train.py"}
		})
	}},
}

// scheduledAsOne fails the test unless each group has a PodGroup that asks for all of its
// pods.
func scheduledAsOne(t *testing.T, set *harness.Set, size int32) {
	t.Helper()
	for _, p := range env.Pods(t, set) {
		if p.Spec.SchedulingGroup == nil {
			t.Errorf("%s is in no PodGroup", p.Name)
			continue
		}
		g, err := env.Kube.SchedulingV1beta1().PodGroups(set.Namespace).Get(t.Context(), *p.Spec.SchedulingGroup.PodGroupName, metav1.GetOptions{})
		if err != nil || g.Spec.SchedulingPolicy.Gang == nil || g.Spec.SchedulingPolicy.Gang.MinCount != size {
			t.Errorf("PodGroup of %s: %+v, %v", p.Name, g, err)
		}
	}
}

func TestSamples(t *testing.T) {
	makeTPUSlices(t)
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "kustomization" {
			continue
		}
		sample, known := samples[name]
		if !known {
			t.Errorf("what %s shows is not known to this test", file)
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			how := []string{"-f", file}
			if sample.patch != "" {
				how = []string{"-k", patched(t, file, sample.patch)}
			}
			env.Kubectl(t, append([]string{"apply", "-n", ns}, how...)...)
			set := only(t, ns)
			set = env.WaitAvailable(t, set)
			if pods := env.Pods(t, set); len(pods) != sample.pods {
				t.Errorf("%d pods, want %d", len(pods), sample.pods)
			}
			sample.see(t, set)
			env.AtRest(t, ns)
			env.Kubectl(t, append([]string{"delete", "-n", ns}, how...)...)
			gone(t, set)
		})
	}
	if found != len(samples) {
		t.Errorf("%d samples, but %d are known", found, len(samples))
	}
}

// patched is a folder for kubectl apply -k with a sample and a patch of its set.
func patched(t *testing.T, file, patch string) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	overlay := "resources: [sample.yaml]\npatches:\n- target: {kind: LeaderWorkerSet}\n  patch: |\n    " + strings.ReplaceAll(patch, "\n", "\n    ") + "\n"
	for name, content := range map[string][]byte{"sample.yaml": data, "kustomization.yaml": []byte(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// only is the one set of a namespace.
func only(t *testing.T, namespace string) *harness.Set {
	t.Helper()
	list, err := env.Sets.LeaderWorkerSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d sets, want one: %v", len(list.Items), err)
	}
	return &list.Items[0]
}

// gone waits until nothing of a deleted set is left: its pods, and the claims that go with it.
func gone(t *testing.T, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "all of "+set.Name+" to be gone", harness.DefaultTimeout, func() (bool, string) {
		claims, err := env.Kube.CoreV1().PersistentVolumeClaims(set.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods := env.Pods(t, set)
		return len(pods) == 0 && len(claims.Items) == 0, fmt.Sprintf("%d pods, %d claims", len(pods), len(claims.Items))
	})
}

// leadersCameFirst fails the test unless the workers were made only once their leaders were
// Ready, which takes three seconds; times are whole seconds.
func leadersCameFirst(t *testing.T, set *harness.Set) {
	t.Helper()
	leaders := map[string]time.Time{}
	for _, p := range env.Pods(t, set) { // by name: a leader comes before its workers
		group := p.Labels[lwsv1.LabelGroupIndex]
		if p.Labels[lwsv1.LabelWorkerIndex] == "0" {
			leaders[group] = p.CreationTimestamp.Time
		} else if after := p.CreationTimestamp.Sub(leaders[group]); after < 2*time.Second {
			t.Errorf("%s was made %s after its leader", p.Name, after)
		}
	}
}

package contract

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// podCase is a set and what makes its pods differ from the plainest ones.
type podCase struct {
	name     string
	replicas int32
	size     int32
	options  []harness.Option
	// unique: each group has its own Service.
	unique bool
	// envs are the variables after ours, by container; without an entry they are
	// the template's.
	envs map[string][]corev1.EnvVar
	// more are labels and annotations beyond those of every pod.
	moreLabels, moreAnnotations func(ns string, g, w int) map[string]string
}

func podCases() []podCase {
	return []podCase{
		{name: "one", replicas: 3, size: 1},
		{name: "one-leader", replicas: 1, size: 1, options: []harness.Option{harness.Leader(rich("lead")), harness.LeaderReady}, envs: richEnv},
		{name: "two", replicas: 2, size: 2, options: []harness.Option{harness.Worker(rich("work"))}, envs: richEnv},
		{name: "two-leader", replicas: 2, size: 2, options: []harness.Option{harness.Leader(rich("lead")), harness.UniquePerReplica}, unique: true, envs: richEnv},
		{name: "eight", replicas: 2, size: 8, options: []harness.Option{harness.Worker(rich("work")), harness.LeaderReady}, envs: richEnv},
		{name: "eight-leader", replicas: 2, size: 8, unique: true, envs: richEnv, options: []harness.Option{
			harness.Leader(rich("lead")), harness.Worker(rich("work")), harness.UniquePerReplica, harness.LeaderReady}},
		{name: "subgroups", replicas: 2, size: 8, options: []harness.Option{subGroups(4, "")},
			moreLabels: func(ns string, g, w int) map[string]string {
				return subGroupLabels("subgroups-"+itoa(g), []int{0, 0, 0, 0, 1, 1, 1, 1}[w])
			},
			moreAnnotations: always(map[string]string{
				"leaderworkerset.sigs.k8s.io/subgroup-size": "4", "leaderworkerset.sigs.k8s.io/subgroup-policy-type": "LeaderWorker"})},
		{name: "subgroups-odd", replicas: 1, size: 5, options: []harness.Option{subGroups(2, lwsv1.SubGroupPolicyLeaderWorker)},
			moreLabels: func(ns string, g, w int) map[string]string {
				return subGroupLabels("subgroups-odd-"+itoa(g), []int{0, 0, 0, 1, 1}[w])
			},
			moreAnnotations: always(map[string]string{
				"leaderworkerset.sigs.k8s.io/subgroup-size": "2", "leaderworkerset.sigs.k8s.io/subgroup-policy-type": "LeaderWorker"})},
		{name: "subgroups-excluded", replicas: 1, size: 5, options: []harness.Option{subGroups(2, lwsv1.SubGroupPolicyLeaderExcluded)},
			moreLabels: func(ns string, g, w int) map[string]string {
				if w == 0 {
					return nil
				}
				return subGroupLabels("subgroups-excluded-"+itoa(g), []int{-1, 0, 0, 1, 1}[w])
			},
			moreAnnotations: always(map[string]string{
				"leaderworkerset.sigs.k8s.io/subgroup-size": "2", "leaderworkerset.sigs.k8s.io/subgroup-policy-type": "LeaderExcluded"})},
	}
}

// rich fills a template with what must come through unchanged: metadata, an init
// container and a sidecar, and variables that refer to ours or bear their names.
func rich(tag string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		always := corev1.ContainerRestartPolicyAlways
		t.Labels = map[string]string{"app": tag, "leaderworkerset.sigs.k8s.io/name": "users-own"}
		t.Annotations = map[string]string{"example.com/note": tag, cluster.AnnotationReadyAfter: "300ms"}
		t.Finalizers = []string{"example.com/" + tag}
		t.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
		t.Spec.InitContainers = []corev1.Container{
			{Name: "prepare", Image: "example.com/prepare:1", Env: []corev1.EnvVar{{Name: "WAIT_FOR", Value: "$(LWS_LEADER_ADDRESS)"}}},
			{Name: "proxy", Image: "example.com/proxy:1", RestartPolicy: &always},
		}
		t.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "FIRST", Value: "1"},
			{Name: "LWS_GROUP_SIZE", Value: "999"},
			{Name: "MASTER", Value: "tcp://$(LWS_LEADER_ADDRESS):$(FIRST)"},
			{Name: "LWS_LEADER_ADDRESS", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		}
	}
}

// richEnv is what is left of the variables of a rich template.
var richEnv = map[string][]corev1.EnvVar{
	"worker":  {{Name: "FIRST", Value: "1"}, {Name: "MASTER", Value: "tcp://$(LWS_LEADER_ADDRESS):$(FIRST)"}},
	"leader":  {{Name: "FIRST", Value: "1"}, {Name: "MASTER", Value: "tcp://$(LWS_LEADER_ADDRESS):$(FIRST)"}},
	"prepare": {{Name: "WAIT_FOR", Value: "$(LWS_LEADER_ADDRESS)"}},
	"proxy":   {},
}

func subGroups(size int32, kind lwsv1.SubGroupPolicyType) harness.Option {
	return func(set *harness.Set) {
		policy := &lwsv1.SubGroupPolicy{SubGroupSize: &size}
		if kind != "" {
			policy.Type = &kind
		}
		set.Spec.LeaderWorkerTemplate.SubGroupPolicy = policy
	}
}

func subGroupLabels(leader string, index int) map[string]string {
	return map[string]string{
		"leaderworkerset.sigs.k8s.io/subgroup-index": itoa(index),
		"leaderworkerset.sigs.k8s.io/subgroup-key":   sha1Hex(leader + "/" + itoa(index)),
	}
}

func always(m map[string]string) func(string, int, int) map[string]string {
	return func(string, int, int) map[string]string { return m }
}

func TestPods(t *testing.T) {
	t.Parallel()
	for _, c := range podCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c *podCase) run(t *testing.T) {
	ns := env.Namespace(t)
	options := append([]harness.Option{harness.Replicas(c.replicas), harness.Size(c.size)}, c.options...)
	set := env.Create(t, harness.NewSet(ns, c.name, options...))
	set = env.WaitAvailable(t, set)

	pods := map[string]corev1.Pod{}
	for _, p := range env.Pods(t, set) {
		pods[p.Name] = p
	}
	if want := int(c.replicas * c.size); len(pods) != want {
		t.Fatalf("%d pods, want %d: %v", len(pods), want, slices.Sorted(maps.Keys(pods)))
	}
	revision := oneRevision(t, set)
	for g := range int(c.replicas) {
		for w := range int(c.size) {
			want := c.want(set, revision.Labels["leaderworkerset.sigs.k8s.io/template-revision-hash"], g, w)
			got, exists := pods[want.Name]
			if !exists {
				t.Errorf("no pod %s", want.Name)
				continue
			}
			comparePod(t, want, &got)
		}
	}
}

// want works out the pod that has to exist.
func (c *podCase) want(set *harness.Set, revisionKey string, g, w int) *corev1.Pod {
	leader := set.Name + "-" + itoa(g)
	name, generateName, podIndex, service := leader, set.Name+"-", g, set.Name
	if w > 0 {
		name, generateName, podIndex = leader+"-"+itoa(w), leader+"-", w
	}
	if c.unique {
		service = leader
	}
	template := set.Spec.LeaderWorkerTemplate.WorkerTemplate.DeepCopy()
	if l := set.Spec.LeaderWorkerTemplate.LeaderTemplate; l != nil && w == 0 {
		template = l.DeepCopy()
	}
	labels := map[string]string{}
	maps.Copy(labels, template.Labels)
	maps.Copy(labels, map[string]string{
		"leaderworkerset.sigs.k8s.io/name":                   set.Name,
		"leaderworkerset.sigs.k8s.io/group-index":            itoa(g),
		"leaderworkerset.sigs.k8s.io/worker-index":           itoa(w),
		"leaderworkerset.sigs.k8s.io/group-key":              sha1Hex(set.Namespace + "/" + leader),
		"leaderworkerset.sigs.k8s.io/template-revision-hash": revisionKey,
		"apps.kubernetes.io/pod-index":                       itoa(podIndex),
		"statefulset.kubernetes.io/pod-name":                 name,
		"controller-revision-hash":                           revisionKey,
	})
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations["leaderworkerset.sigs.k8s.io/size"] = itoa(c.size)
	annotations["leaderworkerset.x-k8s.io/incarnation"] = "1"
	if w > 0 {
		annotations["leaderworkerset.sigs.k8s.io/leader-name"] = leader
	} else if c.unique {
		annotations["leaderworkerset.sigs.k8s.io/subdomainPolicy"] = "UniquePerReplica"
	}
	if c.moreLabels != nil {
		maps.Copy(labels, c.moreLabels(set.Namespace, g, w))
		maps.Copy(annotations, c.moreAnnotations(set.Namespace, g, w))
	}
	ours := []corev1.EnvVar{
		{Name: "LWS_LEADER_ADDRESS", Value: leader + "." + service + "." + set.Namespace},
		{Name: "LWS_GROUP_SIZE", Value: itoa(c.size)},
		{Name: "LWS_WORKER_INDEX", Value: itoa(w)},
	}
	spec := template.Spec
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			rest := list[i].Env
			if users, ok := c.envs[list[i].Name]; ok && len(rest) > 0 {
				rest = users
			}
			list[i].Env = slices.Concat(ours, rest)
		}
	}
	spec.Hostname, spec.Subdomain = name, service
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: generateName, Namespace: set.Namespace, Labels: labels, Annotations: annotations,
			Finalizers: template.Finalizers, OwnerReferences: ownedBy(set),
		},
		Spec: spec,
	}
}

// comparePod compares all metadata that is not the API server's own, and the whole
// spec: with what the API server makes of the wanted pod under another name, so
// that both have the same defaults.
func comparePod(t *testing.T, want, got *corev1.Pod) {
	t.Helper()
	meta := func(p *corev1.Pod) metav1.ObjectMeta {
		labels := maps.Clone(p.Labels)
		delete(labels, corev1.LabelTopologyZone) // the API server adds it when the pod is bound
		return metav1.ObjectMeta{Name: p.Name, GenerateName: p.GenerateName, Namespace: p.Namespace, Labels: labels,
			Annotations: p.Annotations, Finalizers: p.Finalizers, OwnerReferences: p.OwnerReferences}
	}
	if diff := cmp.Diff(meta(want), meta(got)); diff != "" {
		t.Errorf("pod %s, metadata (- want, + got):\n%s", got.Name, diff)
	}
	trial := want.DeepCopy()
	trial.Name, trial.GenerateName, trial.OwnerReferences = "trial", "", nil
	defaulted, err := env.Kube.CoreV1().Pods(want.Namespace).Create(t.Context(), trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatalf("pod %s: the wanted pod is refused: %v", want.Name, err)
	}
	if diff := cmp.Diff(comparable(defaulted), comparable(got)); diff != "" {
		t.Errorf("pod %s, spec (- want, + got):\n%s", got.Name, diff)
	}
}

// comparable is the spec without what scheduler and admission add at random.
func comparable(p *corev1.Pod) corev1.PodSpec {
	spec := p.Spec.DeepCopy()
	spec.NodeName = ""
	spec.Volumes = nil
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			list[i].VolumeMounts = nil
		}
	}
	return *spec
}

// TestKeysAsPublished holds two hashes still that other software computes itself.
func TestKeysAsPublished(t *testing.T) {
	t.Parallel()
	const ns = "keys" // the literals below depend on it
	if err := env.Cluster.Namespace(t.Context(), ns); apierrors.IsAlreadyExists(err) {
		t.Skip("the test has run on this cluster already")
	} else if err != nil {
		t.Fatal(err)
	}
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Size(2), subGroups(2, ""))))
	for _, p := range env.Pods(t, set) {
		// printf keys/web-0 | sha1sum; printf web-0/0 | sha1sum
		if got, want := p.Labels["leaderworkerset.sigs.k8s.io/group-key"], "2211154d3ebc63310aec8b9cc42193d4bd25511e"; got != want {
			t.Errorf("pod %s: group-key %q, want %q", p.Name, got, want)
		}
		if got, want := p.Labels["leaderworkerset.sigs.k8s.io/subgroup-key"], "ae4276f76b4b56f5d987d03daf2ed77fbd3521f7"; got != want {
			t.Errorf("pod %s: subgroup-key %q, want %q", p.Name, got, want)
		}
	}
}

// TestTPU looks at the environment of containers that hold TPUs.
func TestTPU(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	tpu := func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MINE", Value: "$(LWS_WORKER_INDEX)"}}
		template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"google.com/tpu": resource.MustParse("1")}
	}
	env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "tpu", harness.Size(2), harness.Worker(tpu))))
	for w, name := range []string{"tpu-0", "tpu-0-1"} {
		pod := env.Pod(t, ns, name)
		want := []corev1.EnvVar{
			{Name: "LWS_LEADER_ADDRESS", Value: "tpu-0.tpu." + ns},
			{Name: "LWS_GROUP_SIZE", Value: "2"},
			{Name: "LWS_WORKER_INDEX", Value: itoa(w)},
			{Name: "MINE", Value: "$(LWS_WORKER_INDEX)"},
			{Name: "TPU_WORKER_HOSTNAMES", Value: "tpu-0.tpu,tpu-0-1.tpu"},
			{Name: "TPU_WORKER_ID", Value: itoa(w)},
			{Name: "TPU_NAME", Value: "tpu-0"},
			{Name: "TPU_PROCESS_ADDRESSES", Value: "tpu-0.tpu:8476,tpu-0-1.tpu:8476"},
			{Name: "TPU_PROCESS_PORT", Value: "8476"},
		}
		got := pod.Spec.Containers[0].Env
		byName := func(a, b corev1.EnvVar) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }
		if diff := cmp.Diff(want[:4], got[:min(4, len(got))]); diff != "" {
			t.Errorf("%s: the first variables (- want, + got):\n%s", name, diff)
		}
		// The order among those of TPUs means nothing.
		slices.SortFunc(want, byName)
		slices.SortFunc(got, byName)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: variables (- want, + got):\n%s", name, diff)
		}
		wantMark := map[int]string{0: "", 1: "true"}[w]
		if mark := pod.Annotations["leaderworkerset.sigs.k8s.io/leader-requests-tpus"]; mark != wantMark {
			t.Errorf("%s: leader-requests-tpus %q, want %q", name, mark, wantMark)
		}
	}
}

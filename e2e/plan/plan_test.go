package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/cli/plan"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// prefix of the annotations that steer rollouts.
const prefix = "rollout.leaderworkerset.x-k8s.io/"

func image(set *harness.Set) {
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
}

func budget(unavailable, surge string, partition int32) harness.Option {
	return func(set *harness.Set) {
		set.Spec.RolloutStrategy = lwsv1.RolloutStrategy{Type: lwsv1.RollingUpdateStrategyType, RollingUpdateConfiguration: &lwsv1.RollingUpdateConfiguration{
			Partition: &partition, MaxUnavailable: intstr.Parse(unavailable), MaxSurge: intstr.Parse(surge)}}
	}
}

func annotated(key, value string) harness.Option { return harness.Annotation(prefix+key, value) }

// onNode has all pods run on one node, each with so many of its 8 GPUs.
func onNode(node string, gpus string) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) {
		t.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	})
}

func gang(set *harness.Set) { set.Spec.Scheduling = &lwsv1.Scheduling{} }

// claimed gives each pod a claim that goes when the set is scaled down.
func claimed(set *harness.Set) {
	t := &set.Spec.LeaderWorkerTemplate
	t.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}}
	t.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
}

func hold(set *harness.Set) { harness.Worker(harness.Annotated(cluster.AnnotationHold, "true"))(set) }

func letGo(set *harness.Set) { set.Spec.LeaderWorkerTemplate.WorkerTemplate.Annotations = nil }

type testCase struct {
	before []harness.Option
	// prepare brings the set into the state from which the change is made; nil: it is
	// Available.
	prepare func(t *testing.T, set *harness.Set)
	// change is what the manifest says afterwards; none: only annotations change.
	change   []harness.Option
	annotate []string
	args     []string
	// down are the waves of teardowns, in short, to see that something is compared.
	down string
}

func some(options ...harness.Option) []harness.Option {
	return append([]harness.Option{harness.Replicas(4), harness.Size(2)}, options...)
}

// cases are those of which each is planned, then done.
func cases() map[string]testCase {
	soon := func() string { return time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339) }
	return map[string]testCase{
		"template":         {before: some(), change: []harness.Option{image}, down: "3 2 1 0"},
		"size up":          {before: some(), change: []harness.Option{harness.Size(3)}, down: "3 2 1 0"},
		"size down":        {before: some(), change: []harness.Option{harness.Size(1)}, down: "3 2 1 0"},
		"subdomain policy": {before: some(), change: []harness.Option{harness.UniquePerReplica}, down: "3 2 1 0"},
		"up on a full node": {before: []harness.Option{harness.Size(2), onNode("node-0", "4")},
			change: []harness.Option{harness.Replicas(2), onNode("node-0", "2")}, down: "0"},
		"surge on a full node": {before: []harness.Option{onNode("node-1", "8"), budget("0", "1", 0)},
			change: []harness.Option{image}, down: ""},
		"surge":                {before: some(budget("0", "1", 0)), change: []harness.Option{image}, down: "3 2 1 0"},
		"partition with surge": {before: some(budget("1", "1", 2)), change: []harness.Option{image}, down: "3 2"},
		"two broken groups":    {before: some(hold), prepare: free(0, 2), change: []harness.Option{letGo}, down: "3,1,2 0"},
		"broken revision":      {before: some(), change: []harness.Option{hold}, args: []string{"--assume-broken"}, down: "3"},
		"paused":               {before: some(), change: []harness.Option{image, annotated("paused", "true")}, down: ""},
		"undo": {before: some(), prepare: func(t *testing.T, set *harness.Set) {
			env.WaitAvailable(t, set)
			harness.Size(3)(set)
			env.Kubectl(t, "apply", "-f", manifest(t, set))
			harness.WaitFor(t, "the new size", harness.DefaultTimeout, func() (bool, string) {
				s := env.Get(t, set)
				return s.Status.UpdatedReplicas == 4 && s.Status.ReadyReplicas == 4 && s.Status.ObservedGeneration == s.Generation, env.Describe(t, s)
			})
		}, annotate: []string{"undo=previous"}, down: "3 2 1 0"},
		"restarted":          {before: some(), annotate: []string{"restarted-at=" + soon()}, down: "3 2 1 0"},
		"recycle":            {before: some(), annotate: []string{"recycle=0,2@@soon"}, down: "2 0"},
		"up with template":   {before: []harness.Option{harness.Replicas(3), harness.Size(2)}, change: []harness.Option{harness.Replicas(6), image}, down: "2 1 0"},
		"down with template": {before: []harness.Option{harness.Replicas(6), harness.Size(2)}, change: []harness.Option{harness.Replicas(3), image}, down: "5,4,3,2 1 0"},
		"to nothing":         {before: []harness.Option{harness.Replicas(10)}, change: []harness.Option{harness.Replicas(0)}, down: "9,8,7,6,5,4,3,2,1,0"},
		"min-ready":          {before: some(annotated("min-ready", "3s")), prepare: established, change: []harness.Option{image}, down: "3 2 1 0"},
		"gangs":              {before: some(gang), change: []harness.Option{image, harness.Size(3)}, down: "3 2 1 0"},
		"half a gang fits": {before: []harness.Option{harness.Size(3), gang, onNode("node-2", "2")},
			change: []harness.Option{harness.Replicas(2)}, down: ""},
		"claims go":   {before: some(claimed), change: []harness.Option{harness.Replicas(2)}, down: "3,2"},
		"percentages": {before: []harness.Option{harness.Replicas(6), budget("34%", "17%", 0)}, change: []harness.Option{image}, down: "5,4 3,2,1,0"},
	}
}

// established waits until all groups have been Ready for long enough.
func established(t *testing.T, set *harness.Set) {
	harness.WaitFor(t, "all groups to be established", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.EstablishedReplicas == *set.Spec.Replicas, env.Describe(t, s)
	})
}

// free lets the pods of some groups run that are held.
func free(indices ...int) func(t *testing.T, set *harness.Set) {
	return func(t *testing.T, set *harness.Set) {
		pods := func() []corev1.Pod {
			return slices.DeleteFunc(env.Pods(t, set), func(p corev1.Pod) bool {
				return !slices.ContainsFunc(indices, func(i int) bool { return p.Labels[lwsv1.LabelGroupIndex] == fmt.Sprint(i) })
			})
		}
		harness.WaitFor(t, "the pods", harness.DefaultTimeout, func() (bool, string) { return len(pods()) == 2*len(indices), "" })
		for _, p := range pods() {
			env.Annotate(t, p.Namespace, p.Name, cluster.AnnotationHold, nil)
		}
		harness.WaitFor(t, "some groups to be Ready", harness.DefaultTimeout, func() (bool, string) {
			s := env.Get(t, set)
			return s.Status.ReadyReplicas == int32(len(indices)) && s.Status.EstablishedReplicas == int32(len(indices)), env.Describe(t, s)
		})
	}
}

// TestPlanned plans each change, makes it, and compares.
func TestPlanned(t *testing.T) {
	for name, tc := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := harness.NewSet(env.Namespace(t), "web", tc.before...)
			env.Kubectl(t, "apply", "-f", manifest(t, set))
			if tc.prepare != nil {
				tc.prepare(t, set)
			} else {
				env.WaitAvailable(t, set)
			}
			args, apply := request(t, set, &tc)
			report := planned(t, append(args, tc.args...)...)
			waves := wavesOf(report)
			if got := shown(waves); got != tc.down {
				t.Errorf("planned are teardowns %q, want %q", got, tc.down)
			}
			stored := env.Get(t, set)
			pods := watchPods(t, stored)
			env.Kubectl(t, apply...)
			waitDone(t, stored, pods, report)
			compare(t, pods, report, waves)
			after := env.Get(t, set)
			if after.Status.UpdateRevision != report.Revision.Key {
				t.Errorf("planned is revision %s, made was %s", report.Revision.Key, after.Status.UpdateRevision)
			}
			if after.Status.ReadyReplicas != report.Ready.After {
				t.Errorf("in the end %d groups are Ready, planned are %d", after.Status.ReadyReplicas, report.Ready.After)
			}
		})
	}
}

// request is what to plan, and how to do it.
func request(t *testing.T, set *harness.Set, tc *testCase) (args, apply []string) {
	t.Helper()
	if len(tc.annotate) == 0 {
		for _, change := range tc.change {
			change(set)
		}
		file := manifest(t, set)
		return []string{"-f", file}, []string{"apply", "-f", file}
	}
	args, apply = []string{set.Name, "-n", set.Namespace}, []string{"annotate", "lws", set.Name, "-n", set.Namespace}
	for _, a := range tc.annotate {
		a = strings.ReplaceAll(a, "@soon", time.Now().Add(2*time.Second).UTC().Format(time.RFC3339))
		args, apply = append(args, "--annotate", a), append(apply, prefix+a)
	}
	return args, apply
}

func isDown(s *plan.Step) bool {
	return slices.Contains([]string{plan.ActionUpdate, plan.ActionRecreate, plan.ActionFailed, plan.ActionRemove}, s.Action)
}

// surge are the groups that stand in for others.
func surge(r *plan.Report) (out []int32) {
	for i := range r.Steps {
		if r.Steps[i].Action == plan.ActionSurge {
			out = append(out, r.Steps[i].Groups...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wavesOf are the teardowns, those of surge groups aside, which come when they are no
// longer needed: all that begins at one time is a wave.
func wavesOf(r *plan.Report) (waves [][]int32) {
	going := false
	extra := surge(r)
	for i := range r.Steps {
		s := &r.Steps[i]
		if !isDown(s) {
			going = false
			continue
		}
		groups := slices.DeleteFunc(slices.Clone(s.Groups), func(g int32) bool { return slices.Contains(extra, g) })
		if len(groups) == 0 {
			continue
		}
		if !going {
			waves = append(waves, nil)
		}
		waves[len(waves)-1] = append(waves[len(waves)-1], groups...)
		going = true
	}
	return waves
}

func shown(waves [][]int32) string {
	var out []string
	for _, wave := range waves {
		var groups []string
		for _, g := range wave {
			groups = append(groups, fmt.Sprint(g))
		}
		out = append(out, strings.Join(groups, ","))
	}
	return strings.Join(out, " ")
}

// waitDone waits until all has happened that was planned, and then for what must not.
func waitDone(t *testing.T, set *harness.Set, pods *seen, r *plan.Report) {
	t.Helper()
	want := 0
	for i := range r.Steps {
		if isDown(&r.Steps[i]) {
			want += len(r.Steps[i].Groups)
		}
	}
	harness.WaitFor(t, "what is planned", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		down, _, _, story, err := pods.sofar()
		if err != nil {
			t.Fatal(err)
		}
		done := len(down) >= want && s.Status.ObservedGeneration == s.Generation && s.Status.ReadyReplicas == r.Ready.After && len(s.Status.Recycling) == 0
		return done, strings.Join(story, "\n") + "\n" + env.Describe(t, s)
	})
	time.Sleep(2 * time.Second)
}

func compare(t *testing.T, pods *seen, r *plan.Report, waves [][]int32) {
	t.Helper()
	down, up, lowest, story, err := pods.sofar()
	if err != nil {
		t.Fatal(err)
	}
	extra := surge(r)
	var came []int32
	for _, g := range up {
		if g >= r.Replicas {
			came = append(came, g)
		}
	}
	slices.Sort(came)
	if d := gocmp.Diff(extra, slices.Compact(came)); d != "" {
		t.Errorf("surge groups, planned (-) and made (+):\n%s", d)
	}
	down = slices.DeleteFunc(down, func(g int32) bool { return slices.Contains(extra, g) })
	var made [][]int32
	for _, wave := range waves {
		n := min(len(wave), len(down))
		made = append(made, slices.Sorted(slices.Values(down[:n])))
		down = down[n:]
		slices.Sort(wave)
	}
	if len(down) > 0 {
		made = append(made, down)
	}
	if d := gocmp.Diff(waves, made); d != "" {
		t.Errorf("teardowns, planned (-) and made (+):\n%s", d)
	}
	if int32(lowest) != r.Ready.Lowest {
		t.Errorf("at the lowest %d groups were Ready, planned are %d", lowest, r.Ready.Lowest)
	}
	if t.Failed() {
		t.Logf("what happened:\n%s", strings.Join(story, "\n"))
	}
}

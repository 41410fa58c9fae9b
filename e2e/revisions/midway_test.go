package revisions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestCanary moves a partition down. What is below it stays as it is, and a group that
// has moved is not touched again.
func TestCanary(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(10), image("1"), rolling(3, 0, 9))
	change(t, set, image("2"))
	keepsTags(t, set, "1 1 1 1 1 1 1 1 1 2")
	env.WaitAvailable(t, set)
	change(t, set, rolling(3, 0, 5))
	keepsTags(t, set, "1 1 1 1 1 2 2 2 2 2")
	env.WaitAvailable(t, set)
	change(t, set, rolling(3, 0, 0))
	waitRolled(t, set)
	if got := incarnations(t, set); got != "2 2 2 2 2 2 2 2 2 2" {
		t.Errorf("incarnations %s", got)
	}
}

// TestPartitionWithSurge comes to rest with as many groups as there are to be, and none
// besides.
func TestPartitionWithSurge(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(3), image("1"), rolling(0, 1, 1))
	before := leaders(t, set, 0)
	change(t, set, image("2"))
	keepsTags(t, set, "1 2 2")
	env.WaitAvailable(t, set)
	untouched(t, set, before)
	env.AtRest(t, set.Namespace)
}

// TestNewSetWithPartition: a partition holds back updates, not the first revision.
func TestNewSetWithPartition(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(3), image("1"), rolling(1, 0, 2))
	if set.Status.UpdatedReplicas != 3 || tags(t, set) != "1 1 1" {
		t.Errorf("%d groups are updated, images %s", set.Status.UpdatedReplicas, tags(t, set))
	}
	env.AtRest(t, set.Namespace)
}

// midway is a set of which one group is on its way to the new revision and does not
// become Ready.
func midway(t *testing.T, replicas int32) *harness.Set {
	t.Helper()
	set := available(t, harness.Replicas(replicas), image("1"))
	change(t, set, image("2"), held)
	waitTags(t, set, strings.Repeat("1 ", int(replicas-1))+"2")
	return set
}

// TestScaledMidway scales a set in the middle of an update.
func TestScaledMidway(t *testing.T) {
	t.Parallel()
	for _, to := range []int32{5, 2, 0} {
		t.Run(fmt.Sprint(to), func(t *testing.T) {
			t.Parallel()
			set := midway(t, 3)
			env.Scale(t, set, to)
			waitRolled(t, set)
		})
	}
}

// TestChangedTwiceMidway: the groups that have not moved yet go straight to the last
// spec.
func TestChangedTwiceMidway(t *testing.T) {
	t.Parallel()
	set := midway(t, 3)
	change(t, set, image("3"))
	waitRolled(t, set)
	if got := tags(t, set); got != "3 3 3" {
		t.Errorf("images %s", got)
	}
	if set = env.Get(t, set); incarnations(t, set) != "2 2 3" {
		t.Errorf("incarnations %s, want 2 2 3", incarnations(t, set))
	}
}

// TestBadRevision: a revision that never becomes Ready gets as many groups as the
// budget allows, and no more; the spec before heals the set, and what was not touched
// stays so.
func TestBadRevision(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(4), image("1"), rolling(2, 0, 0))
	before := leaders(t, set, 0, 1)
	change(t, set, image("2"), held)
	keepsTags(t, set, "1 1 2 2")
	change(t, set, image("1"))
	waitRolled(t, set)
	untouched(t, set, before)
}

// TestAllBroken: where no group of the old revision ever became Ready, the corrected
// spec goes to all of them at once, without help.
func TestAllBroken(t *testing.T) {
	t.Parallel()
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(4), image("1"), held))
	waitTags(t, set, "1 1 1 1")
	at := version(t, change(t, set, image("2")))
	harness.WaitFor(t, "the set to be Available", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return rolled(s), env.Describe(t, s)
	})
	most := 0
	for _, m := range env.Verdict(t, set.Namespace).Since(set.UID, at) {
		most = max(most, 4-int(m.Alive))
	}
	if most < 2 {
		t.Errorf("groups went one after the other: at most %d of 4 were gone at one time", most)
	}
	env.AtRest(t, set.Namespace)
}

// TestNotReadyGoesFirst: a group that does not serve anyway goes first, and those that
// do wait for it.
func TestNotReadyGoesFirst(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(3), image("1"))
	yes := ""
	env.Annotate(t, set.Namespace, "web-1", cluster.AnnotationUnready, &yes)
	env.WaitCondition(t, set, lwsv1.ConditionAvailable, metav1.ConditionFalse)
	before := leaders(t, set, 0, 2)
	change(t, set, image("2"), held)
	keepsTags(t, set, "1 2 1")
	untouched(t, set, before)
	waitRolled(t, set)
}

// TestBlip: that all groups are not Ready for a while, as when nothing is heard of any
// node, is no reason to touch more of them than the budget allows.
func TestBlip(t *testing.T) {
	t.Parallel()
	set := midway(t, 4)
	before := leaders(t, set, 0, 1, 2)
	yes := ""
	for i := range 3 {
		env.Annotate(t, set.Namespace, fmt.Sprintf("web-%d", i), cluster.AnnotationUnready, &yes)
	}
	harness.WaitFor(t, "no group to be Ready", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.ReadyReplicas == 0, env.Describe(t, s)
	})
	for range 3 {
		keepsTags(t, set, "1 1 1 2")
	}
	for i := range 3 {
		env.Annotate(t, set.Namespace, fmt.Sprintf("web-%d", i), cluster.AnnotationUnready, nil)
	}
	untouched(t, set, before)
	waitRolled(t, set)
}

// TestFullCluster: a change that splits the groups, on nodes that have room for the old
// ones only. Where one may be unavailable it goes through, with 0 it waits and says for
// what.
func TestFullCluster(t *testing.T) {
	t.Parallel()
	for _, unavailable := range []int32{1, 0} {
		t.Run(fmt.Sprint(unavailable), func(t *testing.T) {
			t.Parallel()
			budget := rolling(unavailable, 1-unavailable, 0)
			set := available(t, gpus("pool-"+fmt.Sprint(unavailable), 8), budget, image("1"), addNode(t, "pool-"+fmt.Sprint(unavailable)))
			change(t, set, gpus("pool-"+fmt.Sprint(unavailable), 4), harness.Replicas(2), image("2"), harness.Annotation(lwsv1.AnnotationProgressDeadline, "3s"))
			if unavailable == 0 {
				c := env.WaitCondition(t, set, lwsv1.ConditionStalled, metav1.ConditionTrue)
				if !strings.Contains(c.Message, "nvidia.com/gpu") {
					t.Errorf("Stalled does not say what is waited for: %s", c.Message)
				}
				if got := tags(t, set); !strings.HasPrefix(got, "1") {
					t.Errorf("images %s: group 0 was taken down", got)
				}
				change(t, set, rolling(1, 0, 0))
			}
			waitRolled(t, set)
		})
	}
}

// gpus has the pods ask for GPUs of a pool.
func gpus(pool string, n int64) harness.Option {
	return harness.Worker(func(t *corev1.PodTemplateSpec) {
		t.Spec.NodeSelector = map[string]string{"pool": pool}
		amount := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
		t.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amount, Limits: amount}
	})
}

// addNode adds a node of 8 GPUs to a pool.
func addNode(t *testing.T, pool string) harness.Option {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pool, Labels: map[string]string{"pool": pool},
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	node.Status.Capacity = cluster.DefaultNodeCapacity()
	node.Status.Allocatable = cluster.DefaultNodeCapacity()
	if _, err := env.Kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func(*harness.Set) {}
}

// TestTwoWaves: 6 groups of which 3 may be unavailable are updated in two waves.
func TestTwoWaves(t *testing.T) {
	t.Parallel()
	set := available(t, harness.Replicas(6), image("1"), rolling(3, 0, 0))
	change(t, set, image("2"), harness.Worker(harness.Annotated(cluster.AnnotationReadyAfter, "8s")))
	waitRolled(t, set)
	var created []int64
	for _, p := range env.Pods(t, set) {
		created = append(created, p.CreationTimestamp.Unix())
	}
	slices.Sort(created)
	if created[3]-created[2] < 7 || created[2]-created[0] >= 7 || created[5]-created[3] >= 7 {
		t.Errorf("the groups were made at seconds %v, not in two waves of 3", created)
	}
}

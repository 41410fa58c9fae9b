package steer

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// containerStates are what a kubelet says of a container that does not get on.
var containerStates = map[string]corev1.ContainerStatus{
	"image": {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: `Back-off pulling image "example.com/worker:2"`}}},
	"crash loop": {RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}},
	"probe": {State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}},
}

// report has a pod that kwok holds say this of its container.
func report(t *testing.T, ns, pod string, status corev1.ContainerStatus) {
	t.Helper()
	status.Name, status.Image = "worker", "example.com/worker:2"
	phase := corev1.PodPending
	if status.State.Running != nil || status.RestartCount > 0 {
		phase = corev1.PodRunning
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase, "containerStatuses": []corev1.ContainerStatus{status}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Kube.CoreV1().Pods(ns).Patch(t.Context(), pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// held waits for a new pod that waits on its node.
func held(t *testing.T, ns, name string) {
	t.Helper()
	harness.WaitFor(t, "pod "+name+" to be held", harness.DefaultTimeout, func() (bool, string) {
		p, err := env.Kube.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != "" && p.DeletionTimestamp == nil && p.Annotations[cluster.AnnotationHold] != "", ""
	})
}

// release lets all pods of a set run, and those that come after.
func release(t *testing.T, set *harness.Set) {
	t.Helper()
	for _, p := range env.Pods(t, set) {
		if p.Annotations[cluster.AnnotationHold] != "" {
			report(t, set.Namespace, p.Name, corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}})
			pending := []byte(`{"status":{"phase":"Pending"}}`)
			if _, err := env.Kube.CoreV1().Pods(set.Namespace).Patch(t.Context(), p.Name, types.MergePatchType, pending, metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
			env.Annotate(t, set.Namespace, p.Name, cluster.AnnotationHold, nil)
		}
	}
}

// stalled waits for the condition and compares what it says of the cause.
func stalled(t *testing.T, set *harness.Set, parts ...string) {
	t.Helper()
	harness.WaitFor(t, "Stalled with the cause", harness.DefaultTimeout, func() (bool, string) {
		for _, c := range env.Get(t, set).Status.Conditions {
			if c.Type != lwsv1.ConditionStalled || c.Status != "True" || c.Reason != lwsv1.ReasonProgressDeadline {
				continue
			}
			lacks := ""
			for _, part := range parts {
				if !strings.Contains(c.Message, part) {
					lacks += " " + part
				}
			}
			return lacks == "", "lacks" + lacks + " in " + c.Message
		}
		return false, env.Describe(t, env.Get(t, set))
	})
	env.WaitEvent(t, set, "Warning", "RolloutStalled", "Nothing has moved for 2s: group 2")
}

// TestStalled: a rollout that does not get on says so when its deadline is over, and
// which pod is the cause and why; no further group moves, and when the cause is gone
// it goes on by itself.
func TestStalled(t *testing.T) {
	t.Parallel()
	for name, says := range map[string][]string{
		"image":      {"pod web-2-1: ", "container worker: ImagePullBackOff", `Back-off pulling image "example.com/worker:2"`},
		"crash loop": {"pod web-2-1: ", "container worker: CrashLoopBackOff", "last exit code 137, OOMKilled"},
		"probe":      {"pod web-2-1: ", "container worker: runs, but its readiness probe fails"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, harness.Replicas(3), harness.Size(2), harness.RestartPolicy(lwsv1.NoneRestartPolicy),
				annotate(lwsv1.AnnotationProgressDeadline, "2s"))
			before := leaders(t, set)
			set = change(t, set, image("2"), harness.Worker(harness.Annotated(cluster.AnnotationHold, "yes")))
			held(t, ns, "web-2")
			held(t, ns, "web-2-1")
			report(t, ns, "web-2-1", containerStates[name])
			stalled(t, set, append(says, "group 2 waits for ")...)
			quiet(t, ns)
			sameLeaders(t, set, before, "web-2")

			change(t, set, harness.Worker(func(p *corev1.PodTemplateSpec) { delete(p.Annotations, cluster.AnnotationHold) }))
			waitTags(t, set, "0:2 1:2 2:2") // put right by another revision
			env.WaitCondition(t, set, lwsv1.ConditionStalled, "False")
		})
	}
}

// TestStalledRecovers: when the group becomes Ready after all, the rollout goes on.
func TestStalledRecovers(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(3), harness.Size(2), annotate(lwsv1.AnnotationProgressDeadline, "2s"))
	set = change(t, set, image("2"), harness.Worker(harness.Annotated(cluster.AnnotationHold, "yes")))
	held(t, ns, "web-2")
	held(t, ns, "web-2-1")
	report(t, ns, "web-2-1", containerStates["image"])
	stalled(t, set, "group 2 waits for pod web-2-1")
	release(t, set)
	env.WaitCondition(t, set, lwsv1.ConditionStalled, "False")
	held(t, ns, "web-1") // the next one
}

// TestStalledUnschedulable: the scheduler's words say why, and a node that fits is
// enough to go on.
func TestStalledUnschedulable(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(3), annotate(lwsv1.AnnotationProgressDeadline, "2s"))
	set = change(t, set, image("2"), harness.Worker(func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"steer.test/gpu": "yes"} }))
	stalled(t, set, "group 2 waits for pod web-2: ", "nodes are available", "didn't match Pod's node affinity/selector")
	nodes, err := env.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatal("no node: ", err)
	}
	env.LabelNode(t, nodes.Items[0].Name, "steer.test/gpu", "yes")
	waitTags(t, set, "0:2 1:2 2:2")
	env.WaitCondition(t, set, lwsv1.ConditionStalled, "False")
}

// TestStalledWhileRecreated: a group that is recreated again and again moves each
// time. Once the backoff is longer than the deadline, the rollout is stalled, and the
// pod that failed tells why.
func TestStalledWhileRecreated(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, harness.Replicas(3), annotate(lwsv1.AnnotationProgressDeadline, "2s"))
	set = change(t, set, image("2"), harness.Worker(harness.Annotated(cluster.AnnotationHold, "yes")))
	held(t, ns, "web-2")
	first := env.Pod(t, ns, "web-2").UID
	report(t, ns, "web-2", containerStates["crash loop"]) // recreated at once
	harness.WaitFor(t, "group 2 to be recreated", harness.DefaultTimeout, func() (bool, string) {
		now, is := leaders(t, set)["web-2"]
		return is && now != first, ""
	})
	held(t, ns, "web-2")
	report(t, ns, "web-2", containerStates["crash loop"]) // in 10 s
	stalled(t, set, "group 2 waits for pod web-2: container worker: CrashLoopBackOff", "last exit code 137, OOMKilled")
}

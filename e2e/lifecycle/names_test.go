package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

func createPod(t *testing.T, ns, name string, labels map[string]string) *corev1.Pod {
	t.Helper()
	pod, err := env.Kube.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{cluster.AnnotationHold: ""}},
		Spec:       harness.Template("other").Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "pod "+name+" to be scheduled", harness.DefaultTimeout, func() (bool, string) {
		pod = env.Pod(t, ns, name)
		return pod.Spec.NodeName != "", "it is not"
	})
	return pod
}

// untouched fails the test if anybody has written to the pod since.
func untouched(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	now := env.Pod(t, pod.Namespace, pod.Name)
	if now.UID != pod.UID || now.ResourceVersion != pod.ResourceVersion {
		t.Errorf("pod %s was changed: %s@%s, before %s@%s\nowners %v, deleted %v", pod.Name,
			now.UID, now.ResourceVersion, pod.UID, pod.ResourceVersion, now.OwnerReferences, now.DeletionTimestamp)
	}
}

func TestForeignService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels  map[string]string
		options []harness.Option
	}{
		"plain":    {nil, nil},
		"labelled": {map[string]string{"leaderworkerset.sigs.k8s.io/name": "web"}, nil},
		"unique":   {nil, []harness.Option{harness.UniquePerReplica}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, service := env.Namespace(t), "web"
			if name == "unique" {
				service = "web-0"
			}
			services := env.Kube.CoreV1().Services(ns)
			foreign, err := services.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: service, Labels: c.labels},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "mine"}, Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			set := env.Create(t, harness.NewSet(ns, "web", append(c.options, harness.Size(2))...))
			blocked(t, set, service)
			time.Sleep(settled)
			if pods := env.Pods(t, set); len(pods) > 0 {
				t.Errorf("%d pods were made although their Service is not ours", len(pods))
			}
			now, err := services.Get(t.Context(), service, metav1.GetOptions{})
			if err != nil || now.ResourceVersion != foreign.ResourceVersion {
				t.Errorf("the foreign Service was changed (%v): %+v", err, now)
			}
			if err := services.Delete(t.Context(), service, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			unblocked(t, set)
		})
	}
}

func TestForeignPod(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	foreign := createPod(t, ns, "web-1-1", map[string]string{"app": "mine"})
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2)))
	blocked(t, set, "web-1-1")
	harness.WaitFor(t, "the other group to be Ready", harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		return s.Status.ReadyReplicas == 1, env.Describe(t, s)
	})
	time.Sleep(settled)
	untouched(t, foreign)
	env.DeletePod(t, ns, "web-1-1")
	unblocked(t, set)
	incarnation(t, set, 0, "1")
	incarnation(t, set, 1, "1")
}

// TestSideBySide: the names of the pods of sets `a` and `a-1` are alike, but not
// the same, and neither set takes the other's for its own.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	a := available(t, ns, "a", harness.Replicas(1), harness.Size(3))
	b := available(t, ns, "a-1", harness.Replicas(1), harness.Size(3))
	for set, want := range map[*harness.Set][]string{a: {"a-0", "a-0-1", "a-0-2"}, b: {"a-1-0", "a-1-0-1", "a-1-0-2"}} {
		pods := uids(env.Pods(t, set))
		for _, name := range want {
			if pods[name] == "" || len(pods) != len(want) {
				t.Errorf("set %s has pods %v, want %v", set.Name, pods, want)
			}
		}
	}
	quiet(t, ns)
}

// TestNamesMeet: group 1 of `a` has the pods that groups 1 and 2 of `a-1` would
// need. The set that came first keeps them; the other waits and proceeds when
// they are gone.
func TestNamesMeet(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	a := available(t, ns, "a", harness.Replicas(2), harness.Size(3))
	before := uids(env.Pods(t, a))
	b := env.Create(t, harness.NewSet(ns, "a-1", harness.Replicas(3)))
	blocked(t, b, "a-1-")
	time.Sleep(settled)
	replaced(t, a, before)
	env.WaitAvailable(t, a)
	if pods := uids(env.Pods(t, b)); len(pods) != 1 || pods["a-1-0"] == "" {
		t.Errorf("set a-1 has pods %v, want a-1-0 only", pods)
	}
	remove(t, a, metav1.DeletePropagationBackground)
	unblocked(t, b)
}

// TestServiceNamesMeet: the Service of group 1 of `a` has the name of that of `a-1`.
func TestServiceNamesMeet(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	a := available(t, ns, "a", harness.Replicas(2), harness.UniquePerReplica)
	b := env.Create(t, harness.NewSet(ns, "a-1"))
	blocked(t, b, "a-1")
	time.Sleep(settled)
	s, err := env.Kube.CoreV1().Services(ns).Get(t.Context(), "a-1", metav1.GetOptions{})
	if err != nil || !metav1.IsControlledBy(s, a) {
		t.Errorf("the Service is no longer that of set a: %v %v", err, s.OwnerReferences)
	}
	if pods := env.Pods(t, b); len(pods) > 0 {
		t.Errorf("%d pods were made although their Service is not ours", len(pods))
	}
	remove(t, a, metav1.DeletePropagationBackground)
	unblocked(t, b)
}

// TestPodTakenOutForDebugging: a person takes the label off a pod in order to look
// at it. To the set it is gone, so the group is made anew, but the pod is let go
// and lives, and the group waits for its name.
func TestPodTakenOutForDebugging(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(2), harness.Size(3))
	before := uids(env.Pods(t, set))
	env.PatchPod(t, ns, "web-1-2", map[string]any{"metadata": map[string]any{"labels": map[string]any{"leaderworkerset.sigs.k8s.io/name": nil}}})
	blocked(t, set, "web-1-2")
	env.WaitEvent(t, set, "Normal", "ReleasedPod", "web-1-2")
	time.Sleep(settled)
	pod := env.Pod(t, ns, "web-1-2")
	if pod.UID != before["web-1-2"] || pod.DeletionTimestamp != nil || len(pod.OwnerReferences) > 0 {
		t.Errorf("the pod was not let go: UID %s (before %s), deleted %v, owners %v", pod.UID, before["web-1-2"], pod.DeletionTimestamp, pod.OwnerReferences)
	}
	env.DeletePod(t, ns, "web-1-2")
	set = waitRestored(t, set, before, ofGroup(set, 1)...)
	unblocked(t, set)
	replaced(t, set, before, ofGroup(set, 1)...)
	incarnation(t, set, 1, "2")
}

// TestStrayPod: a pod that somebody made with the labels of one of ours is nobody's
// of ours.
func TestStrayPod(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := available(t, ns, "web", harness.Replicas(2), harness.Size(2))
	before := uids(env.Pods(t, set))
	strays := []*corev1.Pod{
		createPod(t, ns, "stray", env.Pod(t, ns, "web-0-1").Labels),
		createPod(t, ns, "web-debug", env.Pod(t, ns, "web-1").Labels),
	}
	quiet(t, ns)
	for _, stray := range strays {
		untouched(t, stray)
		before[stray.Name] = stray.UID
	}
	replaced(t, set, before)
	set = env.WaitAvailable(t, set)

	// It does not go with the set either, nor does it hold up a recreation.
	env.DeletePod(t, ns, "web-0-1")
	waitRestored(t, set, before, "web-0", "web-0-1")
	for _, stray := range strays {
		untouched(t, stray)
	}
}

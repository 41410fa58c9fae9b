package claims

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

const (
	retain  = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
)

var (
	ofOne   = []string{"data-web-0", "data-web-0-1"}
	ofThree = append([]string{"data-web-1", "data-web-1-1", "data-web-2", "data-web-2-1"}, ofOne...)
)

// A set scaled from 3 to 1 and back finds the claims of old with Retain, and new ones
// with Delete. Once it is deleted, its claims stay or go.
func TestRetention(t *testing.T) {
	t.Parallel()
	env.AwaitCollector(t)
	for name, tc := range map[string]struct {
		deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType
	}{
		"Retain-Retain": {retain, retain},
		"Retain-Delete": {retain, deletes},
		"Delete-Retain": {deletes, retain},
		"Delete-Delete": {deletes, deletes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(3), harness.Size(2), claims(tc.deleted, tc.scaled))))
			before := waitFor(t, ns, ofThree...)
			scaled(t, set, 1)
			if tc.scaled == retain {
				waitFor(t, ns, ofThree...)
			} else {
				waitFor(t, ns, ofOne...)
			}
			scaled(t, set, 3)
			after := waitFor(t, ns, ofThree...)
			for name, uid := range before {
				old := tc.scaled == retain || strings.HasPrefix(name, "data-web-0")
				if (after[name] == uid) != old {
					t.Errorf("claim %s is the one of before: %t, want %t", name, after[name] == uid, old)
				}
			}
			if err := env.Sets.LeaderWorkerSets(ns).Delete(t.Context(), set.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			harness.WaitFor(t, "the pods to be gone", harness.DefaultTimeout, func() (bool, string) {
				pods, state := env.Pods(t, set), ""
				for i := range pods {
					p := &pods[i]
					state += fmt.Sprintf("%s: %s, on %q, to go at %v, held by %v, of %v\n", p.Name, p.Status.Phase, p.Spec.NodeName, p.DeletionTimestamp, p.Finalizers, p.OwnerReferences)
				}
				return len(pods) == 0, state
			})
			if tc.deleted == deletes {
				waitFor(t, ns)
			} else {
				waitFor(t, ns, ofThree...)
			}
		})
	}
}

// A claim has all that its template says, and labels that tell whose it is; pods mount
// it. Groups that are recreated or updated find theirs again.
func TestKept(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Size(2), claims(deletes, deletes))))
	before := waitFor(t, ns, ofOne...)
	claim, err := env.Kube.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "data-web-0-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := data()
	if claim.Annotations["note"] != "kept" || *claim.Spec.VolumeMode != *want.Spec.VolumeMode ||
		!claim.Spec.Resources.Requests.Storage().Equal(*want.Spec.Resources.Requests.Storage()) || claim.Spec.AccessModes[0] != want.Spec.AccessModes[0] {
		t.Errorf("the claim lacks what the template says: %+v", claim)
	}
	for key, value := range map[string]string{"tier": "cache", lwsv1.LabelName: "web", lwsv1.LabelGroupIndex: "0", lwsv1.LabelWorkerIndex: "1"} {
		if claim.Labels[key] != value {
			t.Errorf("label %s=%q, want %q", key, claim.Labels[key], value)
		}
	}
	pod := env.Pod(t, ns, "web-0-1")
	mounted := false
	for _, v := range pod.Spec.Volumes {
		mounted = mounted || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "data-web-0-1"
	}
	if !mounted || claim.CreationTimestamp.After(pod.CreationTimestamp.Time) {
		t.Errorf("mounted: %t; claim of %v, pod of %v", mounted, claim.CreationTimestamp, pod.CreationTimestamp)
	}

	again := func(what string) {
		t.Helper()
		harness.WaitFor(t, what, harness.DefaultTimeout, func() (bool, string) {
			s := env.Get(t, set)
			pods := env.Pods(t, set)
			fresh := len(pods) == 2
			for i := range pods {
				fresh = fresh && pods[i].UID != pod.UID
			}
			return fresh && s.Status.ReadyReplicas == 1 && s.Status.UpdatedReplicas == 1, env.Describe(t, s)
		})
		if after := waitFor(t, ns, ofOne...); !maps.Equal(before, after) {
			t.Errorf("%s: claims %v, were %v", what, after, before)
		}
	}
	env.DeletePod(t, ns, "web-0-1")
	again("the group to be recreated")
	pod = env.Pod(t, ns, "web-0-1")
	env.Update(t, set, harness.Worker(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "example.com/worker:2" }))
	again("the group to be updated")
	env.AtRest(t, ns)
}

// A claim made by hand is used. One that something else controls has its pod wait, and
// is left alone.
func TestTaken(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	api := env.Kube.CoreV1().PersistentVolumeClaims(ns)
	owner, err := env.Kube.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, foreign := data(), data()
	made.Name, foreign.Name = "data-web-0", "data-web-0-1"
	foreign.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	for _, c := range []*corev1.PersistentVolumeClaim{&made, &foreign} {
		if _, err := api.Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := waitFor(t, ns, ofOne...)
	set := env.Create(t, harness.NewSet(ns, "web", harness.Size(2), claims(retain, retain)))
	env.WaitEvent(t, set, corev1.EventTypeWarning, "NameTaken", "data-web-0-1")
	env.Pod(t, ns, "web-0")
	if _, err := env.Kube.CoreV1().Pods(ns).Get(t.Context(), "web-0-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("pod web-0-1 does not wait: %v", err)
	}
	if after := waitFor(t, ns, ofOne...); !maps.Equal(before, after) {
		t.Errorf("claims %v, were %v", after, before)
	}
	if err := api.Delete(t.Context(), "data-web-0-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "pod web-0-1, which is tried again at least once a minute", harness.DefaultTimeout, func() (bool, string) {
		return len(env.Pods(t, set)) == 2, env.Describe(t, env.Get(t, set))
	})
	if after := waitFor(t, ns, ofOne...); after["data-web-0"] != before["data-web-0"] || after["data-web-0-1"] == before["data-web-0-1"] {
		t.Errorf("claims %v, were %v", after, before)
	}
}

// The templates cannot be changed once the set exists.
func TestImmutable(t *testing.T) {
	t.Parallel()
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", claims(retain, retain)))
	set = env.Get(t, set)
	set.Spec.LeaderWorkerTemplate.VolumeClaimTemplates[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	if _, err := env.Sets.LeaderWorkerSets(set.Namespace).Update(t.Context(), set, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "volumeClaimTemplates") {
		t.Errorf("a changed template: %v", err)
	}
}

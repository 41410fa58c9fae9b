package claims

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

// data is a template of claims with every field that a template may set.
func data() corev1.PersistentVolumeClaim {
	mode := corev1.PersistentVolumeFilesystem
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"tier": "cache"}, Annotations: map[string]string{"note": "kept"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			VolumeMode:  &mode,
		},
	}
}

// claims gives a set the template data, with this retention.
func claims(whenDeleted, whenScaled appsv1.PersistentVolumeClaimRetentionPolicyType) harness.Option {
	return func(s *harness.Set) {
		t := &s.Spec.LeaderWorkerTemplate
		t.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{data()}
		t.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: whenDeleted, WhenScaled: whenScaled}
		t.WorkerTemplate.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
}

// found are the claims of a namespace with their UIDs.
func found(t *testing.T, namespace string) map[string]types.UID {
	t.Helper()
	list, err := env.Kube.CoreV1().PersistentVolumeClaims(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out
}

// waitFor waits until the namespace has exactly these claims.
func waitFor(t *testing.T, namespace string, names ...string) map[string]types.UID {
	t.Helper()
	slices.Sort(names)
	var got map[string]types.UID
	harness.WaitFor(t, fmt.Sprintf("claims %v", names), harness.DefaultTimeout, func() (bool, string) {
		got = found(t, namespace)
		have := slices.Sorted(maps.Keys(got))
		return slices.Equal(have, names), fmt.Sprint(have)
	})
	return got
}

// scaled scales the set and waits until it has exactly the pods of so many groups of two.
// They need not be Ready: kwok has no volume for a claim that takes the name of another.
func scaled(t *testing.T, set *harness.Set, replicas int32) {
	t.Helper()
	env.Scale(t, set, replicas)
	harness.WaitFor(t, fmt.Sprintf("%d groups", replicas), harness.DefaultTimeout, func() (bool, string) {
		s := env.Get(t, set)
		pods := env.Pods(t, set)
		there := len(pods) == int(2*replicas) && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		return there && s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == replicas, env.Describe(t, s)
	})
}

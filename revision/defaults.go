package revision

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// canonical is the one spelling of everything that means the same as the
// content. It is for comparing only and never stored: what is written always
// keeps the user's spelling.
//
// Only equivalences belong here that hold wherever the field stands: a default
// of the API of the set, or one that the API server itself applies to every pod
// in the same way. What a cluster may decide (an admission plugin, a feature
// gate, a class) is left alone.
func canonical(c *Content) *Content {
	out := &Content{}
	c.Template.DeepCopyInto(&out.Template)
	c.Network.DeepCopyInto(&out.Network)

	setDefault(&out.Network.SubdomainPolicy, v1.SubdomainShared)
	canonicalTemplate(&out.Template)
	return out
}

func canonicalTemplate(t *v1.LeaderWorkerTemplate) {
	setDefault(&t.Size, 1)
	switch t.RestartPolicy {
	case "":
		t.RestartPolicy = v1.RecreateGroupOnPodRestart
	case v1.DefaultRestartPolicy:
		t.RestartPolicy = v1.NoneRestartPolicy
	}
	if t.SubGroupPolicy != nil {
		setDefault(&t.SubGroupPolicy.Type, v1.SubGroupPolicyLeaderWorker)
	}
	canonicalClaims(t)

	canonicalPodTemplate(&t.WorkerTemplate)
	if t.LeaderTemplate == nil {
		// The worker template serves for the leader, as if it stood there twice.
		t.LeaderTemplate = &t.WorkerTemplate
	} else {
		canonicalPodTemplate(t.LeaderTemplate)
	}
}

// canonicalClaims leaves of the claim templates what a claim is made from.
func canonicalClaims(t *v1.LeaderWorkerTemplate) {
	if t.PersistentVolumeClaimRetentionPolicy == nil {
		t.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	policy := t.PersistentVolumeClaimRetentionPolicy
	setIfZero(&policy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setIfZero(&policy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range t.VolumeClaimTemplates {
		claim := &t.VolumeClaimTemplates[i]
		claim.TypeMeta = metav1.TypeMeta{}
		name := claim.Name
		claim.ObjectMeta = usedMetadata(&claim.ObjectMeta)
		claim.Name = name
		claim.Status = corev1.PersistentVolumeClaimStatus{}
		setDefault(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

func canonicalPodTemplate(t *corev1.PodTemplateSpec) {
	t.ObjectMeta = usedMetadata(&t.ObjectMeta)
	canonicalPodSpec(&t.Spec)
}

// usedMetadata is the part of embedded metadata that reaches the objects made
// from it. The rest (a creationTimestamp of null, above all) says nothing.
func usedMetadata(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations, Finalizers: m.Finalizers}
}

// setDefault gives an optional field its default.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// setIfZero gives a plain field its default.
func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

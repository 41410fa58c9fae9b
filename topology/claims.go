package topology

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// ClaimName is the name of a pod's claim: <claim template>-<pod>.
func ClaimName(template, pod string) string { return template + "-" + pod }

// Claims builds the claims of a pod, in the order of their templates. Everything
// that a template says is kept; the set is the owner when deleting it shall
// delete the claims.
func (g *Group) Claims(worker int32) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range g.Template.VolumeClaimTemplates {
		template := g.Template.VolumeClaimTemplates[i].DeepCopy()
		labels := copyMap(template.Labels)
		maps.Copy(labels, map[string]string{
			v1.LabelName:        g.Set.Name,
			v1.LabelGroupIndex:  itoa(g.Index),
			v1.LabelWorkerIndex: itoa(worker),
		})
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name:        ClaimName(template.Name, g.PodName(worker)),
				Namespace:   g.Set.Namespace,
				Labels:      labels,
				Annotations: template.Annotations,
				Finalizers:  template.Finalizers,
			},
			Spec: template.Spec,
		}
		if g.deletesClaims() {
			claim.OwnerReferences = []metav1.OwnerReference{controllerRef(g.Set)}
		}
		claims = append(claims, claim)
	}
	return claims
}

// deletesClaims says whether the claims go with the set; they stay by default.
func (g *Group) deletesClaims() bool {
	policy := g.Template.PersistentVolumeClaimRetentionPolicy
	return policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

// addClaimVolumes gives the pod a volume for each claim, named like the claim's
// template. A volume of the pod template with the same name gives way, as with
// a StatefulSet.
func (g *Group) addClaimVolumes(spec *corev1.PodSpec, worker int32) {
	if len(g.Template.VolumeClaimTemplates) == 0 {
		return
	}
	claimed := map[string]bool{}
	var volumes []corev1.Volume
	for i := range g.Template.VolumeClaimTemplates {
		name := g.Template.VolumeClaimTemplates[i].Name
		claimed[name] = true
		volumes = append(volumes, corev1.Volume{
			Name: name,
			VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: ClaimName(name, g.PodName(worker)),
				},
			},
		})
	}
	for _, v := range spec.Volumes {
		if !claimed[v.Name] {
			volumes = append(volumes, v)
		}
	}
	spec.Volumes = volumes
}

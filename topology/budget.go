package topology

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

// DisruptionBudgetName is the name of the PodDisruptionBudget of a set.
func DisruptionBudgetName(set string) string { return set }

// DisruptionBudget builds the PodDisruptionBudget of a set: of the pods of these
// groups minAvailable must stay. Pods that are not Ready may always be evicted. The
// number is an integer: kube-controller-manager knows how many groups a set has, and
// would take that for the number of its pods.
func DisruptionBudget(set *v1.LeaderWorkerSet, groups []int32, minAvailable int32) *policyv1.PodDisruptionBudget {
	only := metav1.LabelSelectorRequirement{Key: v1.LabelGroupIndex, Operator: metav1.LabelSelectorOpIn}
	for _, index := range groups {
		only.Values = append(only.Values, itoa(index))
	}
	if len(groups) == 0 {
		// In needs a value. A pod of a set always has an index: this selects none.
		only.Operator = metav1.LabelSelectorOpDoesNotExist
	}
	number, always := intstr.FromInt32(minAvailable), policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name:            DisruptionBudgetName(set.Name),
			Namespace:       set.Namespace,
			Labels:          map[string]string{v1.LabelName: set.Name},
			OwnerReferences: []metav1.OwnerReference{controllerRef(set)},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &number,
			Selector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{v1.LabelName: set.Name},
				MatchExpressions: []metav1.LabelSelectorRequirement{only},
			},
			UnhealthyPodEvictionPolicy: &always,
		},
	}
}

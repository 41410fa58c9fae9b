package topology_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Whom the terms of a pod draw it to and keep it from, by what the scheduler makes of them,
// not by how they are written. CONTRACT §4: "one group per topology domain and one domain
// per group"; for subgroups the same; and what the scopes say about others.
func TestWhoIsKept(t *testing.T) {
	dividing := row{size: 4, per: 2}
	of := func(base row, place placement, pod int) *corev1.Pod {
		r := placed(base, dividing, "none", place)
		return group(r).Pod(int32(pod))
	}
	set := row{namespace: "ai", set: "llm"}
	sibling, neighbour, namesake := set, set, set
	sibling.group, neighbour.set, namesake.namespace = 1, "other", "elsewhere"

	for _, tc := range []struct {
		place              string
		pod                int
		together, apartFor []string
	}{
		{"exclusive", 0, []string{"half", "rest"}, []string{"sibling", "neighbour"}},
		{"exclusive-namespace", 0, []string{"half", "rest"}, []string{"sibling", "neighbour"}},
		{"exclusive-set", 0, []string{"half", "rest"}, []string{"sibling"}},
		{"exclusive-cluster", 0, []string{"half", "rest"}, []string{"sibling", "neighbour", "namesake"}},
		{"colocate", 0, []string{"half", "rest"}, nil},
		{"subgroup", 0, []string{"half"}, []string{"rest", "sibling", "neighbour"}},
		{"subgroup", 2, []string{"rest"}, []string{"half", "sibling", "neighbour"}},
		{"subgroup-set", 2, []string{"rest"}, []string{"half", "sibling"}},
		{"subgroup-cluster", 2, []string{"rest"}, []string{"half", "sibling", "neighbour", "namesake", "namesake's other"}},
	} {
		place := placements[slices.IndexFunc(placements, func(p placement) bool { return p.name == tc.place })]
		pod := of(set, place, tc.pod)
		a := pod.Spec.Affinity
		var together, apart []string
		for _, other := range []struct {
			name string
			pod  *corev1.Pod
		}{
			{"half", of(set, place, 1)}, // {0 1}: the leader's
			{"rest", of(set, place, 3)}, // {2 3}
			{"sibling", of(sibling, place, 0)},
			{"neighbour", of(neighbour, place, 0)},
			{"namesake", of(namesake, place, tc.pod)},
			{"namesake's other", of(namesake, place, 3-tc.pod)},
			{"stranger", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Labels: map[string]string{"app": "x"}}}},
		} {
			if other.name == "namesake's other" && tc.place != "subgroup-cluster" {
				continue
			}
			if a.PodAffinity != nil && anyMatches(t, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, pod, other.pod) {
				together = append(together, other.name)
			}
			if a.PodAntiAffinity != nil && anyMatches(t, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, pod, other.pod) {
				apart = append(apart, other.name)
			}
		}
		if !slices.Equal(together, tc.together) || !slices.Equal(apart, tc.apartFor) {
			t.Errorf("%s, pod %d: with %v, apart from %v; want %v, %v", tc.place, tc.pod, together, apart, tc.together, tc.apartFor)
		}
	}
}

// anyMatches says whether one of a pod's terms concerns another pod, as the API says:
// without namespaces those of the pod's own count.
func anyMatches(t *testing.T, terms []corev1.PodAffinityTerm, pod, other *corev1.Pod) bool {
	t.Helper()
	selects := func(s *metav1.LabelSelector, of map[string]string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(of))
	}
	return slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool {
		reaches := other.Namespace == pod.Namespace && term.NamespaceSelector == nil ||
			term.NamespaceSelector != nil && selects(term.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": other.Namespace})
		return reaches && selects(term.LabelSelector, other.Labels)
	})
}

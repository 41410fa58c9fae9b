package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// termsOf writes the required terms of a pod's affinity to pods, + or - first.
func termsOf(p *corev1.Pod) (out []string) {
	write := func(sign string, terms []corev1.PodAffinityTerm) {
		for i := range terms {
			t := &terms[i]
			one := sign + t.TopologyKey + ": " + metav1.FormatLabelSelector(t.LabelSelector)
			if t.NamespaceSelector != nil {
				one += " in " + metav1.FormatLabelSelector(t.NamespaceSelector)
			}
			out = append(out, one)
		}
	}
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		write("+", a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		write("-", a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

// CONTRACT §4, by kind of placement and scope: what the leader and a worker carry. G and
// S stand for the keys of their group and subgroup.
func TestAffinity(t *testing.T) {
	const (
		exclusive, subs, colocate = v1.AnnotationExclusiveTopology, v1.AnnotationSubGroupExclusiveTopology, v1.AnnotationColocate
		group1                    = "leaderworkerset.sigs.k8s.io/group-key"
		sub                       = "leaderworkerset.sigs.k8s.io/subgroup-key"
		name                      = "leaderworkerset.sigs.k8s.io/name"
	)
	own := func(key, label, id string) string { return fmt.Sprintf("+%s: %s in (%s)", key, label, id) }
	others := func(key, label, id string) string {
		return fmt.Sprintf("-%s: %s,%s notin (%s)", key, label, label, id)
	}
	for title, tc := range map[string]struct {
		annotations    map[string]string
		user           string // a key about which the templates have a term already
		leader, worker []string
		excluded       bool
	}{
		"none":      {},
		"exclusive": {annotations: map[string]string{exclusive: "rack"}, leader: []string{own("rack", group1, "G"), others("rack", group1, "G")}},
		"beside the user's on the same key": {annotations: map[string]string{exclusive: "rack"}, user: "rack",
			leader: []string{"-rack: app in (x)", own("rack", group1, "G"), others("rack", group1, "G")}, worker: []string{"-rack: app in (x)"}},
		"of the set": {annotations: map[string]string{exclusive: "rack", v1.AnnotationExclusiveScope: "Set"},
			leader: []string{own("rack", group1, "G"), others("rack", group1, "G") + "," + name + " in (s)"}},
		"of the namespace": {annotations: map[string]string{exclusive: "rack", v1.AnnotationExclusiveScope: "Namespace"},
			leader: []string{own("rack", group1, "G"), others("rack", group1, "G")}},
		"of the cluster": {annotations: map[string]string{exclusive: "rack", v1.AnnotationExclusiveScope: "Cluster"},
			leader: []string{own("rack", group1, "G"), others("rack", group1, "G") + " in <none>"}},
		"colocate": {annotations: map[string]string{colocate: "zone"}, leader: []string{own("zone", group1, "G")}},
		"exclusive in a rack, together in a zone": {annotations: map[string]string{exclusive: "rack", colocate: "zone"},
			leader: []string{own("rack", group1, "G"), own("zone", group1, "G"), others("rack", group1, "G")}},
		"both of one key": {annotations: map[string]string{exclusive: "rack", colocate: "rack"},
			leader: []string{own("rack", group1, "G"), others("rack", group1, "G")}},
		"subgroups": {annotations: map[string]string{subs: "host"},
			leader: []string{own("host", sub, "S"), others("host", sub, "S")}, worker: []string{own("host", sub, "S"), others("host", sub, "S")}},
		"subgroups without the leader": {annotations: map[string]string{subs: "host"}, excluded: true,
			worker: []string{own("host", sub, "S"), others("host", sub, "S")}},
		"subgroups of the cluster": {annotations: map[string]string{subs: "host", v1.AnnotationExclusiveScope: "Cluster"}, excluded: true,
			worker: []string{own("host", sub, "S"), others("host", sub, "S") + " in <none>", "-host: " + sub + " in kubernetes.io/metadata.name notin (ns)"}},
	} {
		t.Run(title, func(t *testing.T) {
			g := group(5)
			g.Set.Annotations = tc.annotations
			if tc.annotations[subs] != "" {
				policy := v1.SubGroupPolicyLeaderWorker
				if tc.excluded {
					policy = v1.SubGroupPolicyLeaderExcluded
				}
				g.Template.SubGroupPolicy = &v1.SubGroupPolicy{SubGroupSize: ptr(int32(2)), Type: &policy}
			}
			if tc.user != "" {
				g.Template.WorkerTemplate.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: tc.user,
						LabelSelector: matching(in("app", "x"))}}}}
			}
			for worker, want := range [][]string{tc.leader, tc.worker} {
				p := g.Pod(int32(worker))
				got := termsOf(p)
				for i := range got {
					for key, id := range map[string]string{group1: "(G)", sub: "(S)"} {
						if value := p.Labels[key]; value != "" {
							got[i] = strings.ReplaceAll(got[i], "("+value+")", id)
						}
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("pod %d:\n got %s\nwant %s", worker, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
			}
		})
	}
	t.Run("workers", func(t *testing.T) {
		g := group(2)
		g.Template.WorkerTemplate.Spec.NodeSelector = map[string]string{"gpu": "yes"}
		g.Domain = map[string]string{"rack": "r1"}
		for worker, want := range []string{"map[gpu:yes]", "map[gpu:yes rack:r1]"} {
			if got := fmt.Sprint(g.Pod(int32(worker)).Spec.NodeSelector); got != want {
				t.Errorf("pod %d: node selector %s, want %s", worker, got, want)
			}
		}
		if n := len(g.Template.WorkerTemplate.Spec.NodeSelector); n != 1 {
			t.Errorf("the template has %d node selectors now", n)
		}
	})
}

package placement

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// Five groups have five domains, each for itself. A sixth waits with its leader alone,
// without a write, and gets a domain once another group has left one.
func TestExclusive(t *testing.T) {
	t.Parallel()
	key, ns := domains(t, 5), env.Namespace(t)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "five", harness.Replicas(5), harness.Size(3),
		harness.Annotation(lwsv1.AnnotationExclusiveTopology, key))))
	for d, n := range whole(t, domainsOf(t, set, key, groupOf), groups(5, 3)) {
		if n != 1 {
			t.Errorf("domain %s has %d groups", d, n)
		}
	}

	sixth := env.Create(t, harness.NewSet(ns, "sixth", harness.Size(3), harness.Annotation(lwsv1.AnnotationExclusiveTopology, key)))
	waits(t, sixth)
	time.Sleep(time.Second) // for the last status, which is written half a second late
	since := time.Now()
	time.Sleep(2 * time.Second)
	if writes := env.Writes(t, ns, since); len(writes) > 0 {
		t.Errorf("while the leader waits: %v", writes)
	}
	env.Scale(t, set, 4)
	sixth = env.WaitAvailable(t, sixth)
	left := whole(t, domainsOf(t, set, key, groupOf), groups(4, 3))
	for d := range whole(t, domainsOf(t, sixth, key, groupOf), groups(1, 3)) {
		if left[d] > 0 {
			t.Errorf("the sixth group shares domain %s", d)
		}
	}
	env.AtRest(t, ns)
}

// Which other pods count: those of the namespace, of the set, or of all namespaces. An
// affinity that the user has on the same key stays beside ours.
func TestScope(t *testing.T) {
	for scope, want := range map[string]struct{ beside, elsewhere bool }{
		"":                          {false, true},
		lwsv1.ExclusiveScopeSet:     {true, true},
		lwsv1.ExclusiveScopeCluster: {false, false},
	} {
		t.Run("scope "+scope, func(t *testing.T) {
			t.Parallel()
			key := "placement.example.com/scope" + scope
			one, other := node(0), node(1)
			if scope == lwsv1.ExclusiveScopeCluster { // nobody else may be there
				one, other = node(nodes-2), node(nodes-1)
			}
			env.LabelNode(t, one, key, domain(0))
			env.LabelNode(t, other, key, domain(0))
			options := []harness.Option{harness.Size(2), harness.Annotation(lwsv1.AnnotationExclusiveTopology, key),
				harness.Worker(func(p *corev1.PodTemplateSpec) {
					p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}}}}}}
				})}
			if scope != "" {
				options = append(options, harness.Annotation(lwsv1.AnnotationExclusiveScope, scope))
			}
			ns := env.Namespace(t)
			env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "first", options...)))
			check := func(set *harness.Set, fits bool) {
				t.Helper()
				if fits {
					env.WaitAvailable(t, set)
				} else {
					waits(t, set)
				}
			}
			check(env.Create(t, harness.NewSet(ns, "second", options...)), want.beside)
			// Of the same name: what tells the groups apart must not be their names alone.
			check(env.Create(t, harness.NewSet(env.Namespace(t), "first", options...)), want.elsewhere)
		})
	}
}

// Each subgroup has a domain for itself, and all of its pods are there.
func TestSubGroups(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy lwsv1.SubGroupPolicyType
		want   map[string]int // pods by subgroup of group 0; the excluded leader has none
	}{
		"LeaderWorker":   {lwsv1.SubGroupPolicyLeaderWorker, map[string]int{"0/0": 3, "0/1": 2}},
		"LeaderExcluded": {lwsv1.SubGroupPolicyLeaderExcluded, map[string]int{"0/0": 2, "0/1": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "placement.example.com/subgroups" + name
			for i := range 4 {
				env.LabelNode(t, node(i), key, domain(i/2))
			}
			size, policy := int32(2), tc.policy
			set := env.WaitAvailable(t, env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Size(5),
				harness.Annotation(lwsv1.AnnotationSubGroupExclusiveTopology, key), func(s *harness.Set) {
					s.Spec.LeaderWorkerTemplate.SubGroupPolicy = &lwsv1.SubGroupPolicy{SubGroupSize: &size, Type: &policy}
				})))
			found := domainsOf(t, set, key, subGroupOf)
			delete(found, "0/")
			for d, n := range whole(t, found, tc.want) {
				if n != 1 {
					t.Errorf("domain %s has %d subgroups", d, n)
				}
			}
		})
	}
}

// Groups that are kept together share the domains, but none is in two.
func TestColocate(t *testing.T) {
	t.Parallel()
	key := domains(t, 4)
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(9), harness.Size(4),
		harness.Annotation(lwsv1.AnnotationColocate, key))))
	whole(t, domainsOf(t, set, key, groupOf), groups(9, 4))
}

// A leader's node that has lost the label, and a node selector that says otherwise, are
// reported, and the workers come once that is put right.
func TestNoDomain(t *testing.T) {
	t.Parallel()
	key := domains(t, 1)
	held := harness.NewSet(env.Namespace(t), "web", harness.Size(2), harness.LeaderReady, harness.Annotation(lwsv1.AnnotationColocate, key),
		harness.Leader(harness.Annotated(cluster.AnnotationHold, "true")))
	held = env.Create(t, held)
	bound := ""
	harness.WaitFor(t, "the leader to be bound", harness.DefaultTimeout, func() (bool, string) {
		for _, p := range env.Pods(t, held) {
			bound = p.Spec.NodeName
		}
		return bound != "", env.Describe(t, env.Get(t, held))
	})
	env.LabelNode(t, bound, key, nil)
	env.Annotate(t, held.Namespace, "web-0", cluster.AnnotationHold, nil)
	env.WaitEvent(t, held, corev1.EventTypeWarning, lwsv1.ReasonNoDomain, bound, "no label "+key)
	if c := env.WaitCondition(t, held, lwsv1.ConditionDegraded, "True"); c.Reason != lwsv1.ReasonNoDomain {
		t.Errorf("Degraded for %s: %s", c.Reason, c.Message)
	}
	env.LabelNode(t, bound, key, domain(0))
	env.WaitAvailable(t, held)
	env.WaitCondition(t, held, lwsv1.ConditionDegraded, "False")

	selects := func(value string) harness.Option {
		return harness.Worker(func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{key: value} })
	}
	contrary := env.Create(t, harness.NewSet(held.Namespace, "contrary", harness.Size(2), harness.Annotation(lwsv1.AnnotationColocate, key),
		harness.Leader(func(*corev1.PodTemplateSpec) {}), selects("elsewhere")))
	env.WaitEvent(t, contrary, corev1.EventTypeWarning, lwsv1.ReasonNoDomain, key+"=elsewhere")
	if n := len(env.Pods(t, contrary)); n != 1 {
		t.Errorf("%d pods, want the leader alone", n)
	}
	env.Update(t, contrary, selects(domain(0)))
	env.WaitAvailable(t, contrary)
	env.AtRest(t, held.Namespace)
}

// Workers for which there is no room in the domain of their leader are not left waiting
// where the set says so: the group goes elsewhere, as a whole.
func TestReplaced(t *testing.T) {
	t.Parallel()
	key := domains(t, 2)
	slot := corev1.ResourceName("placement.example.com/slot")
	for i, n := range []int{1, 0, 2, 1} {
		env.Room(t, node(i), slot, n)
	}
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Size(3), harness.Takes(slot),
		harness.Annotation(lwsv1.AnnotationColocate, key), harness.Annotation(lwsv1.AnnotationReplaceAfter, "30s"),
		harness.Leader(func(p *corev1.PodTemplateSpec) {
			one := corev1.ResourceList{slot: resource.MustParse("1")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{domain(0)}}}}}}}}
		})))
	env.WaitEvent(t, set, corev1.EventTypeNormal, "RecreateGroup", "found no node", key+"="+domain(0))
	set = env.WaitAvailable(t, set)
	for d := range whole(t, domainsOf(t, set, key, groupOf), groups(1, 3)) {
		if d != domain(1) {
			t.Errorf("the group is in %s", d)
		}
	}
	if p := env.Pod(t, set.Namespace, "web-0"); p.Annotations[lwsv1.AnnotationAvoids] != key+"="+domain(0) || p.Annotations[lwsv1.AnnotationIncarnation] != "2" {
		t.Errorf("the leader: %v", p.Annotations)
	}
	env.AtRest(t, set.Namespace)
}

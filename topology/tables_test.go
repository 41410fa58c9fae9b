package topology_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// layouts are who holds TPUs, and what the user says about it.
var layouts = map[string]struct {
	leader *template
	worker template
}{
	"none": {nil, pod(box{name: "main", env: []string{"URL=http://$(LWS_LEADER_ADDRESS):80"}})},
	"all":  {nil, pod(box{name: "main", tpu: "limit"})},
	"workers": {leading(box{name: "serve"}),
		pod(box{name: "main", tpu: "limit"}, box{name: "log"})},
	"leader": {leading(box{name: "main", tpu: "limit"}), pod(box{name: "main"})},
	"requests": {leading(box{name: "main", tpu: "request"}, box{name: "zero", tpu: "zero"}),
		pod(box{name: "zero", tpu: "zero"}, box{name: "main", tpu: "request"})},
	"two": {leading(box{name: "main", tpu: "limit"}),
		pod(box{name: "one", tpu: "limit"}, box{name: "log"}, box{name: "two", tpu: "limit"})},
	"two-and-two": {nil, pod(box{name: "one", tpu: "limit"}, box{name: "two", tpu: "limit"})},
	"init": {leading(box{name: "warm", init: true, tpu: "limit"}),
		pod(box{name: "warm", init: true, tpu: "request"}, box{name: "fetch", init: true}, box{name: "main", tpu: "limit"})},
	"ports": {leading(box{name: "main", tpu: "limit", env: []string{"TPU_PROCESS_PORT=8000"}}),
		pod(box{name: "one", tpu: "limit"}, box{name: "two", tpu: "limit", env: []string{"A=1", "TPU_PROCESS_PORT=9000", "B=$(TPU_PROCESS_PORT)"}})},
	"hostnames": {leading(box{name: "main", tpu: "limit", env: []string{"TPU_WORKER_HOSTNAMES=mine"}}),
		pod(box{name: "one", tpu: "limit", env: []string{"TPU_WORKER_HOSTNAMES=mine"}}, box{name: "two", tpu: "limit"})},
	"id": {leading(box{name: "main", tpu: "limit"}),
		pod(box{name: "main", tpu: "limit", env: []string{"TPU_WORKER_ID=7", "TPU_NAME=mine"}})},
	"users": {leading(box{name: "main", tpu: "limit", env: []string{"LWS_GROUP_SIZE=mine", "A=1", "TPU_NAME=mine", "TPU_PROCESS_ADDRESSES=mine", "B=2"}}),
		pod(box{name: "main", env: []string{"TPU_NAME=kept", "LWS_WORKER_INDEX=mine", "LWS_LEADER_ADDRESS=mine"}})},
}

func pod(boxes ...box) template { return template{boxes: boxes} }

func leading(boxes ...box) *template {
	t := template{boxes: boxes, finalizer: "example.com/hold", selector: map[string]string{"pool": "leaders"},
		labels:      map[string]string{"role": "leader", "leaderworkerset.sigs.k8s.io/name": "mine"},
		annotations: map[string]string{"note": "kept", "leaderworkerset.sigs.k8s.io/size": "mine"}}
	return &t
}

type placement struct {
	name        string
	annotations map[string]string
	subgroups   bool
	gang        bool
}

// placements are the annotations of a set about places. Those of subgroups need some.
var placements = []placement{
	{name: "none", annotations: map[string]string{"example.com/other": "not copied"}},
	{name: "exclusive", annotations: exclusive("rack", "")},
	{name: "exclusive-namespace", annotations: exclusive("rack", "Namespace")},
	{name: "exclusive-set", annotations: exclusive("rack", "Set")},
	{name: "exclusive-cluster", annotations: exclusive("rack", "Cluster")},
	{name: "colocate", annotations: map[string]string{"topology.leaderworkerset.x-k8s.io/colocate": "zone"}},
	{name: "exclusive-colocate", annotations: with(exclusive("rack", ""), "topology.leaderworkerset.x-k8s.io/colocate", "zone")},
	{name: "gang", gang: true},
	{name: "subgroup", annotations: with(nil, subgroupExclusive, "host"), subgroups: true},
	{name: "subgroup-set", annotations: with(scope("Set"), subgroupExclusive, "host"), subgroups: true},
	{name: "subgroup-cluster", annotations: with(scope("Cluster"), subgroupExclusive, "host"), subgroups: true},
	{name: "subgroup-exclusive", annotations: with(exclusive("rack", ""), subgroupExclusive, "host"), subgroups: true},
}

const subgroupExclusive = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"

func scope(s string) map[string]string {
	if s == "" {
		return map[string]string{}
	}
	return map[string]string{"topology.leaderworkerset.x-k8s.io/exclusive-scope": s}
}

func exclusive(key, s string) map[string]string {
	return with(scope(s), "leaderworkerset.sigs.k8s.io/exclusive-topology", key)
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	maps.Copy(out, m)
	return out
}

// sets are the ways to be named and found; the first is the plainest.
var sets = []row{
	{namespace: "ai", set: "llm", revision: "7c9f8d", incarnation: 1},
	{namespace: "team-b", set: "a-1", unique: true, group: 12, revision: "5b8c", incarnation: 3, claim: "cache",
		recycled: "2026-12-01T10:00:00Z"},
}

// groups are all ways to divide groups of one to nine pods. CONTRACT §1: "size or size-1 is
// divisible by subGroupSize, subGroupSize <= size; LeaderExcluded needs size-1 divisible".
func groups() (all []row) {
	for size := 1; size <= 9; size++ {
		all = append(all, row{size: size})
		for per := 1; per <= size; per++ {
			if size%per == 0 || (size-1)%per == 0 {
				all = append(all, row{size: size, per: per})
			}
			if (size-1)%per == 0 {
				all = append(all, row{size: size, per: per, excluded: true})
			}
		}
	}
	return all
}

// placed makes a row of a way to divide, a layout and a placement. The node of the leader
// has the labels that the placement speaks of.
func placed(base, g row, layout string, p placement) row {
	l, known := layouts[layout]
	if !known {
		panic("no layout " + layout)
	}
	base.size, base.per, base.excluded = g.size, g.per, g.excluded
	base.leader, base.worker, base.annotations, base.gang = l.leader, l.worker, p.annotations, p.gang
	for _, key := range []string{"leaderworkerset.sigs.k8s.io/exclusive-topology", "topology.leaderworkerset.x-k8s.io/colocate"} {
		if label, has := p.annotations[key]; has {
			base.domain = with(base.domain, label, label+"-7")
		}
	}
	return base
}

// Every pod of every group, as the package builds it and as CONTRACT has it.
func TestTables(t *testing.T) {
	if n := len(groups()); n != 9+35+21 { // without subgroups, with, with the leader excluded: counted by hand
		t.Errorf("%d ways to divide a group", n)
	}
	for i, g := range groups() {
		t.Run(fmt.Sprintf("size %d by %d excluded %t", g.size, g.per, g.excluded), func(t *testing.T) {
			for j, layout := range slices.Sorted(maps.Keys(layouts)) {
				for k, p := range placements {
					if p.subgroups && g.per == 0 || raced && (i+j+k)%3 > 0 {
						continue
					}
					r := placed(sets[(i+j+k)%len(sets)], g, layout, p)
					if p.name == "exclusive" {
						r.worker.awayFrom = "rack" // the user's own, on the same key
					}
					built := group(r)
					for r.pod = range r.size {
						made := built.Pod(int32(r.pod))
						if got, want := shown(made), r.expect(); !slices.Equal(got, want) {
							t.Fatalf("layout %s, placement %s, pod %d:\n%s", layout, p.name, r.pod, difference(got, want))
						}
						if i%3 == 0 {
							sameRest(t, made, r.template().build())
						}
					}
				}
			}
		})
	}
}

func difference(got, want []string) string {
	var out strings.Builder
	for _, line := range got {
		if !slices.Contains(want, line) {
			fmt.Fprintf(&out, "   got %s\n", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintf(&out, "  want %s\n", line)
		}
	}
	if out.Len() == 0 {
		fmt.Fprintf(&out, "in another order: got\n  %s\nwant\n  %s\n", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return out.String()
}

// group is the row's group as the package takes it.
func group(r row) *topology.Group {
	size, per := int32(r.size), int32(r.per)
	g := &topology.Group{
		Set:         &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: r.set, Namespace: r.namespace, UID: "uid", Annotations: r.annotations}},
		Template:    &v1.LeaderWorkerTemplate{Size: &size, WorkerTemplate: *r.worker.build()},
		Network:     &v1.NetworkConfig{},
		Revision:    r.revision,
		Index:       int32(r.group),
		Incarnation: int64(r.incarnation),
		Domain:      r.domain,
	}
	if r.leader != nil {
		g.Template.LeaderTemplate = r.leader.build()
	}
	if per > 0 {
		g.Template.SubGroupPolicy = &v1.SubGroupPolicy{SubGroupSize: &per} // LeaderWorker is the default
		if r.excluded {
			kind := v1.SubGroupPolicyType("LeaderExcluded")
			g.Template.SubGroupPolicy.Type = &kind
		}
	}
	if r.unique {
		policy := v1.SubdomainPolicy("UniquePerReplica")
		g.Network.SubdomainPolicy = &policy
	}
	if r.claim != "" {
		g.Template.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: r.claim}}}
	}
	if r.gang {
		g.Gang = topology.PodGroupName(r.set, g.Index, g.Incarnation)
	}
	if r.recycled != "" {
		at, err := time.Parse(time.RFC3339, r.recycled)
		if err != nil {
			panic(err)
		}
		g.RecycledAt = at
	}
	return g
}

func (t template) build() *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: t.labels, Annotations: t.annotations},
		Spec: corev1.PodSpec{NodeSelector: t.selector, SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/kept"}}}}
	if t.finalizer != "" {
		out.Finalizers = []string{t.finalizer}
	}
	if t.awayFrom != "" {
		out.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: t.awayFrom,
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"x"}}}}}}}}
	}
	for _, b := range t.boxes {
		c := corev1.Container{Name: b.name, Image: "example.com/" + b.name + ":1"}
		for _, e := range b.env {
			name, value, _ := strings.Cut(e, "=")
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
		}
		four := corev1.ResourceList{"google.com/tpu": resource.MustParse("4")}
		switch b.tpu {
		case "limit":
			c.Resources.Limits = four
		case "request":
			c.Resources.Requests = four
		case "zero":
			c.Resources.Limits = corev1.ResourceList{"google.com/tpu": resource.MustParse("0")}
		}
		if b.init {
			out.Spec.InitContainers = append(out.Spec.InitContainers, c)
		} else {
			out.Spec.Containers = append(out.Spec.Containers, c)
		}
	}
	return out
}

// shown is a built pod as the twin writes it.
func shown(p *corev1.Pod) []string {
	out := []string{"name " + p.Name, "generateName " + p.GenerateName, "namespace " + p.Namespace}
	for _, o := range p.OwnerReferences {
		line := fmt.Sprintf("owner %s %s %s", o.APIVersion, o.Kind, o.Name)
		if o.Controller != nil && *o.Controller {
			line += ", controller"
		}
		out = append(out, line)
	}
	out = append(out, "hostname "+p.Spec.Hostname, "subdomain "+p.Spec.Subdomain)
	for _, f := range p.Finalizers {
		out = append(out, "finalizer "+f)
	}
	out = slices.Concat(out, list("label", p.Labels), list("annotation", p.Annotations), list("selector", p.Spec.NodeSelector))
	out = append(out, shownTerms(p.Spec.Affinity)...)
	if p.Spec.SchedulingGroup != nil {
		out = append(out, "podGroup "+*p.Spec.SchedulingGroup.PodGroupName)
	}
	for _, v := range p.Spec.Volumes {
		out = append(out, fmt.Sprintf("volume %s: claim %s", v.Name, v.PersistentVolumeClaim.ClaimName))
	}
	for i, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		kind := "env "
		if i >= len(p.Spec.Containers) {
			kind = "env init "
		}
		for _, e := range c.Env {
			out = append(out, kind+c.Name+": "+e.Name+"="+e.Value)
		}
	}
	return out
}

// sameRest fails the test unless what is not shown of a pod is its template's.
func sameRest(t *testing.T, p *corev1.Pod, from *corev1.PodTemplateSpec) {
	t.Helper()
	specs := []corev1.PodSpec{*p.Spec.DeepCopy(), *from.Spec.DeepCopy()}
	for i := range specs {
		s := &specs[i]
		s.Hostname, s.Subdomain, s.NodeSelector, s.Affinity, s.Volumes, s.SchedulingGroup = "", "", nil, nil, nil, nil
		for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
			for j := range list {
				list[j].Env = nil
			}
		}
	}
	if !reflect.DeepEqual(specs[0], specs[1]) {
		t.Fatalf("the rest of the pod is not the template's:\n got %+v\nwant %+v", specs[0], specs[1])
	}
}

// shownTerms are the required terms to and against pods, sorted: their order has no meaning.
func shownTerms(a *corev1.Affinity) (out []string) {
	if a == nil {
		return nil
	}
	write := func(sense string, terms []corev1.PodAffinityTerm) {
		for _, term := range terms {
			line := fmt.Sprintf("%s %s: %s", sense, term.TopologyKey, shownSelector(term.LabelSelector))
			if term.NamespaceSelector != nil {
				line += " in namespaces with " + shownSelector(term.NamespaceSelector)
			}
			if len(term.Namespaces) > 0 {
				line += fmt.Sprintf(" in namespaces %v", term.Namespaces)
			}
			out = append(out, line)
		}
	}
	if a.PodAffinity != nil {
		write("together", a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a.PodAntiAffinity != nil {
		write("apart", a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	slices.Sort(out)
	return out
}

func shownSelector(s *metav1.LabelSelector) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		all = append(all, fmt.Sprintf("%s In [%s]", key, s.MatchLabels[key]))
	}
	for _, m := range s.MatchExpressions {
		line := m.Key + " " + string(m.Operator)
		if len(m.Values) > 0 {
			line += fmt.Sprintf(" %v", m.Values)
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		return "anything"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

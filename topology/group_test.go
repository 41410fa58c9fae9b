package topology

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// env writes a container's variables as NAME=value.
func env(c corev1.Container) []string {
	var list []string
	for _, e := range c.Env {
		list = append(list, e.Name+"="+e.Value)
	}
	return list
}

func TestSubGroups(t *testing.T) {
	for _, test := range []struct {
		size, per int32
		kind      v1.SubGroupPolicyType
		want      string // index of each pod, "-" for none
	}{
		{size: 4, per: 0, want: "- - - -"},
		// Pods divide evenly: the leader is an ordinary member.
		{size: 4, per: 2, want: "0 0 1 1"},
		{size: 6, per: 3, want: "0 0 0 1 1 1"},
		// Only the workers do: the leader is an extra member of the first.
		{size: 5, per: 2, want: "0 0 0 1 1"},
		{size: 9, per: 4, want: "0 0 0 0 0 1 1 1 1"},
		{size: 3, per: 2, want: "0 0 0"},
		// Both do, with subgroups of one.
		{size: 3, per: 1, want: "0 1 2"},
		{size: 4, per: 4, want: "0 0 0 0"},
		{size: 1, per: 1, want: "0"},
		{size: 5, per: 2, kind: v1.SubGroupPolicyLeaderExcluded, want: "- 0 0 1 1"},
		{size: 5, per: 4, kind: v1.SubGroupPolicyLeaderExcluded, want: "- 0 0 0 0"},
	} {
		g := group(test.size)
		if test.per > 0 {
			g.Template.SubGroupPolicy = &v1.SubGroupPolicy{SubGroupSize: &test.per}
			if test.kind != "" {
				g.Template.SubGroupPolicy.Type = &test.kind
			}
		}
		var got []string
		for w := range test.size {
			pod := g.Pod(w)
			index, ok := pod.Labels[v1.LabelSubGroupIndex]
			if !ok {
				index = "-"
			} else if pod.Labels[v1.LabelSubGroupKey] != sha1Hex("s-0/"+index) {
				t.Errorf("size %d by %d: pod %d has key %s", test.size, test.per, w, pod.Labels[v1.LabelSubGroupKey])
			}
			got = append(got, index)
			_, annotated := pod.Annotations[v1.AnnotationSubGroupSize]
			if annotated != (test.per > 0) {
				t.Errorf("size %d by %d: pod %d has subgroup-size: %v", test.size, test.per, w, annotated)
			}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("size %d by %d %s: %s, want %s", test.size, test.per, test.kind, s, test.want)
		}
	}
}

// What an older CRD, or none, let through must not crash the controller.
func TestUnusableTemplates(t *testing.T) {
	for _, size := range []*int32{nil, ptr(int32(0)), ptr(int32(-3)), ptr(int32(1))} {
		g := group(1)
		g.Network = nil
		g.Template.Size = size
		if g.Size() != 1 {
			t.Errorf("size %v counts as %d", size, g.Size())
		}
		for _, policy := range []*v1.SubGroupPolicy{nil, {}, {SubGroupSize: ptr(int32(0))}, {SubGroupSize: ptr(int32(-1))}} {
			g.Template.SubGroupPolicy = policy
			pod := g.Pod(0)
			if _, ok := pod.Labels[v1.LabelSubGroupIndex]; ok {
				t.Errorf("policy %v makes subgroups", policy)
			}
			if pod.Spec.Subdomain != "s" {
				t.Errorf("subdomain %q without network config", pod.Spec.Subdomain)
			}
		}
	}
	g := group(4) // not divisible by 3, with or without the leader
	g.Template.SubGroupPolicy = &v1.SubGroupPolicy{SubGroupSize: ptr(int32(3))}
	if index := g.Pod(3).Labels[v1.LabelSubGroupIndex]; index != "0" {
		t.Errorf("size 4 by 3: worker 3 is in %q", index)
	}
	empty := &Group{Set: g.Set, Template: &v1.LeaderWorkerTemplate{}}
	empty.Pod(0)
	empty.Service()
}

func TestEnvironment(t *testing.T) {
	g := group(3)
	g.Index = 4
	g.Template.WorkerTemplate = podTemplate(container("main",
		corev1.EnvVar{Name: "LWS_WORKER_INDEX", Value: "mine"},
		corev1.EnvVar{Name: "URL", Value: "http://$(LWS_LEADER_ADDRESS)"},
		corev1.EnvVar{Name: "LWS_LEADER_ADDRESS", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	), container("side"))
	g.Template.WorkerTemplate.Spec.InitContainers = []corev1.Container{container("init")}

	for _, policy := range []v1.SubdomainPolicy{v1.SubdomainShared, v1.SubdomainUniquePerReplica} {
		g.Network.SubdomainPolicy = &policy
		address := map[v1.SubdomainPolicy]string{
			v1.SubdomainShared: "s-4.s.ns", v1.SubdomainUniquePerReplica: "s-4.s-4.ns"}[policy]
		for w := range g.Size() {
			pod := g.Pod(w)
			place := []string{"LWS_LEADER_ADDRESS=" + address, "LWS_GROUP_SIZE=3", fmt.Sprintf("LWS_WORKER_INDEX=%d", w)}
			if got, want := env(pod.Spec.Containers[0]), append(slices.Clone(place), "URL=http://$(LWS_LEADER_ADDRESS)"); !slices.Equal(got, want) {
				t.Errorf("pod %d main: %v, want %v", w, got, want)
			}
			for _, c := range []corev1.Container{pod.Spec.Containers[1], pod.Spec.InitContainers[0]} {
				if got := env(c); !slices.Equal(got, place) {
					t.Errorf("pod %d %s: %v, want %v", w, c.Name, got, place)
				}
			}
		}
	}
}

func TestTPUs(t *testing.T) {
	own := func(name string) corev1.Container {
		return tpu(container("main", corev1.EnvVar{Name: name, Value: "mine"}))
	}
	t.Run("init containers come last and requests count", func(t *testing.T) {
		g := group(2)
		requests := container("req")
		requests.Resources.Requests = corev1.ResourceList{resourceTPU: resource.MustParse("1")}
		zero := container("zero")
		zero.Resources.Limits = corev1.ResourceList{resourceTPU: resource.MustParse("0")}
		g.Template.WorkerTemplate = podTemplate(requests, zero)
		g.Template.WorkerTemplate.Spec.InitContainers = []corev1.Container{tpu(container("init"))}
		pod := g.Pod(1)
		want := []string{
			"TPU_WORKER_HOSTNAMES=s-0.s,s-0.s,s-0-1.s,s-0-1.s", "TPU_WORKER_ID=3", "TPU_NAME=s-0",
			"TPU_PROCESS_ADDRESSES=s-0.s:8476,s-0.s:8477,s-0-1.s:8476,s-0-1.s:8477", "TPU_PROCESS_PORT=8477",
		}
		if got := env(pod.Spec.InitContainers[0])[3:]; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := env(pod.Spec.Containers[0])[4]; got != "TPU_WORKER_ID=2" {
			t.Errorf("got %v", got)
		}
		if got := env(pod.Spec.Containers[1]); len(got) != 3 {
			t.Errorf("a container with no TPU got %v", got)
		}
	})
	t.Run("a container with its own list or id is left alone", func(t *testing.T) {
		for _, name := range []string{"TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"} {
			g := group(2)
			g.Template.WorkerTemplate = podTemplate(own(name))
			if got, want := env(g.Pod(1).Spec.Containers[0])[3:], []string{name + "=mine"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
	t.Run("own port", func(t *testing.T) {
		g := group(2)
		g.Template.WorkerTemplate = podTemplate(own("TPU_PROCESS_PORT"))
		want := []string{
			"TPU_PROCESS_PORT=mine", "TPU_WORKER_HOSTNAMES=s-0.s,s-0-1.s", "TPU_WORKER_ID=1", "TPU_NAME=s-0",
			"TPU_PROCESS_ADDRESSES=s-0.s:mine,s-0-1.s:mine",
		}
		if got := env(g.Pod(1).Spec.Containers[0])[3:]; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("the workers are told of a leader with TPUs", func(t *testing.T) {
		for _, layout := range tpuLayouts {
			g := group(2)
			g.Template.LeaderTemplate, g.Template.WorkerTemplate = &layout.leader, layout.worker
			_, leader := g.Pod(0).Annotations[v1.AnnotationLeaderRequestsTPUs]
			worker := g.Pod(1).Annotations[v1.AnnotationLeaderRequestsTPUs]
			if leader || (worker == "true") != (layout.name != "workers") {
				t.Errorf("%s: leader %v, worker %q", layout.name, leader, worker)
			}
		}
	})
}

// Building objects changes nothing that went in, and what comes out shares
// nothing with it.
func TestInputsStay(t *testing.T) {
	g := everything()
	set, template, network := g.Set.DeepCopy(), g.Template.DeepCopy(), g.Network.DeepCopy()
	for w := range g.Size() {
		pod := g.Pod(w)
		pod.Labels["x"], pod.Annotations["x"] = "x", "x"
		pod.Finalizers = append(pod.Finalizers[:0], "x")
		for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			for i := range c.Env {
				c.Env[i].Value = "x"
			}
			for name := range c.Resources.Limits {
				c.Resources.Limits[name] = resource.MustParse("9")
			}
		}
		for i := range pod.Spec.Volumes {
			pod.Spec.Volumes[i] = corev1.Volume{}
		}
		for _, claim := range g.Claims(w) {
			claim.Labels["x"], claim.Annotations["x"] = "x", "x"
			claim.Spec.DataSource.Name = "x"
		}
		g.Service().Spec.Selector["x"] = "x"
	}
	if !reflect.DeepEqual(set, g.Set) || !reflect.DeepEqual(template, g.Template) || !reflect.DeepEqual(network, g.Network) {
		t.Error("an input was changed")
	}
	if !reflect.DeepEqual(g.Pod(1), g.Pod(1)) {
		t.Error("two builds of a pod differ")
	}
}

func TestFits(t *testing.T) {
	g := group(3)
	set := g.Set
	for w := range g.Size() {
		if err := Fits(g.Pod(w), set, "other", "rev1"); err != nil {
			t.Errorf("own pod %d: %v", w, err)
		}
	}
	neighbour := &Group{Set: &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: "s-0", Namespace: "ns"}},
		Template: g.Template, Revision: "rev1", Index: 1}
	for name, change := range map[string]func(*corev1.Pod) *corev1.Pod{
		"another namespace": func(p *corev1.Pod) *corev1.Pod { p.Namespace = "other"; return p },
		"copied labels":     func(p *corev1.Pod) *corev1.Pod { p.Name = "debug"; return p },
		"another index":     func(p *corev1.Pod) *corev1.Pod { p.Name = "s-0-2"; return p },
		"another group":     func(p *corev1.Pod) *corev1.Pod { p.Name = "s-1-1"; return p },
		"set label":         func(p *corev1.Pod) *corev1.Pod { p.Labels[v1.LabelName] = "t"; return p },
		"no worker index":   func(p *corev1.Pod) *corev1.Pod { delete(p.Labels, v1.LabelWorkerIndex); return p },
		"group key":         func(p *corev1.Pod) *corev1.Pod { p.Labels[v1.LabelGroupKey] = "x"; return p },
		"revision":          func(p *corev1.Pod) *corev1.Pod { p.Labels[v1.LabelRevision] = "gone"; return p },
		"no revision":       func(p *corev1.Pod) *corev1.Pod { delete(p.Labels, v1.LabelRevision); return p },
		"no labels":         func(p *corev1.Pod) *corev1.Pod { p.Labels = nil; return p },
		// s-0-1 is also the name of the leader of group 1 of set s-0.
		"a neighbour's": func(*corev1.Pod) *corev1.Pod { return neighbour.Pod(0) },
	} {
		if err := Fits(change(g.Pod(1)), set, "rev1", ""); err == nil {
			t.Errorf("%s: fits", name)
		}
	}
}

package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
	"lws-controller/topology"
)

// theKey is the first set of a run.
var theKey = types.NamespacedName{Namespace: "ns", Name: "a"}

// newSet is a set as the API server stores it, with all defaults.
func newSet(replicas, size int32, change ...func(*v1.LeaderWorkerSet)) *v1.LeaderWorkerSet {
	zero, shared := int32(0), v1.SubdomainShared
	s := &v1.LeaderWorkerSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.SchemeGroupVersion.String(), Kind: v1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: theKey.Namespace, Name: theKey.Name},
		Spec: v1.LeaderWorkerSetSpec{
			Replicas:      &replicas,
			StartupPolicy: v1.LeaderCreatedStartupPolicy,
			LeaderWorkerTemplate: v1.LeaderWorkerTemplate{
				Size:          &size,
				RestartPolicy: v1.RecreateGroupOnPodRestart,
				WorkerTemplate: corev1.PodTemplateSpec{
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "v1"}}},
				},
			},
			RolloutStrategy: v1.RolloutStrategy{Type: v1.RollingUpdateStrategyType, RollingUpdateConfiguration: &v1.RollingUpdateConfiguration{
				Partition: &zero, MaxUnavailable: intstr.FromInt32(1), MaxSurge: intstr.FromInt32(0)}},
			NetworkConfig: &v1.NetworkConfig{SubdomainPolicy: &shared},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// Apply creates a set, as a user does.
func (w *World) Apply(s *v1.LeaderWorkerSet) {
	w.note("user creates set %s: %s", s.Name, describeSpec(s))
	_, _ = create(w.server, w.server.sets, s, request{by: invariant.User})
}

// Edit changes the spec of the set that the user has to do with.
func (w *World) Edit(what string, f func(*v1.LeaderWorkerSet)) {
	w.note("user, on %s: %s", w.at.Name, what)
	_, _ = update(w.server, w.server.sets, w.at, request{by: invariant.User}, func(s *v1.LeaderWorkerSet) error {
		before := s.Spec.DeepCopy()
		f(s)
		if !equality.Semantic.DeepEqual(*before, s.Spec) {
			s.Generation++ // annotations alone make none
		}
		return nil
	})
}

// DeleteSet deletes the set that the user has to do with.
func (w *World) DeleteSet(how metav1.DeletionPropagation) {
	w.note("user deletes set %s, %s", w.at.Name, how)
	_ = remove(w.server, w.server.sets, w.at, request{by: invariant.User, propagation: how})
}

// DeletePod deletes a pod, as a person does.
func (w *World) DeletePod(name string) {
	w.note("user deletes pod %s", name)
	_ = remove(w.server, w.server.pods, types.NamespacedName{Namespace: theKey.Namespace, Name: name}, request{by: invariant.User})
}

func scale(n int32) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Spec.Replicas = &n }
}

func image(name string) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = name
	}
}

func resize(n int32) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.Size = &n }
}

func startup(p v1.StartupPolicyType) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		if s.Spec.Scheduling == nil || p != v1.LeaderReadyStartupPolicy { // the CRD refuses that
			s.Spec.StartupPolicy = p
		}
	}
}

// gangs asks for native scheduling, with what makes it differ in the Workload, or for
// none.
func gangs(s *v1.Scheduling) func(*v1.LeaderWorkerSet) {
	return func(set *v1.LeaderWorkerSet) {
		if set.Spec.StartupPolicy != v1.LeaderReadyStartupPolicy && // the CRD refuses that
			set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.SchedulerName != v1.VolcanoScheduler { // and we this
			set.Spec.Scheduling = s
		}
	}
}

var (
	gang       = &v1.Scheduling{}
	gangInRack = &v1.Scheduling{SchedulingConstraints: &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}}
)

// placedByVolcano has Volcano place the pods, or nobody in particular.
func placedByVolcano(is bool) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		name := ""
		if is && s.Spec.Scheduling == nil {
			name = v1.VolcanoScheduler
		}
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.SchedulerName = name
	}
}

func restartPolicy(p v1.RestartPolicyType) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.RestartPolicy = p }
}

func maxGroupRestarts(n int32) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.MaxGroupRestarts = &n }
}

func subdomain(p v1.SubdomainPolicy) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) { s.Spec.NetworkConfig = &v1.NetworkConfig{SubdomainPolicy: &p} }
}

func budget(unavailable, surge, partition int32) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		s.Spec.RolloutStrategy.RollingUpdateConfiguration = &v1.RollingUpdateConfiguration{
			Partition: &partition, MaxUnavailable: intstr.FromInt32(unavailable), MaxSurge: intstr.FromInt32(surge)}
	}
}

// changes are what a user may do to a set that exists.
var changes = []struct {
	name string
	do   func(w *World)
}{
	{"scale", func(w *World) { w.Edit(w.draw("scale to", 5, scale)) }},
	{"image", func(w *World) {
		name := []string{"v1", "v2", "v3", badImage}[w.rng.IntN(4)]
		w.Edit("image "+name, image(name))
	}},
	{"size", func(w *World) {
		w.Edit(w.draw("size", 3, func(n int32) func(*v1.LeaderWorkerSet) { return resize(n + 1) }))
	}},
	{"budget", func(w *World) {
		surge := w.rng.Int32N(3)
		unavailable := w.rng.Int32N(3)
		if surge == 0 {
			unavailable = max(1, unavailable)
		}
		w.Edit("budget", budget(unavailable, surge, w.rng.Int32N(3)*w.rng.Int32N(2)))
	}},
	{"startup policy", func(w *World) {
		w.Edit("startup policy", startup([]v1.StartupPolicyType{v1.LeaderCreatedStartupPolicy, v1.LeaderReadyStartupPolicy}[w.rng.IntN(2)]))
	}},
	{"subdomain policy", func(w *World) {
		w.Edit("subdomain policy", subdomain([]v1.SubdomainPolicy{v1.SubdomainShared, v1.SubdomainUniquePerReplica}[w.rng.IntN(2)]))
	}},
	{"restart policy", func(w *World) {
		w.Edit("restart policy", restartPolicy([]v1.RestartPolicyType{v1.RecreateGroupOnPodRestart, v1.RecreateGroupAfterStart, v1.NoneRestartPolicy}[w.rng.IntN(3)]))
	}},
	{"restart budget", func(w *World) { w.Edit(w.draw("restart budget", 3, maxGroupRestarts)) }},
	{"steer", func(w *World) { w.drawSteering() }},
	{"delete", func(w *World) {
		w.DeleteSet([]metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}[w.rng.IntN(3)])
	}},
}

// draw makes an edit with a number drawn below n.
func (w *World) draw(what string, n int32, f func(int32) func(*v1.LeaderWorkerSet)) (string, func(*v1.LeaderWorkerSet)) {
	k := w.rng.Int32N(n)
	return what + " " + string(rune('0'+k)), f(k)
}

// userActs has the user do something: make the set if there is none, else change
// or delete it.
func (w *World) userActs() bool {
	w.at = w.keys[w.rng.IntN(len(w.keys))]
	s, exists := w.server.sets.items[w.at]
	if !exists {
		w.Apply(w.drawSet())
		return true
	}
	if s.DeletionTimestamp != nil {
		return false
	}
	c := w.options.changes[w.rng.IntN(len(w.options.changes))]
	w.covered["user "+changes[c].name]++
	changes[c].do(w)
	return true
}

// drawSet is a set with drawn options.
func (w *World) drawSet() *v1.LeaderWorkerSet {
	s := newSet(1+w.rng.Int32N(4), 1+w.rng.Int32N(4))
	s.Name = w.at.Name
	if w.rng.IntN(3) == 0 {
		startup(v1.LeaderReadyStartupPolicy)(s)
	}
	if w.rng.IntN(3) == 0 {
		subdomain(v1.SubdomainUniquePerReplica)(s)
	}
	if w.rng.IntN(4) == 0 {
		restartPolicy([]v1.RestartPolicyType{v1.RecreateGroupAfterStart, v1.NoneRestartPolicy}[w.rng.IntN(2)])(s)
	}
	if w.rng.IntN(5) == 0 {
		maxGroupRestarts(w.rng.Int32N(3))(s)
	}
	if w.rng.IntN(3) == 0 {
		budget(w.rng.Int32N(2), 1+w.rng.Int32N(2), 0)(s)
	}
	return s
}

// monkeys are what a careless person does to objects that are not his.
var monkeys = []struct {
	name string
	do   func(w *World, p *corev1.Pod)
}{
	{"delete pod", func(w *World, p *corev1.Pod) { w.DeletePod(p.Name) }},
	{"strip label", func(w *World, p *corev1.Pod) {
		w.note("monkey strips the label of %s", p.Name)
		w.podUpdate(p, invariant.User, func(p *corev1.Pod) { delete(p.Labels, v1.LabelName) })
	}},
	{"delete service", func(w *World, _ *corev1.Pod) {
		for _, s := range w.server.services.list() {
			w.note("monkey deletes service %s", s.Name)
			_ = remove(w.server, w.server.services, keyOf(s), request{by: invariant.User})
			return
		}
	}},
	{"delete revision", func(w *World, _ *corev1.Pod) {
		if r := w.anyRevision(); r != nil {
			w.note("monkey deletes revision %s", r.Name)
			_ = remove(w.server, w.server.revisions, keyOf(r), request{by: invariant.User})
		}
	}},
	{"strip revision", func(w *World, _ *corev1.Pod) {
		if r := w.anyRevision(); r != nil {
			label := []string{v1.LabelName, v1.LabelRevision}[w.rng.IntN(2)]
			w.note("monkey strips %s off revision %s", label, r.Name)
			_, _ = update(w.server, w.server.revisions, keyOf(r), request{by: invariant.User}, func(r *appsv1.ControllerRevision) error {
				delete(r.Labels, label)
				return nil
			})
		}
	}},
	{"squat", func(w *World, p *corev1.Pod) {
		name := topology.PodName(w.at.Name, w.rng.Int32N(4), w.rng.Int32N(3))
		w.note("monkey creates a pod %s of its own", name)
		_, _ = create(w.server, w.server.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: theKey.Namespace, Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}, request{by: invariant.User})
	}},
	{"copy labels", func(w *World, p *corev1.Pod) {
		labels := map[string]string{v1.LabelName: w.at.Name}
		w.note("monkey creates a stray pod with the set's label")
		_, _ = create(w.server, w.server.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: theKey.Namespace, Name: "stray", Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}, request{by: invariant.User})
	}},
}

// anyRevision is one of the revisions, nil if there is none.
func (w *World) anyRevision() *appsv1.ControllerRevision {
	all := w.server.revisions.list()
	if len(all) == 0 {
		return nil
	}
	return all[w.rng.IntN(len(all))]
}

// monkeyActs has the monkey do something.
func (w *World) monkeyActs() bool {
	pods := w.server.pods.list()
	if len(pods) == 0 {
		return false
	}
	if w.gangsAct() || w.volcanoActs() {
		return true
	}
	m := monkeys[w.options.monkeys[w.rng.IntN(len(w.options.monkeys))]]
	w.covered["monkey "+m.name]++
	m.do(w, pods[w.rng.IntN(len(pods))])
	return true
}

// gangsAct has somebody change how pods are scheduled, or delete a PodGroup or
// Workload, in a world that has any.
func (w *World) gangsAct() bool {
	if len(w.server.podGroups.log) == 0 || w.aside.IntN(4) > 0 {
		return false
	}
	switch w.at = w.keys[w.aside.IntN(len(w.keys))]; w.aside.IntN(4) {
	case 0:
		w.Edit("scheduling", gangs([]*v1.Scheduling{nil, gang, gangInRack}[w.aside.IntN(3)]))
		w.covered["scheduling changed"]++
	case 1:
		drop(w, w.server.workloads)
	default:
		drop(w, w.server.podGroups)
	}
	return true
}

// volcanoActs has somebody change what sets that use Volcano ask for, or change or delete
// one of its PodGroups, in a world that has any.
func (w *World) volcanoActs() bool {
	if len(w.server.volcano.log) == 0 || w.aside.IntN(4) > 0 {
		return false
	}
	switch w.at = w.keys[w.aside.IntN(len(w.keys))]; w.aside.IntN(6) {
	case 0:
		w.Edit("scheduler", placedByVolcano(w.aside.IntN(3) > 0))
		w.covered["scheduler changed"]++
	case 1:
		w.Annotate(v1.AnnotationVolcanoQueue, []string{"", "a", "b"}[w.aside.IntN(3)])
		w.covered["queue changed"]++
	case 2, 3:
		w.spoil(spoiled[w.aside.IntN(len(spoiled))])
	default:
		drop(w, w.server.volcano)
	}
	return true
}

// spoiled are what a monkey may do to a PodGroup of Volcano.
var spoiled = []func(*unstructured.Unstructured){
	func(o *unstructured.Unstructured) { o.SetLabels(nil) },
	func(o *unstructured.Unstructured) { o.SetAnnotations(nil) },
	func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"minMember": int64(7), "queue": "c"}
	},
}

// spoil has a monkey change a PodGroup of Volcano.
func (w *World) spoil(how func(*unstructured.Unstructured)) {
	if all := w.server.volcano.list(); len(all) > 0 {
		o := all[w.aside.IntN(len(all))]
		w.note("monkey spoils podgroup of Volcano %s", o.GetName())
		w.covered["monkey spoils a podgroup"]++
		_, _ = update(w.server, w.server.volcano, keyOf(o), request{by: invariant.User}, func(o *unstructured.Unstructured) error {
			how(o)
			return nil
		})
	}
}

// drop has a monkey delete one of these objects.
func drop[T object](w *World, t *table[T]) {
	if all := t.list(); len(all) > 0 {
		o := all[w.aside.IntN(len(all))]
		w.note("monkey deletes %s %s", t.kind, o.GetName())
		w.covered["monkey deletes "+string(t.kind)]++
		_ = remove(w.server, t, keyOf(o), request{by: invariant.User})
	}
}

// removeOrphans removes the pods that nobody controls, if there is a set whose
// names they hold.
func (w *World) removeOrphans() bool {
	some := false
	if len(w.server.sets.items) > 0 {
		for _, p := range w.server.pods.list() {
			if controllerOf(p) == "" {
				some = true
				_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.User, uid: p.UID})
			}
		}
	}
	return some
}

// cleanUp removes what the monkey left: pods that nobody controls and that are
// not what an orphaning deletion left behind.
func (w *World) cleanUp() {
	for _, p := range w.server.pods.list() {
		if p.Labels[v1.LabelGroupKey] == "" || p.Labels[v1.LabelName] == "" {
			_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.User, uid: p.UID})
		}
	}
}

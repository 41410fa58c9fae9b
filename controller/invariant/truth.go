package invariant

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// truth is the objects as they are, with the history of the pods.
type truth struct {
	sets      map[types.NamespacedName]*v1.LeaderWorkerSet
	pods      map[types.NamespacedName]*corev1.Pod
	services  map[types.NamespacedName]*corev1.Service
	revisions map[types.NamespacedName]*appsv1.ControllerRevision
	budgets   map[types.NamespacedName]*policyv1.PodDisruptionBudget
	claims    map[types.NamespacedName]*corev1.PersistentVolumeClaim
	podGroups map[types.NamespacedName]*schedulingv1beta1.PodGroup
	workloads map[types.NamespacedName]*schedulingv1beta1.Workload
	volcano   map[types.NamespacedName]*unstructured.Unstructured
	// dropped are PodGroups of Volcano that others than the controller have deleted.
	dropped map[types.NamespacedName]bool
	// past are the versions of each pod name, oldest first.
	past map[types.NamespacedName][]version
}

// version is what a name held from a resource version on; pod is nil where it
// held nothing.
type version struct {
	from int64
	pod  *corev1.Pod
}

func newTruth() truth {
	return truth{
		sets:      map[types.NamespacedName]*v1.LeaderWorkerSet{},
		pods:      map[types.NamespacedName]*corev1.Pod{},
		services:  map[types.NamespacedName]*corev1.Service{},
		revisions: map[types.NamespacedName]*appsv1.ControllerRevision{},
		budgets:   map[types.NamespacedName]*policyv1.PodDisruptionBudget{},
		claims:    map[types.NamespacedName]*corev1.PersistentVolumeClaim{},
		podGroups: map[types.NamespacedName]*schedulingv1beta1.PodGroup{},
		workloads: map[types.NamespacedName]*schedulingv1beta1.Workload{},
		volcano:   map[types.NamespacedName]*unstructured.Unstructured{},
		dropped:   map[types.NamespacedName]bool{},
		past:      map[types.NamespacedName][]version{},
	}
}

func keyOf(o Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// apply takes a change in. at is the resource version it was committed at.
func (t *truth) apply(c *Change, at int64) {
	key := keyOf(c.object())
	switch o := c.object().(type) {
	case *v1.LeaderWorkerSet:
		put(t.sets, key, c.After, o)
	case *corev1.Pod:
		put(t.pods, key, c.After, o)
		t.past[key] = append(t.past[key], version{at, t.pods[key]})
	case *corev1.Service:
		put(t.services, key, c.After, o)
	case *appsv1.ControllerRevision:
		put(t.revisions, key, c.After, o)
	case *policyv1.PodDisruptionBudget:
		put(t.budgets, key, c.After, o)
	case *corev1.PersistentVolumeClaim:
		put(t.claims, key, c.After, o)
	case *schedulingv1beta1.PodGroup:
		put(t.podGroups, key, c.After, o)
	case *schedulingv1beta1.Workload:
		put(t.workloads, key, c.After, o)
	case *unstructured.Unstructured:
		put(t.volcano, key, c.After, o)
		t.dropped[key] = c.After == nil && c.By != Controller
	}
}

func put[T any](m map[types.NamespacedName]T, key types.NamespacedName, after Object, o T) {
	if after == nil {
		delete(m, key)
	} else {
		m[key] = o
	}
}

// podsAt are the pods as a cache shows them that has seen everything up to a
// resource version: those with the label of a set.
func (t *truth) podsAt(at int64) []*corev1.Pod {
	var out []*corev1.Pod
	for _, versions := range t.past {
		for _, v := range slices.Backward(versions) {
			if v.from <= at {
				if v.pod != nil {
					out = append(out, v.pod)
				}
				break
			}
		}
	}
	sortByName(out)
	return labelled(out)
}

// versionsSince are the resource versions at which pods changed after one, and
// that one.
func (t *truth) versionsSince(at int64) []int64 {
	out := []int64{at}
	for _, versions := range t.past {
		for _, v := range slices.Backward(versions) {
			if v.from <= at {
				break
			}
			out = append(out, v.from)
		}
	}
	return out
}

// labelled are the pods among these that a cache shows.
func labelled(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p.Labels[v1.LabelName] == "" })
}

// podsNow are the pods as they are.
func (t *truth) podsNow() []*corev1.Pod {
	out := slices.Collect(maps.Values(t.pods))
	sortByName(out)
	return out
}

func sortByName(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

// place is where a pod belongs: the set that controls it, by name and UID, and
// its index there.
type place struct {
	set    types.NamespacedName
	uid    types.UID
	group  int32
	worker int32
}

// placeOf reads the place of a pod off its controller and name.
func placeOf(p *corev1.Pod) (place, bool) {
	ref := metav1.GetControllerOfNoCopy(p)
	if ref == nil || ref.Kind != v1.Kind {
		return place{}, false
	}
	index, worker, ok := topology.ParsePodName(ref.Name, p.Name)
	return place{set: types.NamespacedName{Namespace: p.Namespace, Name: ref.Name}, uid: ref.UID, group: index, worker: worker}, ok
}

// ofGroup are the pods among these that the set of this UID controls in a group.
func ofGroup(pods []*corev1.Pod, uid types.UID, index int32) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		if at, ok := placeOf(p); ok && at.uid == uid && at.group == index {
			out = append(out, p)
		}
	}
	return out
}

// groupsOf are the pods among these that the set of this UID controls, by group.
func groupsOf(pods []*corev1.Pod, uid types.UID) map[int32][]*corev1.Pod {
	out := map[int32][]*corev1.Pod{}
	for _, p := range pods {
		if at, ok := placeOf(p); ok && at.uid == uid {
			out[at.group] = append(out[at.group], p)
		}
	}
	return out
}

func incarnation(p *corev1.Pod) int64 {
	n, _ := strconv.ParseInt(p.Annotations[v1.AnnotationIncarnation], 10, 64)
	return n
}

func revisionOf(p *corev1.Pod) string { return p.Labels[v1.LabelRevision] }

func terminating(o Object) bool { return o.GetDeletionTimestamp() != nil }

func isReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.Status.Phase == corev1.PodRunning
		}
	}
	return false
}

// groupReady is the leader's GroupReady condition, nil without one.
func groupReady(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == v1.ConditionGroupReady {
			return c
		}
	}
	return nil
}

// size is how many pods the group should have, as its pods say.
func size(pods []*corev1.Pod) int {
	most := 0
	for _, p := range pods {
		n, _ := strconv.Atoi(p.Annotations[v1.AnnotationSize])
		most = max(most, n)
	}
	return most
}

// whollyReady says that all pods of a group exist at one revision and
// incarnation and are Ready, and that none is terminating.
func whollyReady(pods []*corev1.Pod) bool {
	if len(pods) == 0 || len(pods) != size(pods) {
		return false
	}
	for _, p := range pods {
		if terminating(p) || !isReady(p) || incarnation(p) != incarnation(pods[0]) || revisionOf(p) != revisionOf(pods[0]) {
			return false
		}
	}
	return true
}

// Groups says how many groups of the set with this UID are wholly Ready now, and how many are alive:
// of which any pod exists.
func (c *Checker) Groups(set types.UID) (ready, alive int32) {
	for _, mates := range groupsOf(c.podsNow(), set) {
		alive++
		if whollyReady(mates) {
			ready++
		}
	}
	return ready, alive
}

func replicas(s *v1.LeaderWorkerSet) int32 {
	if s.Spec.Replicas == nil {
		return 1
	}
	return *s.Spec.Replicas
}

package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
	"lws-controller/informers"
)

// Server is an API server in memory.
type Server struct {
	clock     clock.PassiveClock
	version   int64
	uids      int
	sets      *table[*v1.LeaderWorkerSet]
	pods      *table[*corev1.Pod]
	services  *table[*corev1.Service]
	revisions *table[*appsv1.ControllerRevision]
	nodes     *table[*corev1.Node]
	budgets   *table[*policyv1.PodDisruptionBudget]
	claims    *table[*corev1.PersistentVolumeClaim]
	workloads *table[*schedulingv1beta1.Workload]
	podGroups *table[*schedulingv1beta1.PodGroup]
	volcano   *table[*unstructured.Unstructured]
	// quota is how many pods there may be; 0: any number.
	// prunes: the CRD is that of another version, and drops what it does not know of a
	// set that is written.
	prunes bool
	quota  int
	// ending: the namespace is being deleted.
	ending bool
	// observe is told of every accepted request.
	observe func(*invariant.Change, int64)
}

// NewServer returns an empty API server.
func NewServer(c clock.PassiveClock, observe func(*invariant.Change, int64)) *Server {
	return &Server{
		clock:     c,
		version:   100,
		sets:      newTable[*v1.LeaderWorkerSet](informers.Sets, v1.Resource),
		pods:      newTable[*corev1.Pod](informers.Pods, "pods"),
		services:  newTable[*corev1.Service](informers.Services, "services"),
		revisions: newTable[*appsv1.ControllerRevision](informers.Revisions, "controllerrevisions"),
		nodes:     newTable[*corev1.Node](informers.Nodes, "nodes"),
		budgets:   newTable[*policyv1.PodDisruptionBudget](informers.Budgets, "poddisruptionbudgets"),
		claims:    newTable[*corev1.PersistentVolumeClaim]("PersistentVolumeClaim", "persistentvolumeclaims"),
		workloads: newTable[*schedulingv1beta1.Workload](informers.Workloads, "workloads"),
		podGroups: newTable[*schedulingv1beta1.PodGroup](informers.PodGroups, "podgroups"),
		volcano:   newTable[*unstructured.Unstructured](informers.VolcanoGroups, "podgroups"),
		observe:   observe,
	}
}

// request is who asks, and under which conditions.
type request struct {
	by          invariant.Actor
	seen        *invariant.Seen
	uid         types.UID
	version     string
	subresource string
	// force: a grace period of 0, as kubelets ask for when they are done.
	force bool
	// propagation of the deletion of a set.
	propagation metav1.DeletionPropagation
}

func (t *table[T]) gr() schema.GroupResource { return schema.GroupResource{Resource: t.resource} }

// get returns a copy of an object.
func get[T object](t *table[T], key types.NamespacedName) (T, error) {
	if o, exists := t.items[key]; exists {
		return clone(o), nil
	}
	var none T
	return none, apierrors.NewNotFound(t.gr(), key.Name)
}

// clone is a deep copy.
func clone[T object](o T) T {
	return any(o).(interface{ DeepCopyObject() runtime.Object }).DeepCopyObject().(T)
}

// check compares the preconditions of a request with the stored object.
func check[T object](t *table[T], o T, r request) error {
	switch {
	case r.uid != "" && r.uid != o.GetUID():
		return apierrors.NewConflict(t.gr(), o.GetName(), fmt.Errorf("precondition failed: UID is %s, not %s", o.GetUID(), r.uid))
	case r.version != "" && r.version != o.GetResourceVersion():
		return apierrors.NewConflict(t.gr(), o.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

// create stores a new object and returns a copy of what was stored.
func create[T object](s *Server, t *table[T], o T, r request) (T, error) {
	var none T
	key := keyOf(o)
	if s.ending && key.Namespace != "" {
		return none, namespaceEnding(t.gr(), key)
	}
	if _, exists := t.items[key]; exists {
		return none, apierrors.NewAlreadyExists(t.gr(), key.Name)
	}
	if t.kind == informers.Pods && s.quota > 0 && len(t.items) >= s.quota {
		return none, apierrors.NewForbidden(t.gr(), key.Name, fmt.Errorf("exceeded quota: pods=%d", s.quota))
	}
	o = clone(o)
	s.uids++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	o.SetCreationTimestamp(s.now())
	o.SetGeneration(1)
	switch o := any(o).(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
	case *schedulingv1beta1.PodGroup:
		o.Finalizers = []string{podGroupProtection}
	}
	commit(s, t, none, o, invariant.Create, r)
	return clone(o), nil
}

// update replaces an object by what change makes of a copy of it. A change that
// changes nothing writes nothing.
func update[T object](s *Server, t *table[T], key types.NamespacedName, r request, mutate func(T) error) (T, error) {
	var none T
	before, exists := t.items[key]
	if !exists {
		return none, apierrors.NewNotFound(t.gr(), key.Name)
	}
	if err := check(t, before, r); err != nil {
		return none, err
	}
	after := clone(before)
	if err := mutate(after); err != nil {
		return none, err
	}
	if set, isSet := any(after).(*v1.LeaderWorkerSet); isSet && s.prunes {
		prune(set)
	}
	if err := oneController(t, after); err != nil {
		return none, err
	}
	// Nodes and the scheduler write only what is new.
	if (r.by == invariant.Controller || r.by == invariant.User) && equality.Semantic.DeepEqual(before, after) {
		s.tell(before, before, invariant.Update, r)
		return clone(before), nil
	}
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && graceOver(after) {
		commit(s, t, before, none, invariant.Update, r)
		return after, nil
	}
	commit(s, t, before, after, invariant.Update, r)
	return clone(after), nil
}

// oneController refuses a second controlling owner, as the API server does.
func oneController[T object](t *table[T], o T) error {
	n := 0
	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			n++
		}
	}
	if n > 1 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: string(t.kind)}, o.GetName(), nil)
	}
	return nil
}

// graceOver says that nothing but finalizers keeps a terminating object.
func graceOver(o metav1.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// grace is how long an object may take to stop: pods on a node have time.
func grace(o metav1.Object, r request) int64 {
	p, ok := o.(*corev1.Pod)
	if !ok || r.force || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	return 30
}

// remove deletes an object: at once, or by marking it where finalizers or a grace
// period hold it.
func remove[T object](s *Server, t *table[T], key types.NamespacedName, r request) error {
	var none T
	before, exists := t.items[key]
	if !exists {
		return apierrors.NewNotFound(t.gr(), key.Name)
	}
	if err := check(t, before, r); err != nil {
		return err
	}
	finalizers := before.GetFinalizers()
	switch r.propagation {
	case metav1.DeletePropagationForeground:
		finalizers = append(slices.Clone(finalizers), metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		finalizers = append(slices.Clone(finalizers), metav1.FinalizerOrphanDependents)
	}
	g := grace(before, r)
	if len(finalizers) == 0 && g == 0 {
		commit(s, t, before, none, invariant.Delete, r)
		return nil
	}
	if before.GetDeletionTimestamp() != nil && (g > 0 || graceOver(before)) {
		s.tell(before, before, invariant.Delete, r)
		return nil
	}
	after := clone(before)
	until := metav1.NewTime(s.now().Add(time.Duration(g) * time.Second))
	after.SetFinalizers(finalizers)
	after.SetDeletionTimestamp(&until)
	after.SetDeletionGracePeriodSeconds(&g)
	if _, isSet := any(after).(*v1.LeaderWorkerSet); isSet {
		after.SetGeneration(after.GetGeneration() + 1)
	}
	commit(s, t, before, after, invariant.Delete, r)
	return nil
}

// commit gives a write its resource version, stores it and tells of it.
func commit[T object](s *Server, t *table[T], before, after T, verb invariant.Verb, r request) {
	var none T
	s.version++
	key := types.NamespacedName{}
	if after != none {
		key = keyOf(after)
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		t.items[key] = after
	} else {
		key = keyOf(before)
		delete(t.items, key)
	}
	t.log = append(t.log, change[T]{s.version, key, before, after})
	s.tell(orNil(before), orNil(after), verb, r)
}

// orNil makes a nil pointer a nil interface.
func orNil[T object](o T) invariant.Object {
	var none T
	if o == none {
		return nil
	}
	return o
}

func (s *Server) tell(before, after invariant.Object, verb invariant.Verb, r request) {
	s.observe(&invariant.Change{
		At: s.clock.Now(), By: r.by, Verb: verb, Subresource: r.subresource, Before: before, After: after,
		UID: r.uid != "", Version: r.version != "", Force: r.force, Seen: r.seen,
	}, s.version)
}

// now is the time as the API stores it: whole seconds.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.clock.Now().Truncate(time.Second)) }

// prune drops what the published CRD does not know of a set.
func prune(set *v1.LeaderWorkerSet) {
	set.Spec.LeaderWorkerTemplate.MaxGroupRestarts = nil
	s := &set.Status
	s.CurrentRevision, s.UpdateRevision, s.EstablishedReplicas = "", "", 0
	s.Groups, s.Recycling, s.GroupRestarts = nil, nil, nil
}

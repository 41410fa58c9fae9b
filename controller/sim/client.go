package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/invariant"
	"lws-controller/informers"
)

// api is the API server as one controller process reaches it.
type api struct{ p *Process }

var _ controller.API = api{}

// read makes a request that writes nothing.
func read[T any](a api, what string, do func(*Server) (T, error)) (T, error) {
	return send(a, call{what: what}, do)
}

// send makes a request, if the process lives and no fault comes in the way.
func send[T any](a api, c call, do func(*Server) (T, error)) (T, error) {
	var none T
	switch {
	case a.p.ghost && c.write:
		return none, errDead
	case a.p.ghost:
		return do(a.p.world.server)
	}
	a.p.world.meanwhile(a.p)
	a.p.exits(c)
	if a.p.dead {
		return none, errDead
	}
	fault := a.p.world.fault(&c)
	a.p.world.struck(c, fault)
	switch fault {
	case noFault:
		got, err := do(a.p.world.server)
		if err != nil && c.write {
			a.p.world.watcher.Refused(c.what, err)
		}
		return got, err
	case crashBefore:
		a.p.dead = true
		return none, errDead
	case crashAfter:
		got, err := do(a.p.world.server)
		a.p.dead = true
		return got, err
	case unanswered:
		_, _ = do(a.p.world.server)
	}
	if c.write {
		a.p.world.watcher.Refused(c.what, errors.New(string(fault)))
	}
	return none, fault.err(c)
}

func (a api) by() request {
	seen := a.p.seen
	if !a.p.lost.IsZero() {
		late := *seen
		late.Lost = invariant.Loss{Process: a.p.name, At: a.p.lost}
		seen = &late
	}
	return request{by: invariant.Controller, seen: seen}
}

func (a api) GetSet(_ context.Context, key types.NamespacedName) (*v1.LeaderWorkerSet, error) {
	set, err := read(a, "get set", func(s *Server) (*v1.LeaderWorkerSet, error) { return get(s.sets, key) })
	a.p.learn(set)
	return set, err
}

func (a api) PatchSet(_ context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	set, err := send(a, call{what: patchSet, write: true}, func(s *Server) (*v1.LeaderWorkerSet, error) {
		stored, exists := s.sets.items[key]
		if !exists {
			return nil, apierrors.NewNotFound(s.sets.gr(), key.Name)
		}
		patched, err := jsonPatched(stored, patch)
		if err != nil {
			return nil, apierrors.NewInvalid(v1.GroupVersionKind.GroupKind(), key.Name, nil)
		}
		r := a.by()
		r.uid, r.version = patched.UID, patched.ResourceVersion
		return update(s, s.sets, key, r, func(o *v1.LeaderWorkerSet) error {
			if !equality.Semantic.DeepEqual(o.Spec, patched.Spec) {
				o.Generation++
			}
			o.ObjectMeta.Annotations, o.Spec = patched.Annotations, patched.Spec
			return nil
		})
	})
	a.p.learn(set)
	return set, err
}

func (a api) PatchSetStatus(_ context.Context, key types.NamespacedName, patch []byte) (*v1.LeaderWorkerSet, error) {
	set, err := send(a, call{what: a.p.world.statusWrite(patch), write: true}, func(s *Server) (*v1.LeaderWorkerSet, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		r.subresource = "status"
		return update(s, s.sets, key, r, func(o *v1.LeaderWorkerSet) error {
			return mergeStatus(&o.Status, patch)
		})
	})
	a.p.learn(set)
	return set, err
}

func (a api) GetPod(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	return read(a, "get pod", func(s *Server) (*corev1.Pod, error) { return get(s.pods, key) })
}

func (a api) ListPods(_ context.Context, set types.NamespacedName) (*corev1.PodList, error) {
	return read(a, "list pods", func(s *Server) (*corev1.PodList, error) {
		list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.version, 10)}}
		for _, p := range s.pods.list() {
			if p.Namespace == set.Namespace && p.Labels[v1.LabelName] == set.Name {
				list.Items = append(list.Items, *p.DeepCopy())
			}
		}
		return list, nil
	})
}

func (a api) CreatePod(_ context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return send(a, call{what: createPod, name: pod.Name, write: true}, func(s *Server) (*corev1.Pod, error) { return create(s, s.pods, pod, a.by()) })
}

func (a api) PatchPod(_ context.Context, key types.NamespacedName, patch []byte, subresources ...string) (*corev1.Pod, error) {
	return send(a, call{what: podWrite(patch, subresources), write: true}, func(s *Server) (*corev1.Pod, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		if len(subresources) > 0 {
			r.subresource = subresources[0]
		}
		return update(s, s.pods, key, r, func(o *corev1.Pod) error {
			if r.subresource == "status" {
				return mergeConditions(&o.Status, patch)
			}
			patched, err := strategicPatched(o, patch)
			if err == nil {
				o.ObjectMeta = patched.ObjectMeta
			}
			return err
		})
	})
}

func (a api) DeletePod(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deletePod, uid, func(s *Server, r request) error { return remove(s, s.pods, key, r) })
}

func (a api) ForceDeletePod(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deletePod, uid, func(s *Server, r request) error {
		r.force = true
		return remove(s, s.pods, key, r)
	})
}

func (a api) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	node, err := read(a, "get node", func(s *Server) (*corev1.Node, error) { return get(s.nodes, types.NamespacedName{Name: name}) })
	if a.p.seen != nil && (err == nil || apierrors.IsNotFound(err)) {
		a.p.seen.Nodes[name] = node
	}
	return node, err
}

func (a api) remove(what string, uid types.UID, do func(*Server, request) error) error {
	_, err := send(a, call{what: what, write: true}, func(s *Server) (struct{}, error) {
		r := a.by()
		r.uid = uid
		return struct{}{}, do(s, r)
	})
	return err
}

func (a api) GetService(_ context.Context, key types.NamespacedName) (*corev1.Service, error) {
	return read(a, "get service", func(s *Server) (*corev1.Service, error) { return get(s.services, key) })
}

func (a api) CreateService(_ context.Context, service *corev1.Service) (*corev1.Service, error) {
	return send(a, call{what: createService, write: true}, func(s *Server) (*corev1.Service, error) { return create(s, s.services, service, a.by()) })
}

func (a api) PatchService(_ context.Context, key types.NamespacedName, patch []byte) (*corev1.Service, error) {
	return send(a, call{what: adoptService, write: true}, func(s *Server) (*corev1.Service, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.services, key, r, func(o *corev1.Service) error {
			patched, err := strategicPatched(o, patch)
			if err == nil {
				o.ObjectMeta, o.Spec = patched.ObjectMeta, patched.Spec
			}
			return err
		})
	})
}

func (a api) DeleteService(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deleteService, uid, func(s *Server, r request) error { return remove(s, s.services, key, r) })
}

func (a api) GetClaim(_ context.Context, key types.NamespacedName) (*corev1.PersistentVolumeClaim, error) {
	return read(a, "get claim", func(s *Server) (*corev1.PersistentVolumeClaim, error) { return get(s.claims, key) })
}

func (a api) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	return send(a, call{what: createClaim, name: claim.Name, write: true}, func(s *Server) (*corev1.PersistentVolumeClaim, error) {
		return create(s, s.claims, claim, a.by())
	})
}

func (a api) PatchClaim(_ context.Context, key types.NamespacedName, patch []byte) error {
	_, err := send(a, call{what: patchClaim, write: true}, func(s *Server) (*corev1.PersistentVolumeClaim, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.claims, key, r, func(o *corev1.PersistentVolumeClaim) error {
			patched, err := mergePatched(o, patch)
			if err == nil {
				o.ObjectMeta = patched.ObjectMeta
			}
			return err
		})
	})
	return err
}

func (a api) CreateBudget(_ context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	return send(a, call{what: createBudget, write: true}, func(s *Server) (*policyv1.PodDisruptionBudget, error) {
		if err := validBudget(budget); err != nil {
			return nil, err
		}
		return create(s, s.budgets, budget, a.by())
	})
}

func (a api) UpdateBudget(_ context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	return send(a, call{what: updateBudget, write: true}, func(s *Server) (*policyv1.PodDisruptionBudget, error) {
		if err := validBudget(budget); err != nil {
			return nil, err
		}
		r := a.by()
		r.uid, r.version = budget.UID, budget.ResourceVersion
		return update(s, s.budgets, keyOf(budget), r, func(o *policyv1.PodDisruptionBudget) error {
			if !equality.Semantic.DeepEqual(o.Spec, budget.Spec) {
				o.Generation++
			}
			o.Labels, o.Annotations, o.Spec = budget.Labels, budget.Annotations, budget.Spec
			return nil
		})
	})
}

// validBudget refuses a selector that the API server refuses, such as one that names
// no value.
func validBudget(b *policyv1.PodDisruptionBudget) error {
	if _, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err != nil {
		return apierrors.NewInvalid(schema.GroupKind{Kind: string(informers.Budgets)}, b.Name,
			field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), b.Spec.Selector, err.Error())})
	}
	return nil
}

func (a api) DeleteBudget(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deleteBudget, uid, func(s *Server, r request) error { return remove(s, s.budgets, key, r) })
}

func (a api) CreateVolcanoGroup(_ context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return send(a, call{what: createVolcano, write: true}, func(s *Server) (*unstructured.Unstructured, error) {
		return create(s, s.volcano, o, a.by())
	})
}

func (a api) GetVolcanoGroup(_ context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return read(a, "get volcano group", func(s *Server) (*unstructured.Unstructured, error) { return get(s.volcano, key) })
}

func (a api) PatchVolcanoGroup(_ context.Context, key types.NamespacedName, patch []byte) (*unstructured.Unstructured, error) {
	return send(a, call{what: patchVolcano, write: true}, func(s *Server) (*unstructured.Unstructured, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.volcano, key, r, func(o *unstructured.Unstructured) error {
			patched, err := mergePatched(o, patch)
			if err == nil {
				o.Object = patched.Object
			}
			return err
		})
	})
}

func (a api) DeleteVolcanoGroup(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deleteVolcano, uid, func(s *Server, r request) error { return remove(s, s.volcano, key, r) })
}

func (a api) CreateWorkload(_ context.Context, o *schedulingv1beta1.Workload) (*schedulingv1beta1.Workload, error) {
	return send(a, call{what: createWorkload, write: true}, func(s *Server) (*schedulingv1beta1.Workload, error) {
		return create(s, s.workloads, o, a.by())
	})
}

func (a api) GetWorkload(_ context.Context, key types.NamespacedName) (*schedulingv1beta1.Workload, error) {
	return read(a, "get workload", func(s *Server) (*schedulingv1beta1.Workload, error) { return get(s.workloads, key) })
}

func (a api) PatchWorkload(_ context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.Workload, error) {
	return send(a, call{what: adoptWorkload, write: true}, func(s *Server) (*schedulingv1beta1.Workload, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.workloads, key, r, func(o *schedulingv1beta1.Workload) error {
			patched, err := mergePatched(o, patch)
			if err == nil {
				o.ObjectMeta = patched.ObjectMeta
			}
			return err
		})
	})
}

func (a api) DeleteWorkload(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deleteWorkload, uid, func(s *Server, r request) error { return remove(s, s.workloads, key, r) })
}

func (a api) CreatePodGroup(_ context.Context, o *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	return send(a, call{what: createPodGroup, write: true}, func(s *Server) (*schedulingv1beta1.PodGroup, error) {
		return create(s, s.podGroups, o, a.by())
	})
}

func (a api) GetPodGroup(_ context.Context, key types.NamespacedName) (*schedulingv1beta1.PodGroup, error) {
	return read(a, "get pod group", func(s *Server) (*schedulingv1beta1.PodGroup, error) { return get(s.podGroups, key) })
}

func (a api) PatchPodGroup(_ context.Context, key types.NamespacedName, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	return send(a, call{what: adoptPodGroup, write: true}, func(s *Server) (*schedulingv1beta1.PodGroup, error) {
		r, err := preconditions(patch, a.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.podGroups, key, r, func(o *schedulingv1beta1.PodGroup) error {
			patched, err := mergePatched(o, patch)
			if err == nil {
				o.ObjectMeta = patched.ObjectMeta
			}
			return err
		})
	})
}

func (a api) DeletePodGroup(_ context.Context, key types.NamespacedName, uid types.UID) error {
	return a.remove(deletePodGroup, uid, func(s *Server, r request) error { return remove(s, s.podGroups, key, r) })
}

// ControllerRevisions makes api what revision.Store needs.
func (a api) ControllerRevisions(namespace string) appsv1client.ControllerRevisionInterface {
	return revisionsAPI{api: a, namespace: namespace}
}

// revisionsAPI has the methods that revision.Store calls.
type revisionsAPI struct {
	appsv1client.ControllerRevisionInterface
	api       api
	namespace string
}

func (a revisionsAPI) List(_ context.Context, o metav1.ListOptions) (*appsv1.ControllerRevisionList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("label selector: %w", err)
	}
	return read(a.api, "list revisions", func(s *Server) (*appsv1.ControllerRevisionList, error) {
		list := &appsv1.ControllerRevisionList{}
		for _, r := range s.revisions.list() {
			if r.Namespace == a.namespace && selector.Matches(labels.Set(r.Labels)) {
				list.Items = append(list.Items, *r.DeepCopy())
			}
		}
		return list, nil
	})
}

func (a revisionsAPI) Create(_ context.Context, r *appsv1.ControllerRevision, _ metav1.CreateOptions) (*appsv1.ControllerRevision, error) {
	return send(a.api, call{what: createRevision, write: true}, func(s *Server) (*appsv1.ControllerRevision, error) {
		return create(s, s.revisions, r, a.api.by())
	})
}

func (a revisionsAPI) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	_, err := send(a.api, call{what: "delete revision", write: true}, func(s *Server) (struct{}, error) {
		r := a.api.by()
		r.uid, r.version = *o.Preconditions.UID, *o.Preconditions.ResourceVersion
		return struct{}{}, remove(s, s.revisions, types.NamespacedName{Namespace: a.namespace, Name: name}, r)
	})
	return err
}

func (a revisionsAPI) Patch(_ context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string) (*appsv1.ControllerRevision, error) {
	return send(a.api, call{what: revisionWrite(patch), write: true}, func(s *Server) (*appsv1.ControllerRevision, error) {
		r, err := preconditions(patch, a.api.by())
		if err != nil {
			return nil, err
		}
		return update(s, s.revisions, types.NamespacedName{Namespace: a.namespace, Name: name}, r, func(o *appsv1.ControllerRevision) error {
			patched, err := mergePatched(o, patch)
			if err == nil {
				o.ObjectMeta, o.Revision = patched.ObjectMeta, patched.Revision
			}
			return err
		})
	})
}

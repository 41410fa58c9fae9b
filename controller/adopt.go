package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/topology"
)

// liveSet checks against the API server, once, that the set is still the one that
// is being synced, with the same spec, and annotations that ask for the same. Nothing is
// adopted for a set that is gone or going, and no revision is written for a spec that
// is past. Where it is not, the answer is a conflict: the news about that will bring us
// back.
type liveSet struct {
	c       *Controller
	m       *memory
	checked bool
}

func (c *Controller) liveSet(m *memory) *liveSet { return &liveSet{c: c, m: m} }

func (l *liveSet) check(ctx context.Context) error {
	if l.checked {
		return nil
	}
	live, err := l.c.API.GetSet(ctx, l.m.key)
	var why error
	switch {
	case apierrors.IsNotFound(err):
		why = errors.New("the set is gone")
	case err != nil:
		return err
	case live.UID != l.m.set.UID:
		why = fmt.Errorf("the set was replaced: its UID is %s, not %s", live.UID, l.m.set.UID)
	case live.DeletionTimestamp != nil:
		why = fmt.Errorf("the set is being deleted since %s", live.DeletionTimestamp)
	case live.Generation != l.m.set.Generation:
		why = fmt.Errorf("the set has generation %d, not %d", live.Generation, l.m.set.Generation)
		l.m.observeSet(live)
	case live.ResourceVersion != l.m.set.ResourceVersion && !reflect.DeepEqual(steeringOf(live), l.m.steering):
		why = errors.New("the annotations of the set have changed") // they steer, and make no generation
		l.m.observeSet(live)
	default:
		l.checked = true
		return nil
	}
	return apierrors.NewConflict(v1.SchemeGroupVersion.WithResource(v1.Resource).GroupResource(), l.m.key.Name, why)
}

func steeringOf(set *v1.LeaderWorkerSet) rollout.Steering {
	s, _ := rollout.ReadSteering(set.Annotations)
	return s
}

// adopt makes the set the controller of pods and Services that nobody controls
// and that are what it would have made itself: left behind by a set that was
// deleted with its dependents orphaned.
func (c *Controller) adopt(ctx context.Context, m *memory, now time.Time) error {
	live := c.liveSet(m)
	adopted, example := 0, ""
	for _, t := range m.groups {
		if t.stale {
			t.view = t.state.View(m.set.UID, m.sizes())
			t.stale = false
		}
		for _, orphan := range t.view.Orphans {
			done, err := c.adoptPod(ctx, m, t, orphan, live, now)
			if err != nil {
				return err
			}
			if done {
				adopted, example = adopted+1, orphan.Name
			}
		}
	}
	if adopted > 0 {
		c.event(m, nil, corev1.EventTypeNormal, "AdoptedPods", "AdoptPods", "Adopted pods without a controller: %d, such as %s", adopted, example)
	}
	for _, service := range c.Cache.Services(m.key) {
		if metav1.GetControllerOfNoCopy(service) == nil && service.DeletionTimestamp == nil && m.serviceFits(service) {
			if err := live.check(ctx); err != nil {
				return err
			}
			if err := c.adoptService(ctx, m, service); err != nil {
				return err
			}
		}
	}
	return c.adoptGangs(ctx, m, live)
}

// adoptPod adopts a pod whose name, labels and revision fit, and that is of the
// incarnation of the pods that its group has already.
func (c *Controller) adoptPod(ctx context.Context, m *memory, t *tracked, orphan *group.Pod, live *liveSet, now time.Time) (bool, error) {
	key := types.NamespacedName{Namespace: m.key.Namespace, Name: orphan.Name}
	pod, exists := c.Cache.Pod(key)
	if !exists || pod.UID != orphan.UID || pod.DeletionTimestamp != nil || m.history.ByKey(orphan.Revision) == nil {
		return false, nil
	}
	if topology.Fits(pod, m.set, orphan.Revision) != nil {
		return false, nil
	}
	v := t.state.View(m.set.UID, nil)
	if v.HasPods && (v.Revision != orphan.Revision || v.Incarnation != orphan.Incarnation) {
		return false, nil
	}
	if err := live.check(ctx); err != nil {
		return false, err
	}
	patched, err := c.API.PatchPod(ctx, key, m.adoption(&pod.ObjectMeta))
	if err != nil {
		return false, fmt.Errorf("pod %s: %w", orphan.Name, err)
	}
	c.fold(m, t.state.Index, group.Accepted(group.ObservePod(patched, orphan.Worker), "adopted"), now)
	t.stale = true
	return true, nil
}

func (c *Controller) adoptService(ctx context.Context, m *memory, service *corev1.Service) error {
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	patched, err := c.API.PatchService(ctx, key, m.adoption(&service.ObjectMeta))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("service %s: %w", service.Name, err)
	}
	m.made[service.Name] = patched
	return nil
}

// adoption is the patch that makes the set the controller of an object, provided
// that the object is still the one that was looked at.
func (m *memory) adoption(o *metav1.ObjectMeta) []byte {
	return mustJSON(map[string]any{"metadata": map[string]any{
		"uid":             o.UID,
		"resourceVersion": o.ResourceVersion,
		"ownerReferences": []metav1.OwnerReference{*metav1.NewControllerRef(m.set, v1.GroupVersionKind)},
	}})
}

// serviceFits says that a Service is what the set would make under that name.
func (m *memory) serviceFits(service *corev1.Service) bool {
	policy, index := v1.SubdomainShared, int32(0)
	if service.Name != m.key.Name {
		group, worker, ok := topology.ParsePodName(m.key.Name, service.Name)
		if !ok || worker != 0 {
			return false
		}
		policy, index = v1.SubdomainUniquePerReplica, group
	}
	want := m.service(policy, index)
	return service.Spec.ClusterIP == want.Spec.ClusterIP && maps.Equal(service.Spec.Selector, want.Spec.Selector)
}

func (m *memory) service(policy v1.SubdomainPolicy, index int32) *corev1.Service {
	g := &topology.Group{Set: m.set, Network: &v1.NetworkConfig{SubdomainPolicy: &policy}, Index: index}
	return g.Service()
}

// services are the Services of the set as the planner sees them: those in the
// cache, those that the cache does not know yet, and names held by others.
func (c *Controller) services(m *memory, now time.Time) map[string]rollout.Service {
	out := map[string]rollout.Service{}
	for name, h := range m.heldServices {
		if now.Before(h.until) {
			out[name] = rollout.Service{Unusable: "cannot be used: " + h.message}
		}
	}
	add := func(s *corev1.Service) {
		out[s.Name] = ServiceSeen(m.set, s)
	}
	for _, s := range c.Cache.Services(m.key) {
		add(s)
	}
	for name, s := range m.made {
		if c.Cache.Passed(informers.Services, s.ResourceVersion) {
			delete(m.made, name)
			continue
		}
		add(s)
	}
	return out
}

// ServiceSeen is a Service that exists as the planner of the set sees it.
func ServiceSeen(set *v1.LeaderWorkerSet, s *corev1.Service) rollout.Service { return seenBy(set, s) }

// seenBy is what an object under a name of the set is to it.
func seenBy(set *v1.LeaderWorkerSet, s metav1.Object) rollout.Service {
	owner := metav1.GetControllerOfNoCopy(s)
	ours := metav1.IsControlledBy(s, set)
	switch {
	case s.GetDeletionTimestamp() != nil, !ours && owner != nil && owner.Kind == v1.Kind && owner.Name == set.Name:
		// Also that of a set of the same name which is gone.
		return rollout.Service{Unusable: "is being deleted", Leaving: true}
	case !ours:
		return rollout.Service{Unusable: rollout.NotOurs}
	default:
		return rollout.Service{}
	}
}

// mustJSON is for values that always can be encoded.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

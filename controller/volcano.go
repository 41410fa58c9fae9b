package controller

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/informers"
	"lws-controller/revision"
	"lws-controller/topology"
)

// isVolcano says that the PodGroup of this name is Volcano's, and what it is called
// there.
func isVolcano(gang string) (name string, is bool) { return strings.CutPrefix(gang, v1.VolcanoGang) }

// gangField is where a pod says which PodGroup it is scheduled by.
func gangField(gang string) string {
	if _, is := isVolcano(gang); is {
		return "annotation " + v1.AnnotationVolcanoGroup
	}
	return "spec.schedulingGroup"
}

// volcanoGroups adds Volcano's PodGroups with the set's labels, as the planner sees them.
func (c *Controller) volcanoGroups(m *memory, out map[string]rollout.PodGroup) {
	if !c.Volcano {
		return
	}
	// What they ask for is the same for all groups of a revision.
	want := map[string]*unstructured.Unstructured{}
	for _, o := range c.Cache.VolcanoGroups(m.key) {
		seen, key, ok := volcanoSeen(m.set, o)
		if !ok {
			continue
		}
		if r := m.history.ByKey(key); r != nil && seen.Unusable == "" {
			if want[key] == nil {
				want[key] = m.volcanoOf(r)
			}
			seen.Differs = seen.Differs || topology.VolcanoPatch(o, want[key]) != nil
		}
		out[v1.VolcanoGang+o.GetName()] = seen
	}
}

// volcanoOf is what the PodGroups of all groups of a revision have in common.
func (m *memory) volcanoOf(r *revision.Revision) *unstructured.Unstructured {
	o := m.groupOf(r, 0, 0).VolcanoPodGroup()
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	delete(labels, v1.LabelGroupIndex)
	delete(annotations, v1.AnnotationIncarnation)
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	return o
}

// volcanoSeen is one of Volcano's PodGroups as the planner of the set sees it, and the
// key of its revision. One of another name than the set gives is none of the set's.
func volcanoSeen(set *v1.LeaderWorkerSet, o *unstructured.Unstructured) (seen rollout.PodGroup, key string, ok bool) {
	index, key, ok := topology.ParseVolcanoName(set.Name, o.GetName())
	if !ok {
		return seen, "", false
	}
	by := seenBy(set, o)
	seen = rollout.PodGroup{Index: index, Unusable: by.Unusable, Leaving: by.Leaving,
		Differs: o.GetLabels()[v1.LabelGroupIndex] != strconv.Itoa(int(index))}
	seen.Incarnation, _ = incarnationOf(o) // without its mark it is of none that is wanted
	return seen, key, true
}

// incarnationOf is the one that a PodGroup was made for.
func incarnationOf(o metav1.Object) (n int64, ok bool) {
	n, err := strconv.ParseInt(o.GetAnnotations()[v1.AnnotationIncarnation], 10, 64)
	return n, err == nil && 0 <= n && n <= group.MaxIncarnation
}

// makeVolcanoGroup creates one of Volcano's PodGroups. errRefused: plan again.
func (x *execution) makeVolcanoGroup(ctx context.Context, g *topology.Group, want rollout.GangWanted) error {
	o := g.VolcanoPodGroup()
	stored, err := x.API.CreateVolcanoGroup(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return x.reuseVolcanoGroup(ctx, o, want)
	}
	if err == nil {
		x.gate.Wrote(x.m.key, informers.VolcanoGroups, stored.GetResourceVersion())
	}
	return err
}

// reuseVolcanoGroup looks at the PodGroup that holds the name of one that is wanted. It
// may be ours, made by a request whose answer was lost, or ours without its marks,
// which somebody took off; of an incarnation before, which goes; or somebody else's.
func (x *execution) reuseVolcanoGroup(ctx context.Context, want *unstructured.Unstructured, wanted rollout.GangWanted) error {
	key := x.key(want.GetName())
	stored, err := x.API.GetVolcanoGroup(ctx, key)
	switch {
	case apierrors.IsNotFound(err):
		return errRefused
	case err != nil:
		return err
	case !metav1.IsControlledBy(stored, x.m.set):
		return notOurs("podgroup", key.Name)
	case stored.GetDeletionTimestamp() != nil:
		return x.holdGang(wanted, "PodGroupLeaving", fmt.Sprintf("podgroup %s is being deleted", key.Name))
	}
	switch n, known := incarnationOf(stored); {
	case known && !wanted.Referred && n < wanted.Incarnation:
		if err := x.API.DeleteVolcanoGroup(ctx, key, stored.GetUID()); err != nil {
			return deletion("podgroup", key.Name, err)
		}
		return errRefused
	case known && !wanted.Referred && n > wanted.Incarnation:
		return x.holdGang(wanted, "PodGroupUnknown", fmt.Sprintf("podgroup %s is that of a later incarnation, which is not known yet", key.Name))
	}
	return x.patchVolcanoGroup(ctx, stored, want)
}

// updatePodGroup makes one of Volcano's PodGroups what it should be by now.
func (x *execution) updatePodGroup(ctx context.Context, want rollout.GangWanted) error {
	name, _ := isVolcano(want.Name)
	r := x.m.history.ByKey(want.Revision)
	if r == nil {
		return nil
	}
	o := x.m.groupOf(r, want.Index, want.Incarnation).VolcanoPodGroup()
	cached := x.cachedVolcanoGroup(name)
	if cached == nil || x.isUnpatched(name, topology.VolcanoPatch(cached, o)) {
		return nil
	}
	stored, err := x.API.GetVolcanoGroup(ctx, x.key(name))
	switch {
	case apierrors.IsNotFound(err):
		return nil // the news about that will bring us back
	case err != nil:
		return fmt.Errorf("podgroup %s: %w", name, err)
	case stored.GetUID() != cached.GetUID() || stored.GetDeletionTimestamp() != nil:
		return nil
	}
	err = x.patchVolcanoGroup(ctx, stored, o)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case refused(err):
		x.mu.Lock()
		defer x.mu.Unlock()
		x.warn(x.m, "podgroup/"+name, "FailedUpdate", "UpdatePodGroup", "Updating podgroup %s of group %d: %s", name, want.Index, err.Error())
		h := x.m.unpatched[name].next("FailedUpdate", patchText(topology.VolcanoPatch(cached, o)), x.Clock.Now())
		x.m.unpatched[name] = h
		x.wait.sooner(h.until.Sub(x.Clock.Now()))
		return nil
	case err != nil:
		return err
	}
	return nil
}

func patchText(patch map[string]any) string { return string(mustJSON(patch)) }

// isUnpatched says that this very patch has been tried in vain, and that it is not time
// for another try.
func (x *execution) isUnpatched(name string, patch map[string]any) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	h, tried := x.m.unpatched[name]
	if !tried || h.message != patchText(patch) {
		return false
	}
	now := x.Clock.Now()
	if h.until.IsZero() {
		return true
	}
	if now.Before(h.until) {
		x.wait.sooner(h.until.Sub(now))
		return true
	}
	return false
}

// patchVolcanoGroup makes a PodGroup, as it is now, what it should be. Where somebody,
// such as an admission webhook, has it otherwise again at once, it is left so.
func (x *execution) patchVolcanoGroup(ctx context.Context, stored, want *unstructured.Unstructured) error {
	patch := topology.VolcanoPatch(stored, want)
	if patch == nil {
		return nil
	}
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = stored.GetUID(), stored.GetResourceVersion()
	name := stored.GetName()
	after, err := x.API.PatchVolcanoGroup(ctx, x.key(name), mustJSON(patch))
	if apierrors.IsConflict(err) {
		return errRefused
	} else if err != nil {
		return fmt.Errorf("podgroup %s: %w", name, err)
	}
	x.gate.Wrote(x.m.key, informers.VolcanoGroups, after.GetResourceVersion())
	klog.FromContext(ctx).V(2).Info("Updated pod group", "podGroup", klog.KObj(after))
	x.mu.Lock()
	defer x.mu.Unlock()
	if rest := topology.VolcanoPatch(after, want); rest != nil {
		x.m.unpatched[name] = hold{reason: "PodGroupAltered", message: patchText(rest)}
		x.warn(x.m, "podgroup/"+name, "PodGroupAltered", "UpdatePodGroup", "Podgroup %s is not as it was written: something changes it at once; what it lacks is %s", name, patchText(rest))
		return nil
	}
	delete(x.m.unpatched, name)
	return nil
}

func (x *execution) cachedVolcanoGroup(name string) *unstructured.Unstructured {
	for _, o := range x.Cache.VolcanoGroups(x.m.key) {
		if o.GetName() == name {
			return o
		}
	}
	return nil
}

// deleteVolcanoGroup reads it live first: another process may have made it anew.
func (x *execution) deleteVolcanoGroup(ctx context.Context, name string) error {
	cached := x.cachedVolcanoGroup(name)
	if cached == nil {
		return nil
	}
	stored, err := x.API.GetVolcanoGroup(ctx, x.key(name))
	if err == nil && stored.GetUID() == cached.GetUID() && metav1.IsControlledBy(stored, x.m.set) && stored.GetDeletionTimestamp() == nil {
		if err = x.API.DeleteVolcanoGroup(ctx, x.key(name), stored.GetUID()); err == nil {
			klog.FromContext(ctx).V(2).Info("Deleted pod group", "podGroup", klog.KObj(stored))
		}
	}
	return deletion("podgroup", name, err)
}

var volcanoResource = topology.VolcanoVersion.WithResource("podgroups")

func (a liveAPI) CreateVolcanoGroup(ctx context.Context, podGroup *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.volcano.Resource(volcanoResource).Namespace(podGroup.GetNamespace()).Create(ctx, podGroup, metav1.CreateOptions{})
}

func (a liveAPI) GetVolcanoGroup(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.volcano.Resource(volcanoResource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (a liveAPI) PatchVolcanoGroup(ctx context.Context, key types.NamespacedName, patch []byte) (*unstructured.Unstructured, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.volcano.Resource(volcanoResource).Namespace(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

func (a liveAPI) DeleteVolcanoGroup(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return a.volcano.Resource(volcanoResource).Namespace(key.Namespace).Delete(ctx, key.Name, onlyUID(uid))
}

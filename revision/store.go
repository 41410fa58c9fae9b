package revision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	v1 "lws-controller/api/v1"
)

// Store reads and writes ControllerRevisions. Every write answers with the
// stored object as it is afterwards; errors are those of the API, wrapped.
type Store struct {
	// Client is the clientset's AppsV1().
	Client appsv1client.ControllerRevisionsGetter
}

// Belongs says whether a ControllerRevision is to be read as the set's: it
// carries the set's name, and the set controls it or nobody does.
func Belongs(object *appsv1.ControllerRevision, set *v1.LeaderWorkerSet) bool {
	if object.Namespace != set.Namespace || object.Labels[v1.LabelName] != set.Name {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(object)
	return owner == nil || owner.UID == set.UID
}

// List reads live, past any cache, the ControllerRevisions that belong to the
// set.
func (s Store) List(ctx context.Context, set *v1.LeaderWorkerSet) ([]*appsv1.ControllerRevision, error) {
	list, err := s.labelled(ctx, set)
	if err != nil {
		return nil, err
	}
	var objects []*appsv1.ControllerRevision
	for i := range list.Items {
		if Belongs(&list.Items[i], set) {
			objects = append(objects, &list.Items[i])
		}
	}
	return objects, nil
}

// Labelled says, from a live list, whether a ControllerRevision of this name carries
// the set's label, whoever owns it.
func (s Store) Labelled(ctx context.Context, set *v1.LeaderWorkerSet, name string) (bool, error) {
	list, err := s.labelled(ctx, set)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(o appsv1.ControllerRevision) bool { return o.Name == name }), nil
}

func (s Store) labelled(ctx context.Context, set *v1.LeaderWorkerSet) (*appsv1.ControllerRevisionList, error) {
	list, err := s.Client.ControllerRevisions(set.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{v1.LabelName: set.Name}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing revisions of %s/%s: %w", set.Namespace, set.Name, err)
	}
	return list, nil
}

// Create stores a revision that History.New built. AlreadyExists means that the
// history it was built from was out of date, or that the name is foreign: list
// live and find again.
func (s Store) Create(ctx context.Context, r *Revision) (*Revision, error) {
	created, err := s.Client.ControllerRevisions(r.Object.Namespace).Create(ctx, r.Object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating revision %s/%s: %w", r.Object.Namespace, r.Object.Name, err)
	}
	return Load(created)
}

// Adopt makes the set the controller of a revision that nobody controls. It
// fails with a conflict when the object changed in the meantime.
func (s Store) Adopt(ctx context.Context, set *v1.LeaderWorkerSet, r *Revision) (*Revision, error) {
	owners := append(r.Object.OwnerReferences[:len(r.Object.OwnerReferences):len(r.Object.OwnerReferences)],
		*metav1.NewControllerRef(set, v1.GroupVersionKind))
	return s.patch(ctx, r, "adopting", map[string]any{"ownerReferences": owners}, nil)
}

// SetNumber gives a revision that is applied again another number. It fails with
// a conflict when the object changed in the meantime.
func (s Store) SetNumber(ctx context.Context, r *Revision, number int64) (*Revision, error) {
	return s.patch(ctx, r, "numbering", map[string]any{}, map[string]any{"revision": number})
}

// Delete deletes a revision. It fails with a conflict when the object changed in the
// meantime: it may be in use again.
func (s Store) Delete(ctx context.Context, r *Revision) error {
	err := s.Client.ControllerRevisions(r.Object.Namespace).Delete(ctx, r.Object.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &r.Object.UID, ResourceVersion: &r.Object.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("deleting revision %s/%s: %w", r.Object.Namespace, r.Object.Name, err)
	}
	return nil
}

// patch merges metadata and body into the object that was seen, and no other:
// its UID and resourceVersion go along.
func (s Store) patch(ctx context.Context, r *Revision, doing string, metadata, body map[string]any) (*Revision, error) {
	metadata["uid"] = r.Object.UID
	metadata["resourceVersion"] = r.Object.ResourceVersion
	patch := map[string]any{"metadata": metadata}
	for key, value := range body {
		patch[key] = value
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("%s revision %s/%s: %w", doing, r.Object.Namespace, r.Object.Name, err)
	}
	patched, err := s.Client.ControllerRevisions(r.Object.Namespace).
		Patch(ctx, r.Object.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s revision %s/%s: %w", doing, r.Object.Namespace, r.Object.Name, err)
	}
	return Load(patched)
}

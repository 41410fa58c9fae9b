package revision

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	v1 "lws-controller/api/v1"
)

// Store reads and writes ControllerRevisions. The answers of its writes are the
// stored objects.
type Store struct {
	// Client is the clientset's AppsV1().
	Client appsv1client.ControllerRevisionsGetter
}

// List reads live, past any cache, the ControllerRevisions with the set's name
// label that the set controls or that nobody does.
func (s Store) List(ctx context.Context, set *v1.LeaderWorkerSet) ([]*appsv1.ControllerRevision, error) {
	return nil, nil
}

// Create stores a revision that History.New built.
func (s Store) Create(ctx context.Context, r *Revision) (*Revision, error) { return nil, nil }

// Adopt makes the set the controller of a revision that nobody controls.
func (s Store) Adopt(ctx context.Context, set *v1.LeaderWorkerSet, r *Revision) (*Revision, error) {
	return nil, nil
}

// SetNumber makes a revision that is applied again the latest.
func (s Store) SetNumber(ctx context.Context, r *Revision, number int64) (*Revision, error) {
	return nil, nil
}

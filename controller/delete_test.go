package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
)

// deletes is an API server that answers deletions.
type deletes struct {
	API
	asked, done atomic.Int32
	gone        sync.Map
	answer      func(uid types.UID) error
}

func (d *deletes) DeletePod(_ context.Context, _ types.NamespacedName, uid types.UID) error {
	d.asked.Add(1)
	err := d.answer(uid)
	if _, before := d.gone.LoadOrStore(uid, true); err == nil && !before {
		d.done.Add(1)
	}
	return err
}

// Pods whose deletion is refused hold nobody else up: a few in a row end the first try,
// and the next one begins with the others. An API server that cannot be reached is left
// alone.
func TestDeletionsThatAreRefused(t *testing.T) {
	var deletions []rollout.Deletion
	for i := range 100 {
		deletions = append(deletions, rollout.Deletion{Index: int32(i / 10), Pod: group.PodRef{Worker: int32(i % 10), Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}})
	}
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := apierrors.NewForbidden(pods, "p", errors.New("a webhook has its reasons"))
	low := func(uid types.UID) bool { return len(uid) == 1 || uid == "10" || uid == "11" } // the first twelve
	for _, inFlight := range []int{1, 8} {
		x := newExecution(inFlight, clock.RealClock{})
		x.m = newMemory(types.NamespacedName{Namespace: "ns", Name: "s"})
		x.m.history, _ = revision.NewHistory(nil)
		api := &deletes{answer: func(uid types.UID) error {
			if low(uid) {
				return forbidden
			}
			return nil
		}}
		x.API = api
		if err := x.deletePods(t.Context(), deletions); err == nil || inFlight == 1 && api.done.Load() != 0 {
			t.Errorf("%d in flight, the first try: %v, %d deleted", inFlight, err, api.done.Load())
		}
		if err := x.deletePods(t.Context(), deletions); err == nil || api.done.Load() != 88 {
			t.Errorf("%d in flight, the second try: %v, %d deleted, want 88", inFlight, err, api.done.Load())
		}

		x.m.refusedDeletions = nil
		api = &deletes{answer: func(types.UID) error { return errors.New("connection refused") }}
		x.API = api
		if err := x.deletePods(t.Context(), deletions); err == nil || api.asked.Load() != 1 {
			t.Errorf("%d in flight, out of reach: %v, asked %d times", inFlight, err, api.asked.Load())
		}
	}
}

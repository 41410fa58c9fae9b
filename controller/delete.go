package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// maxRefusals is how many deletions in a row may be refused until the rest is left to
// the next sync: they would be too, most likely.
const maxRefusals = 10

// deletePods deletes pods, all at once. That one is refused, by a webhook or because
// there are too many requests, says little of the others: they go on, and are tried
// first the next time. Anything else ends it, such as an API server that cannot be
// reached.
func (x *execution) deletePods(ctx context.Context, deletions []rollout.Deletion) error {
	before := x.m.refusedDeletions
	rank := func(d rollout.Deletion) int {
		if before[d.Pod.UID] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(deletions, func(a, b rollout.Deletion) int { return rank(a) - rank(b) })
	var (
		mu     sync.Mutex
		first  error
		inARow int
	)
	refused := map[types.UID]bool{}
	err := x.each(&pace{}, len(deletions), func(i int) error {
		err := x.deletePod(ctx, deletions[i])
		mu.Lock()
		defer mu.Unlock()
		if err == nil || !answered(err) {
			inARow = 0
			return err
		}
		refused[deletions[i].Pod.UID] = true
		if inARow++; first == nil {
			first = err
		}
		if inARow >= maxRefusals {
			return err
		}
		return nil
	})
	x.mu.Lock()
	x.m.refusedDeletions = refused
	x.mu.Unlock()
	switch {
	case err != nil:
		return err
	case first != nil:
		return fmt.Errorf("%d of %d are refused, the first: %w", len(refused), len(deletions), first)
	default:
		return nil
	}
}

// answered says that the API server has looked at the request and said no to it, for
// whatever reason.
func answered(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout:
		return false
	default:
		return code >= 400 && code <= http.StatusInternalServerError
	}
}

func (x *execution) deletePod(ctx context.Context, d rollout.Deletion) error {
	if err := x.condemnClaims(ctx, d); err != nil {
		return err
	}
	err := x.API.DeletePod(ctx, x.key(d.Pod.Name), d.Pod.UID)
	if apierrors.IsConflict(err) {
		// Another pod has the name, or a webhook had its reasons. A pod that is once
		// believed to be gone is never seen again.
		if live, getErr := x.API.GetPod(ctx, x.key(d.Pod.Name)); getErr == nil && live.UID != d.Pod.UID {
			err = apierrors.NewNotFound(corev1.Resource("pods"), d.Pod.Name)
		}
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Deleted pod", "pod", klog.KRef(x.m.key.Namespace, d.Pod.Name), "group", d.Index, "cause", d.Why)
		x.fold(d.Index, group.Event{Kind: group.DeleteAccepted, Worker: d.Pod.Worker, UID: d.Pod.UID, Cause: d.Why})
		return nil
	case apierrors.IsNotFound(err):
		x.fold(d.Index, group.Event{Kind: group.PodGone, Worker: d.Pod.Worker, UID: d.Pod.UID})
		return nil
	default:
		x.rejected(d.Index, d.Pod.Worker, "delete", err)
		return fmt.Errorf("pod %s: %w", d.Pod.Name, err)
	}
}

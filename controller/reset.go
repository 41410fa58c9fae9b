package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
)

// resetRestarts carries out the annotation recover: the restart counts go, then the
// annotation. Nothing is planned in between, so that a crash there leaves no more to be
// done than before: counts that are gone, and the annotation. done says that both are.
func (c *Controller) resetRestarts(ctx context.Context, m *memory, wait *Wait) (done bool, err error) {
	if n := len(m.set.Status.GroupRestarts); n > 0 && !m.reset {
		s := m.set.Status.DeepCopy()
		s.GroupRestarts = nil
		if err := c.patchStatus(ctx, m, s); err != nil {
			return false, fmt.Errorf("resetting the restart counts: %w", err)
		}
		klog.FromContext(ctx).Info("Restart counts are reset", "groups", n)
		m.wereReset = n
	}
	// From here on counts are those of a new beginning, also where the annotation
	// cannot be taken off: to drop them again and again would be to go without any
	// backoff.
	m.reset = true
	patch, err := annotationPatch(m.set, v1.AnnotationRecover, nil)
	if err != nil {
		return false, err
	}
	m.mu.Unlock()
	stored, err := c.API.PatchSet(ctx, m.key, patch)
	m.mu.Lock()
	if err != nil {
		return false, fmt.Errorf("removing annotation %s: %w", v1.AnnotationRecover, err)
	}
	c.event(m, nil, corev1.EventTypeNormal, "RestartsReset", "Recover",
		"The restart counts of %d groups are reset, as annotation %s asked for", m.wereReset, v1.AnnotationRecover)
	m.observeSet(stored)
	wait.Again = true
	return true, nil
}

// onRequest carries out what annotations ask for once: an undo, and that counts are
// reset. over says that the sync ends here. What keeps the set from being changed must
// not keep its groups from being looked after.
func (c *Controller) onRequest(ctx context.Context, m *memory, wait *Wait) (over bool, errs []error) {
	if m.steering.Undo != "" {
		err := c.undo(ctx, m, wait)
		if err == nil {
			return true, nil
		}
		c.warn(m, "undo", "FailedUpdate", "Undo", "Cannot undo (%s: %s): %v", v1.AnnotationUndo, m.steering.Undo, err)
		errs = append(errs, err)
	}
	if m.steering.Recover {
		done, err := c.resetRestarts(ctx, m, wait)
		switch {
		case done:
			return true, errs
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			wait.sooner(conflictDelay) // the set has changed: news will come
			return true, errs
		}
		c.warn(m, "recover", "FailedUpdate", "Recover", "Cannot recover (%s): %v", v1.AnnotationRecover, err)
		errs = append(errs, err)
	}
	return false, errs
}

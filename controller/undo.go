package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// undo carries out the annotation of that name. One request puts the recorded parts
// of the spec in place of the present ones and takes the annotation off: a crash
// leaves either all of it to be done or nothing, so the set never swings back to the
// revision that was left. What cannot be done takes the annotation off too, with an
// event that says why: a wish from long ago must not come true by surprise.
func (c *Controller) undo(ctx context.Context, m *memory, wait *Wait) error {
	wish := m.steering.Undo
	update := m.update
	if m.unstored.tries > 0 {
		update = "" // the groups are still at the revision before the present spec
	}
	target, why := m.history.Undo(m.asStored(), wish, update, m.steering.RestartedAt)
	stored, err := c.sendUndo(ctx, m, target)
	if target != nil && apierrors.IsInvalid(err) {
		// The spec was valid once, under rules that have changed since.
		why = err.Error()
		stored, err = c.sendUndo(ctx, m, nil)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// The set has changed: news will come.
		wait.sooner(conflictDelay)
		return nil
	case err != nil:
		return fmt.Errorf("undo: %w", err)
	}
	if why != "" {
		c.event(m, nil, corev1.EventTypeWarning, "UndoRefused", "Undo", "Nothing was undone (%s: %s): %s", v1.AnnotationUndo, wish, why)
	} else {
		klog.FromContext(ctx).Info("Went back to an earlier revision", "revision", target.Key, "number", target.Number)
		c.event(m, nil, corev1.EventTypeNormal, "Undone", "Undo", "The spec is that of revision %d (%s) again. "+
			"Where the spec is kept in Git, undo it there too, or it will be applied again", target.Number, target.Key)
	}
	m.observeSet(stored)
	wait.Again = true
	return nil
}

// sendUndo makes the request, without the lock that readers wait for.
func (c *Controller) sendUndo(ctx context.Context, m *memory, target *revision.Revision) (*v1.LeaderWorkerSet, error) {
	patch, err := annotationPatch(m.set, v1.AnnotationUndo, target)
	if err != nil {
		return nil, err
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	return c.API.PatchSet(ctx, m.key, patch)
}

// annotationPatch is a JSON patch that takes an annotation off that has done its work
// and, with a target, sets the recorded parts of the spec, from the recorded bytes: also
// what this version of the controller does not know comes back.
func annotationPatch(set *v1.LeaderWorkerSet, annotation string, target *revision.Revision) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	pointer := strings.NewReplacer("~", "~0", "/", "~1").Replace(annotation)
	patch := []operation{
		{Op: "test", Path: "/metadata/uid", Value: set.UID},
		{Op: "replace", Path: "/metadata/resourceVersion", Value: set.ResourceVersion},
		{Op: "remove", Path: "/metadata/annotations/" + pointer},
	}
	if target != nil {
		var data struct {
			Spec map[string]map[string]json.RawMessage `json:"spec"`
		}
		if err := json.Unmarshal(target.Object.Data.Raw, &data); err != nil {
			return nil, fmt.Errorf("revision %s: %w", target.Key, err)
		}
		for _, part := range []string{"leaderWorkerTemplate", "networkConfig"} {
			recorded := data.Spec[part]
			if recorded == nil {
				continue
			}
			delete(recorded, "$patch")
			patch = append(patch, operation{Op: "add", Path: "/spec/" + part, Value: recorded})
		}
	}
	return json.Marshal(patch)
}

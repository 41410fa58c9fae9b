package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "lws-controller/api/v1"
	"lws-controller/metrics"
)

// countsEvery is the least time between two writes of nothing but counts.
const countsEvery = 500 * time.Millisecond

// writeStatus stores the status if it differs from the stored one. Where only
// counts do, it may wait a little for more of them.
func (c *Controller) writeStatus(ctx context.Context, m *memory, now time.Time, wait *Wait) error {
	s := m.status(c.input(m, now), now)
	due := m.probeDue(now)
	if equality.Semantic.DeepEqual(s, &m.set.Status) && !due {
		return nil
	}
	if onlyCounts(s, &m.set.Status) && !due {
		if rest := m.statusWritten.Add(countsEvery).Sub(now); rest > 0 {
			wait.sooner(rest)
			return nil
		}
	}
	err := c.patchStatus(ctx, m, s)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// The set has changed, or is gone: the news about it will bring us back.
		c.Metrics.Stale(metrics.CacheSets)
		wait.sooner(conflictDelay)
		return nil
	}
	return err
}

// onlyCounts says that two statuses differ in nothing but counts.
func onlyCounts(a, b *v1.LeaderWorkerSetStatus) bool {
	a = a.DeepCopy()
	a.Replicas, a.ReadyReplicas, a.UpdatedReplicas = b.Replicas, b.ReadyReplicas, b.UpdatedReplicas
	a.Groups, a.EstablishedReplicas = b.Groups, b.EstablishedReplicas
	for i := range a.Conditions {
		// Messages count groups.
		if i < len(b.Conditions) && a.Conditions[i].Type == b.Conditions[i].Type {
			a.Conditions[i].Message = b.Conditions[i].Message
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// patchStatus sends the difference to the stored status, provided that the set is
// still the one it was computed from, and takes in the answer.
func (c *Controller) patchStatus(ctx context.Context, m *memory, s *v1.LeaderWorkerSetStatus) error {
	before := m.set.Status.DeepCopy()
	patch, err := statusPatch(m.asStored(), s)
	if err != nil {
		return fmt.Errorf("status patch: %w", err)
	}
	m.mu.Unlock()
	stored, err := c.API.PatchSetStatus(ctx, m.key, patch)
	m.mu.Lock()
	if err != nil {
		return err
	}
	if stored.UID != m.set.UID {
		return apierrors.NewConflict(v1.SchemeGroupVersion.WithResource(v1.Resource).GroupResource(), m.key.Name,
			errors.New("the set was replaced"))
	}
	m.statusWritten = c.Clock.Now()
	m.noteAnswer(s, &stored.Status, m.statusWritten)
	if !m.observeSet(stored) {
		m.set = m.whole(m.set) // the write has changed nothing
	}
	c.announceConditions(m, before, &m.set.Status)
	if now := isTrue(&m.set.Status, v1.ConditionDegraded); now != nil && now.Reason == reasonCRDOutdated {
		c.warn(m, "crd", now.Reason, "RecordTeardown", "%s", now.Message)
	}
	return nil
}

// statusPatch is a merge patch from the stored status to the wanted one: each field
// that differs, whole, and null for what is left out. The first one writes all
// numbers, so that 0 is shown as 0.
func statusPatch(set *v1.LeaderWorkerSet, s *v1.LeaderWorkerSetStatus) ([]byte, error) {
	first := set.Status.ObservedGeneration == 0
	before, after := reflect.ValueOf(set.Status), reflect.ValueOf(*s)
	fields := map[string]any{}
	for i := range after.NumField() {
		name, option, _ := strings.Cut(after.Type().Field(i).Tag.Get("json"), ",")
		optional, is := option == "omitempty", after.Field(i)
		switch {
		case optional && isEmpty(is):
			if !isEmpty(before.Field(i)) {
				fields[name] = nil
			}
		case first && !optional || !equality.Semantic.DeepEqual(before.Field(i).Interface(), is.Interface()):
			fields[name] = is.Interface()
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.ResourceVersion},
		"status":   fields,
	})
}

// isEmpty says that omitempty leaves the value out.
func isEmpty(v reflect.Value) bool {
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

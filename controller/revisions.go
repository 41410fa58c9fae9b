package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/informers"
	"lws-controller/revision"
	"lws-controller/topology"
)

// settleRevisions brings the history in line with the spec: revisions without a
// controller are adopted, the present spec gets a revision if it has none, and a
// revision that is applied again becomes the latest. It writes nothing when the
// spec and the stored revisions are those of the last time.
//
// What the API server refuses to store (a quota, a webhook) must not keep the groups
// from being looked after: they go by the last revision that was taken up, and none is
// updated, until a later try succeeds.
func (c *Controller) settleRevisions(ctx context.Context, m *memory, now time.Time, wait *Wait) error {
	objects := c.belonging(m)
	if m.versions(objects) != m.historyVersions {
		if !now.Before(m.unstored.until) {
			err := c.renewHistory(ctx, m, objects)
			var unstored *unstoredError
			switch {
			case err == nil:
				m.unstored = hold{}
			case !errors.As(err, &unstored) || apierrors.IsNotFound(err) || !refused(err):
				return err
			default:
				m.unstored = m.unstored.next("FailedCreate", err.Error(), now)
				m.goBy(unstored.history)
				c.warn(m, "revision", m.unstored.reason, "CreateRevision", "%s", unstoredMessage(m.unstored))
			}
		}
		if m.unstored.tries > 0 {
			wait.sooner(m.unstored.until.Sub(now))
		}
	}
	m.current = m.history.Current(m.set, m.update)
	return nil
}

func unstoredMessage(h hold) string {
	return "The revision of the present spec cannot be stored, no group is updated: " + h.message
}

// unstoredError is a revision that could not be stored, with the history that lacks it.
type unstoredError struct {
	error
	history *revision.History
}

func (e *unstoredError) Unwrap() error { return e.error }

// goBy takes a history that lacks the present spec.
func (m *memory) goBy(history *revision.History) {
	m.history, m.update = history, ""
	if last := m.history.ByKey(m.set.Status.UpdateRevision); last != nil {
		m.update = last.Key
	}
	for _, t := range m.groups {
		t.stale = true // sizes come from the history
	}
}

// belonging are the cached revisions that are the set's to read.
func (c *Controller) belonging(m *memory) []*appsv1.ControllerRevision {
	var out []*appsv1.ControllerRevision
	for _, object := range c.Cache.Revisions(m.key) {
		if revision.Belongs(object, m.set) {
			out = append(out, object)
		}
	}
	return out
}

// versions identifies the spec and the stored revisions.
func (m *memory) versions(objects []*appsv1.ControllerRevision) string {
	names := make([]string, 0, len(objects)+1)
	for _, o := range objects {
		names = append(names, string(o.UID)+"@"+o.ResourceVersion)
	}
	// The cache lists in any order.
	slices.Sort(names)
	return fmt.Sprintf("%s/%d/%s %s", m.set.UID, m.set.Generation, m.set.Annotations[v1.AnnotationRestartedAt], strings.Join(names, " "))
}

func (c *Controller) renewHistory(ctx context.Context, m *memory, objects []*appsv1.ControllerRevision) error {
	history, problems := revision.NewHistory(objects)
	for _, problem := range problems {
		c.warn(m, "revision", "InvalidRevision", "ReadRevision", "Cannot read a stored revision: %v", problem)
	}
	content, changed := history.Wanted(m.asStored(), m.steering.RestartedAt), false
	stored := func(r *revision.Revision, err error) error {
		if err != nil {
			return &unstoredError{err, history}
		}
		c.gate.Wrote(m.key, informers.Revisions, r.Object.ResourceVersion)
		objects = replaced(objects, r.Object)
		changed = true
		return nil
	}
	if history.Find(content) == nil {
		// A cache that lags must not lead to a second revision of the same meaning.
		listed, err := c.Revisions.List(ctx, m.set)
		if err != nil {
			return err
		}
		objects, changed = listed, true
		history, _ = revision.NewHistory(objects)
		content = history.Wanted(m.asStored(), m.steering.RestartedAt)
	}
	live := c.liveSet(m)
	for _, r := range history.Revisions() {
		if metav1.GetControllerOfNoCopy(r.Object) != nil {
			continue
		}
		if err := live.check(ctx); err != nil {
			return err
		}
		if err := stored(c.Revisions.Adopt(ctx, m.set, r)); err != nil {
			return fmt.Errorf("adopting revision %s: %w", r.Key, err)
		}
	}
	found := history.Find(content)
	if found == nil || !history.IsLatest(found) {
		if err := live.check(ctx); err != nil {
			return err
		}
	}
	switch {
	case found == nil:
		if err := stored(c.createRevision(ctx, m, history, content)); err != nil {
			return err
		}
	case !history.IsLatest(found):
		latest, _ := revision.NewHistory(objects)
		if err := stored(c.Revisions.SetNumber(ctx, latest.ByKey(found.Key), history.NextNumber())); err != nil {
			return fmt.Errorf("numbering revision %s: %w", found.Key, err)
		}
	}
	if changed {
		history, _ = revision.NewHistory(objects)
		found = history.Find(history.Wanted(m.asStored(), m.steering.RestartedAt))
	}
	if found == nil {
		return fmt.Errorf("revision of the present spec not found after it was stored")
	}
	m.history, m.update = history, found.Key
	// With what was just stored: that somebody has deleted it is news too.
	m.historyVersions = m.versions(objects)
	// Sizes come from the history.
	for _, t := range m.groups {
		t.stale = true
	}
	return nil
}

// confirmLost lists the revisions live when one that groups are at, or are to come
// back at, is in no cache: before it is taken for lost, and a group is built at another
// one, the cache may only be behind.
func (c *Controller) confirmLost(ctx context.Context, m *memory, now time.Time) error {
	var lost []string
	miss := func(key string) {
		if key != "" && m.history.ByKey(key) == nil && !slices.Contains(lost, key) {
			lost = append(lost, key)
		}
	}
	for _, t := range m.groups {
		miss(t.view.Revision)
	}
	for i := range m.set.Status.Recycling {
		miss(m.set.Status.Recycling[i].Revision)
	}
	miss(m.set.Status.CurrentRevision) // of groups without pods below the partition
	slices.Sort(lost)
	confirmed := strings.Join(lost, " ") + " " + m.historyVersions
	if len(lost) == 0 || m.confirmedLost == confirmed {
		return nil
	}
	listed, err := c.Revisions.List(ctx, m.set)
	if err != nil {
		return err
	}
	if history, _ := revision.NewHistory(listed); slices.ContainsFunc(lost, func(key string) bool { return history.ByKey(key) != nil }) {
		m.history = history
		m.current = history.Current(m.set, m.update)
		for _, t := range m.groups {
			t.stale = true
		}
		c.lookAgain(ctx, m, now)
	}
	m.confirmedLost = confirmed
	return nil
}

// truncate deletes the revisions that are neither in use nor to be kept, which
// surplus has found.
func (c *Controller) truncate(ctx context.Context, m *memory, surplus []*revision.Revision) error {
	for _, r := range surplus {
		err := c.Revisions.Delete(ctx, r)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	if len(surplus) > 0 {
		// What was deleted is not deleted again while the cache still shows it.
		kept := slices.DeleteFunc(c.belonging(m), func(o *appsv1.ControllerRevision) bool {
			return slices.ContainsFunc(surplus, func(r *revision.Revision) bool { return r.Object.UID == o.UID })
		})
		m.history, _ = revision.NewHistory(kept)
	}
	return nil
}

// surplus are the revisions that are neither in use nor to be kept.
func (m *memory) surplus() []*revision.Revision {
	if len(m.history.Revisions()) <= m.steering.HistoryLimit {
		return nil
	}
	return m.history.Surplus(m.steering.HistoryLimit, m.inUse())
}

// inUse are the keys of the status, of its entries, and of every pod that is there,
// whoever owns it: an orphan may be adopted.
func (m *memory) inUse() map[string]bool {
	s := &m.set.Status
	inUse := map[string]bool{m.update: true, m.current: true, s.UpdateRevision: true, s.CurrentRevision: true}
	for i := range s.Recycling {
		inUse[s.Recycling[i].Revision] = true
	}
	for i := range s.GroupRestarts {
		inUse[s.GroupRestarts[i].Revision] = true
	}
	for _, t := range m.groups {
		for _, p := range t.state.Pods() {
			inUse[p.Revision] = true
		}
	}
	return inUse
}

// patientTries is how often the name of a new revision is tried in vain: it may
// be that of a set of the same name which is gone, and be free in a moment.
const patientTries = 60

// createRevision stores a revision for the content, which the history lacks.
func (c *Controller) createRevision(ctx context.Context, m *memory, history *revision.History, content *revision.Content) (*revision.Revision, error) {
	lost, restart, err := c.lostRevision(ctx, m, history)
	if err != nil {
		return nil, err
	}
	if lost != "" {
		content = history.Wanted(m.asStored(), restart)
	}
	fresh, err := history.Next(m.set, content, restart, lost)
	if err != nil {
		return nil, err
	}
	if over := m.revisionTries - patientTries; over > 0 {
		// Something holds the name and stays. The next numbers are as good.
		fresh.Number += int64(over)
		fresh.Object.Revision = fresh.Number
		fresh.Object.Name = revision.ObjectName(m.key.Name, fresh.Key, fresh.Number)
	}
	made, err := c.Revisions.Create(ctx, fresh)
	if apierrors.IsAlreadyExists(err) {
		m.revisionTries++
		if labelled, err := c.Revisions.Labelled(ctx, m.set, fresh.Object.Name); err == nil && !labelled {
			// Nobody's revision any more: its label was taken off.
			m.revisionTries = max(m.revisionTries, patientTries+1)
		}
	}
	if err != nil {
		return nil, err
	}
	m.revisionTries = 0
	c.event(m, nil, corev1.EventTypeNormal, "CreatingRevision", "CreateRevision",
		"Creating revision with key %s for updated LeaderWorkerSet", made.Key)
	return made, nil
}

// lostRevision is the key under which the present spec was stored before somebody
// deleted that, if so, and the restart that it was stored with.
func (c *Controller) lostRevision(ctx context.Context, m *memory, history *revision.History) (key string, restart time.Time, err error) {
	asked := m.steering.RestartedAt
	if key = history.Lost(m.set); key == "" {
		return "", asked, nil
	}
	pods, err := c.API.ListPods(ctx, m.key)
	if err != nil {
		return "", asked, fmt.Errorf("looking for pods of the lost revision %s: %w", key, err)
	}
	restart, ok := revision.LostRestart(m.set, key, asked, pods.Items)
	if !ok {
		return "", asked, nil
	}
	return key, restart, nil
}

// replaced puts an object into the list, in place of an older one of its name.
func replaced(objects []*appsv1.ControllerRevision, object *appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	out := make([]*appsv1.ControllerRevision, 0, len(objects)+1)
	for _, o := range objects {
		if o.Name != object.Name {
			out = append(out, o)
		}
	}
	return append(out, object)
}

// groupOf builds objects for a group at a revision.
func (m *memory) groupOf(r *revision.Revision, index int32, incarnation int64) *topology.Group {
	return GroupOf(m.set, r, index, incarnation)
}

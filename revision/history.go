package revision

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "lws-controller/api/v1"
)

// History is the revisions of one set. It is a snapshot: what is written
// afterwards is seen by making a new one.
type History struct {
	revisions []*Revision
	// keys that are taken, also by revisions that cannot be read.
	keys map[string]bool
	// highest number in use, likewise.
	highest int64
}

// NewHistory parses the stored revisions of a set, which the caller has chosen
// by label and owner (see Store.List). Objects that are no history (see Parse)
// are left out silently. One that should be history and cannot be read is left
// out with an error; its key and number stay taken, for pods may carry them.
func NewHistory(objects []*appsv1.ControllerRevision) (*History, []error) {
	h := &History{keys: map[string]bool{}}
	var unreadable []error
	for _, object := range objects {
		r, err := Load(object)
		if errors.Is(err, ErrNotHistory) {
			continue
		}
		h.keys[object.Labels[v1.LabelRevision]] = true
		h.highest = max(h.highest, object.Revision)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		h.revisions = append(h.revisions, r)
	}
	slices.SortFunc(h.revisions, func(a, b *Revision) int {
		return cmp.Or(
			cmp.Compare(a.Number, b.Number),
			a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
			cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return h, unreadable
}

// Revisions are ordered by number, the latest last. Not to be changed.
func (h *History) Revisions() []*Revision { return h.revisions }

// Find is the revision that means the same as the content, the latest when there
// are several; nil when there is none.
func (h *History) Find(c *Content) *Revision {
	want := canonical(c)
	return h.latest(func(r *Revision) bool { return equality.Semantic.DeepEqual(r.canonical, want) })
}

// ByKey is the revision with this key, the latest when there are several; nil
// when there is none.
func (h *History) ByKey(key string) *Revision {
	return h.latest(func(r *Revision) bool { return r.Key == key })
}

func (h *History) latest(match func(*Revision) bool) *Revision {
	for _, r := range slices.Backward(h.revisions) {
		if match(r) {
			return r
		}
	}
	return nil
}

// IsLatest says whether the revision's number is above all others. One that is
// applied again and is not the latest gets NextNumber, so that numbers tell the
// order in which specs were applied: of A 1, B 2 and back to A, A becomes 3.
func (h *History) IsLatest(r *Revision) bool {
	if r.Number < h.highest {
		return false
	}
	for _, other := range h.revisions {
		if other.Number == r.Number && other.Object.Name != r.Object.Name {
			return false
		}
	}
	return true
}

// NextNumber is one more than the highest number in use, 1 for the first.
func (h *History) NextNumber() int64 { return h.highest + 1 }

// New builds the revision for content that Find did not find, controlled by the
// set and numbered next. It is not stored yet. restartedAt goes on record as the last
// restart that was asked for. lost is the key that the content is known to have had,
// if any: where no stored revision has it, somebody has deleted the object, and under
// the same key its pods need no change.
//
// A key that is taken belongs to other content, since Find found nothing. Then
// the key is that of the data with -1, -2, ... after it: whose turn it is
// follows from the history alone, so a second try after a crash gives the same.
func (h *History) New(set *v1.LeaderWorkerSet, c *Content, restartedAt time.Time, lost string) (*Revision, error) {
	data, err := Data(c)
	if err != nil {
		return nil, fmt.Errorf("recording the spec of %s/%s: %w", set.Namespace, set.Name, err)
	}
	key := Key(data)
	if lost != "" && !h.keys[lost] {
		key = lost
	}
	for i := 1; h.keys[key]; i++ {
		key = Key(strconv.AppendInt(append(slices.Clone(data), '-'), int64(i), 10))
	}
	number := h.NextNumber()
	var annotations map[string]string
	if !restartedAt.IsZero() {
		annotations = map[string]string{v1.AnnotationRestartedAt: restartedAt.UTC().Format(time.RFC3339Nano)}
	}
	return Load(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      ObjectName(set.Name, key, number),
			Namespace: set.Namespace,
			Labels: map[string]string{
				v1.LabelName:     set.Name,
				v1.LabelRevision: key,
			},
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1.GroupVersionKind)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	})
}

// Surplus are the revisions that may go: all but those in use and the latest of the
// others, of which limit are kept.
func (h *History) Surplus(limit int, inUse map[string]bool) []*Revision {
	var unused []*Revision
	for _, r := range h.revisions {
		if !inUse[r.Key] {
			unused = append(unused, r)
		}
	}
	return unused[:max(0, len(unused)-limit)]
}

// ObjectName is the name of the ControllerRevision: <set>-<key>-<number>, where
// the number is the one it was created with.
func ObjectName(set, key string, number int64) string {
	return set + "-" + key + "-" + strconv.FormatInt(number, 10)
}

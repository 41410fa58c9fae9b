package revision

import (
	appsv1 "k8s.io/api/apps/v1"

	v1 "lws-controller/api/v1"
)

// History is the revisions of one set, ordered by number.
type History struct {
	revisions []*Revision
}

// NewHistory parses stored revisions. Objects that are no history (see Parse)
// are left out silently; each one that should be history and cannot be read is
// left out with an error, but its key and number stay taken.
func NewHistory(objects []*appsv1.ControllerRevision) (*History, []error) { return &History{}, nil }

// Revisions are ordered by number, the latest last.
func (h *History) Revisions() []*Revision { return h.revisions }

// Find is the revision that means the same as the content, the highest number
// when there are several; nil when there is none.
func (h *History) Find(c *Content) *Revision { return nil }

// ByKey is the revision with this key, the highest number when there are
// several; nil when there is none.
func (h *History) ByKey(key string) *Revision { return nil }

// IsLatest says whether no revision has a higher or the same number.
func (h *History) IsLatest(r *Revision) bool { return false }

// NextNumber is one more than the highest number.
func (h *History) NextNumber() int64 { return 1 }

// New builds the revision for content that Find did not find, to be created.
func (h *History) New(set *v1.LeaderWorkerSet, c *Content) (*Revision, error) { return nil, nil }

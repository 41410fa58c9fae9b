package revision

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	v1 "lws-controller/api/v1"
)

// Content is what a revision records: the parts of a set's spec that its pods,
// services and claims are made from.
type Content struct {
	Template v1.LeaderWorkerTemplate
	Network  v1.NetworkConfig
}

// Revision is one stored revision, parsed once.
type Revision struct {
	// Key is the value of the template-revision-hash label of everything that
	// is made from the revision. It is read from the stored object's label and
	// never computed again.
	Key string
	// Number orders revisions; the highest is the one applied last.
	Number int64
	// RestartedAt is the time of the restart of all groups that was asked for when
	// the revision was made, or before; zero if there was none.
	RestartedAt time.Time
	// Content is the recorded part of the spec, not to be changed.
	Content
	// Object is the stored ControllerRevision, not to be changed.
	Object *appsv1.ControllerRevision

	// canonical is Content in the spelling that is compared.
	canonical *Content
}

// Load parses a stored revision. ErrNotHistory: it is something else's.
func Load(object *appsv1.ControllerRevision) (*Revision, error) {
	content, err := Parse(object.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("ControllerRevision %s/%s: %w", object.Namespace, object.Name, err)
	}
	key := object.Labels[v1.LabelRevision]
	if key == "" {
		return nil, fmt.Errorf("ControllerRevision %s/%s has no label %s", object.Namespace, object.Name, v1.LabelRevision)
	}
	// What is no time was written by somebody else.
	restartedAt, _ := time.Parse(time.RFC3339Nano, object.Annotations[v1.AnnotationRestartedAt])
	return &Revision{
		Key:         key,
		Number:      object.Revision,
		RestartedAt: restartedAt,
		Content:     *content,
		Object:      object,
		canonical:   canonical(content),
	}, nil
}

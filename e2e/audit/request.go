package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"lws-controller/controller/invariant"
)

// request is what the audit log says of a write.
type request struct {
	object
	verb, subresource  string
	user, agent        string
	received, answered time.Time
	code               int32
	// uid and version are what the answer says of the object, empty where it says
	// nothing. An answer to a write that changed nothing has the version of the
	// write before.
	uid     types.UID
	version string
	// the preconditions that came with it, and whether it asked for a grace period
	// of 0
	wantsUID, wantsVersion, force bool
}

// body is what is of interest in a request or an answer: of an object, of a patch,
// of DeleteOptions and of a Status.
type body struct {
	Kind     string `json:"kind,omitempty"`
	Metadata struct {
		Name            string `json:"name,omitempty"`
		UID             string `json:"uid,omitempty"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	} `json:"metadata,omitzero"`
	Details struct {
		UID string `json:"uid,omitempty"`
	} `json:"details,omitzero"`
	Preconditions      metav1.Preconditions `json:"preconditions,omitzero"`
	GracePeriodSeconds *int64               `json:"gracePeriodSeconds,omitempty"`
	DryRun             []string             `json:"dryRun,omitempty"`
}

func readBody(raw *runtime.Unknown) (b body, err error) {
	if raw == nil || len(raw.Raw) == 0 {
		return b, nil
	}
	if raw.Raw[0] == '[' {
		return readJSONPatch(raw.Raw)
	}
	return b, json.Unmarshal(raw.Raw, &b)
}

// readJSONPatch reads the preconditions of a JSON patch: what it tests.
func readJSONPatch(patch []byte) (b body, err error) {
	var steps []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(patch, &steps); err != nil {
		return b, err
	}
	for _, s := range steps {
		value, _ := s.Value.(string)
		switch {
		case s.Op != "test":
		case s.Path == "/metadata/uid":
			b.Metadata.UID = value
		case s.Path == "/metadata/resourceVersion":
			b.Metadata.ResourceVersion = value
		}
	}
	return b, nil
}

// newRequest reads an audit event; nil: it is no write that is judged.
func newRequest(e *auditv1.Event) (*request, error) {
	ref := e.ObjectRef
	if ref == nil || !judged(ref) || strings.Contains(e.RequestURI, "dryRun=All") {
		return nil, nil
	}
	asked, err := readBody(e.RequestObject)
	if err != nil {
		return nil, fmt.Errorf("request body of %s %s: %w", e.Verb, e.RequestURI, err)
	}
	answer, err := readBody(e.ResponseObject)
	if err != nil {
		return nil, fmt.Errorf("answer to %s %s: %w", e.Verb, e.RequestURI, err)
	}
	if len(asked.DryRun) > 0 {
		return nil, nil
	}
	r := &request{
		object: object{ref.Resource, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}},
		verb:   e.Verb, subresource: ref.Subresource, user: e.User.Username, agent: e.UserAgent,
		received: e.RequestReceivedTimestamp.Time, answered: e.StageTimestamp.Time,
		uid: types.UID(answer.Metadata.UID), version: answer.Metadata.ResourceVersion,
		force: asked.GracePeriodSeconds != nil && *asked.GracePeriodSeconds == 0,
	}
	if ref.APIGroup == volcanoGroup {
		r.resource = volcanoGroups
	}
	if e.ResponseStatus != nil {
		r.code = e.ResponseStatus.Code
	}
	if r.Name == "" {
		r.Name = answer.Metadata.Name // it was generated
	}
	if answer.Kind == "Status" {
		r.uid, r.version = types.UID(answer.Details.UID), ""
	}
	if r.uid == "" {
		r.uid = types.UID(asked.Metadata.UID) // of a Binding, whose answer says nothing
	}
	if r.verb == "deletecollection" {
		r.uid, r.version = "", "" // those of a list
	}
	if r.verb == "delete" || r.verb == "deletecollection" {
		r.wantsUID, r.wantsVersion = asked.Preconditions.UID != nil, asked.Preconditions.ResourceVersion != nil
	} else {
		r.wantsUID, r.wantsVersion = asked.Metadata.UID != "", asked.Metadata.ResourceVersion != ""
	}
	return r, nil
}

func judged(ref *auditv1.ObjectReference) bool {
	switch ref.Resource {
	case pods, services:
		return ref.APIGroup == ""
	case budgets:
		return ref.APIGroup == "policy"
	case podGroups, workloads:
		return ref.APIGroup == "scheduling.k8s.io" || ref.APIGroup == volcanoGroup
	case revisions:
		return ref.APIGroup == "apps"
	case sets:
		return true
	}
	return false
}

func (r *request) accepted() bool {
	return r.code >= http.StatusOK && r.code < http.StatusMultipleChoices
}

// doubtful says that the write may have been made although the answer is none, or an
// error: the client or the server was gone before. An eviction marks the pod before
// it deletes it, and what comes in between refuses only the second.
func (r *request) doubtful() bool {
	return r.code < http.StatusOK || r.code >= http.StatusInternalServerError || r.subresource == "eviction" && !r.accepted()
}

// ControllerAgent is how the user agent of the controller's requests begins,
// controllerAccount how the name of its service account ends.
const (
	ControllerAgent   = "lws-controller/"
	controllerAccount = ":lws-controller-manager"
)

// by is who made the request.
func (r *request) by() invariant.Actor {
	switch {
	case r.subresource == "eviction":
		return invariant.Evictor
	case strings.HasPrefix(r.agent, ControllerAgent) || strings.HasSuffix(r.user, controllerAccount):
		return invariant.Controller
	case r.user == "system:kube-scheduler":
		return invariant.Scheduler
	case r.user == "kwok":
		return invariant.Kubelet
	case strings.Contains(r.agent, "generic-garbage-collector"):
		return invariant.Collector
	}
	return invariant.User
}

// deletes says that the request is for a deletion, of one object or of several.
func (r *request) deletes() bool {
	return r.verb == "delete" || r.verb == "deletecollection" || r.subresource == "eviction"
}

func (r *request) String() string {
	what := r.resource
	if r.subresource != "" {
		what += "/" + r.subresource
	}
	return fmt.Sprintf("%s %s %s %s/%s by %s (%s): %d", r.received.Format("15:04:05.000000"), r.verb, what, r.Namespace, r.Name, r.user, r.agent, r.code)
}

package audit

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestPreconditions reads them off every kind of request.
func TestPreconditions(t *testing.T) {
	for _, tc := range []struct {
		name, verb, body    string
		uid, version, force bool
	}{
		{"merge patch", "patch", `{"metadata":{"uid":"u","resourceVersion":"7"}}`, true, true, false},
		{"merge patch of anything", "patch", `{"metadata":{"labels":{"a":"b"}}}`, false, false, false},
		{"JSON patch", "patch", `[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"test","path":"/metadata/resourceVersion","value":"7"}]`, true, true, false},
		{"JSON patch of one", "patch", `[{"op":"replace","path":"/metadata/uid","value":"u"},{"op":"test","path":"/metadata/resourceVersion","value":"7"}]`, false, true, false},
		{"deletion", "delete", `{"preconditions":{"uid":"u"}}`, true, false, false},
		{"deletion at once", "delete", `{"gracePeriodSeconds":0}`, false, false, true},
		{"deletion in time", "delete", `{"gracePeriodSeconds":30}`, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := newRequest(&auditv1.Event{Verb: tc.verb, ObjectRef: &auditv1.ObjectReference{Resource: pods, Name: "p"},
				RequestObject: &runtime.Unknown{Raw: []byte(tc.body)}})
			if err != nil {
				t.Fatal(err)
			}
			if r.wantsUID != tc.uid || r.wantsVersion != tc.version || r.force != tc.force {
				t.Errorf("UID %t, version %t, force %t", r.wantsUID, r.wantsVersion, r.force)
			}
		})
	}
}

// TestWritesThatAreNone are not judged.
func TestWritesThatAreNone(t *testing.T) {
	pod := &auditv1.ObjectReference{Resource: pods, Name: "p"}
	for name, e := range map[string]*auditv1.Event{
		"dry run":             {Verb: "create", ObjectRef: pod, RequestURI: "/api/v1/namespaces/ns/pods?dryRun=All"},
		"dry run of deletion": {Verb: "delete", ObjectRef: pod, RequestObject: &runtime.Unknown{Raw: []byte(`{"dryRun":["All"]}`)}},
		"another kind":        {Verb: "create", ObjectRef: &auditv1.ObjectReference{Resource: "events"}},
		"no object":           {Verb: "create"},
	} {
		if r, err := newRequest(e); r != nil || err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"lws-controller/e2e/audit"
	"lws-controller/e2e/cluster"
)

// ControllerAgent is how the user agent of the controller's requests begins.
const ControllerAgent = audit.ControllerAgent

// Counts are numbers of requests by verb and resource, like "create pods" or
// "patch pods/status".
type Counts map[string]int

// String is one line per kind of request.
func (c Counts) String() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%5d %s\n", c[k], k)
	}
	return b.String()
}

// Requests are what the controller asked of the API server in a namespace ("" all)
// since a time, writes only.
func (e *Env) Requests(t testing.TB, namespace string, since time.Time) []auditv1.Event {
	t.Helper()
	events, err := e.Cluster.Audit(cluster.AuditFilter{UserAgent: ControllerAgent, Namespace: namespace, Since: since, Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Writes counts the controller's writes in a namespace ("" all) since a time,
// Kubernetes events and leases aside. A request that was refused counts with its
// status code, like "create pods 409".
func (e *Env) Writes(t testing.TB, namespace string, since time.Time) Counts {
	t.Helper()
	counts := Counts{}
	for _, r := range e.Requests(t, namespace, since) {
		resource := r.ObjectRef.Resource
		if resource == "events" || resource == "leases" {
			continue
		}
		if r.ObjectRef.Subresource != "" {
			resource += "/" + r.ObjectRef.Subresource
		}
		key := r.Verb + " " + resource
		if code := r.ResponseStatus.Code; code >= 300 {
			key += fmt.Sprintf(" %d", code)
		}
		counts[key]++
	}
	return counts
}

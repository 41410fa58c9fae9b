package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditFilter selects requests; empty fields select all.
type AuditFilter struct {
	// UserAgent is a prefix, e.g. "lws-controller/".
	UserAgent string
	// User is the authenticated user; requests that it makes impersonating
	// others count too.
	User string
	// Resource with its subresource, e.g. "pods", "pods/status" or "*/status".
	// Without a subresource the requests to subresources are not meant.
	Resource string
	// Namespace and Name of the object.
	Namespace, Name string
	// Verbs: get, list, watch, create, update, patch, delete, deletecollection.
	Verbs []string
	// Writes selects create, update, patch, delete and deletecollection.
	Writes bool
	// Since and Until bound the time at which the request came in, to the
	// microsecond; Until is exclusive.
	Since, Until time.Time
}

var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

func (f AuditFilter) matches(e *auditv1.Event) bool {
	var namespace, name, resource string
	if r := e.ObjectRef; r != nil {
		namespace, name, resource = r.Namespace, r.Name, r.Resource
		if r.Subresource != "" {
			if strings.HasPrefix(f.Resource, "*/") {
				resource = "*"
			}
			resource += "/" + r.Subresource
		}
	}
	at := e.RequestReceivedTimestamp.Time
	return strings.HasPrefix(e.UserAgent, f.UserAgent) &&
		(f.User == "" || f.User == e.User.Username) &&
		(f.Resource == "" || f.Resource == resource) &&
		(f.Namespace == "" || f.Namespace == namespace) &&
		(f.Name == "" || f.Name == name) &&
		(len(f.Verbs) == 0 || slices.Contains(f.Verbs, e.Verb)) &&
		(!f.Writes || slices.Contains(writeVerbs, e.Verb)) &&
		!at.Before(f.Since.Truncate(time.Microsecond)) &&
		(f.Until.IsZero() || at.Before(f.Until))
}

// mayMatch says whether the text of a line has what the filter asks for, at least
// somewhere. Most lines have not, and reading them is what takes time.
func (f AuditFilter) mayMatch(line []byte) bool {
	for _, part := range []string{f.UserAgent, f.User, f.Namespace, f.Name} {
		// What JSON would write otherwise cannot be searched for.
		if !strings.ContainsAny(part, "\"\\<>&") && !bytes.Contains(line, []byte(part)) {
			return false
		}
	}
	return true
}

// Audit returns the requests answered so far that the filter selects, in the
// order in which they were answered. A watch appears when it has ended. Writes of
// Pods, Services, ControllerRevisions and LeaderWorkerSets come with the bodies of
// request and answer.
func (c *Cluster) Audit(filter AuditFilter) ([]auditv1.Event, error) {
	if c.opts.NoAudit {
		return nil, errors.New("the cluster was started without an audit log")
	}
	f, err := os.Open(c.path(auditLogFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAudit(f, filter)
}

func readAudit(r io.Reader, filter AuditFilter) ([]auditv1.Event, error) {
	var events []auditv1.Event
	lines := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // a line without its end is still being written
		}
		if err != nil {
			return nil, err
		}
		if !filter.mayMatch(line) {
			continue
		}
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log, line %d: %w", n, err)
		}
		if filter.matches(&e) {
			events = append(events, e)
		}
	}
}

// Summary counts requests by user agent, verb, resource and status code, one
// line each: for messages of failed tests and for reports.
func Summary(events []auditv1.Event) string {
	counts := map[string]int{}
	for _, e := range events {
		agent, _, _ := strings.Cut(e.UserAgent, " ")
		what := e.RequestURI
		if r := e.ObjectRef; r != nil {
			what = r.Resource
			if r.Subresource != "" {
				what += "/" + r.Subresource
			}
		}
		var code int32
		if e.ResponseStatus != nil {
			code = e.ResponseStatus.Code
		}
		counts[fmt.Sprintf("%s %s %s %d", agent, e.Verb, what, code)]++
	}
	lines := make([]string, 0, len(counts))
	for key, n := range counts {
		lines = append(lines, fmt.Sprintf("%6d %s\n", n, key))
	}
	slices.Sort(lines)
	slices.Reverse(lines) // most first: the counts are right-aligned
	return strings.Join(lines, "")
}

package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"lws-controller/e2e/cluster"
)

// Record is what was written, and who wrote it.
type Record struct {
	states []*state
	// authors are the requests that made the states; lost are the states without.
	authors map[*state]*request
	lost    []*state
	// gaps are what else the two records do not agree about.
	gaps []string
	// nodes is the history of the nodes.
	nodes []nodeState
}

// lateness is how long a request may take to be in the log after what it wrote was
// seen: the log has it before it is answered.
const lateness = 10 * time.Second

// Read takes the record of a cluster up to now, of one namespace, or of all ("").
func Read(ctx context.Context, c *cluster.Cluster, namespace string) (*Record, error) {
	begin := time.Now()
	var below []string
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		if namespace != "" {
			prefix += namespace + "/"
		}
		below = append(below, prefix)
	}
	history, err := c.History(ctx, append(below, nodePrefix)...)
	if err != nil {
		return nil, err
	}
	states, err := decode(history)
	if err != nil {
		return nil, err
	}
	nodes, err := decodeNodes(history)
	if err != nil {
		return nil, err
	}
	for {
		events, err := c.Audit(cluster.AuditFilter{Namespace: namespace, Writes: true})
		if err != nil {
			return nil, err
		}
		r, err := join(states, nodes, events, begin)
		if err != nil || len(r.lost) == 0 || time.Since(begin) > lateness {
			return r, err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// join finds the author of each state. Requests that were answered later than the
// history was asked for may have made states that are not in it.
func join(states []*state, nodes []nodeState, events []auditv1.Event, asked time.Time) (*Record, error) {
	var requests, early []*request
	for i := range events {
		r, err := newRequest(&events[i])
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		requests = append(requests, r)
		if r.answered.Before(asked) {
			early = append(early, r)
		}
	}
	r := &Record{states: states, nodes: nodes, authors: map[*state]*request{}}
	l, next := newLog(requests), map[object]*state{}
	var answered time.Time // the first answer to what was stored later
	for _, s := range slices.Backward(states) {
		author := l.answered(s)
		if author == nil {
			author = l.silently(s, r.authors[next[s.object]], answered)
		}
		next[s.object] = s
		if author == nil {
			r.lost = append(r.lost, s)
			continue
		}
		r.authors[s] = author
		if answered.IsZero() || author.answered.Before(answered) {
			answered = author.answered
		}
	}
	slices.Reverse(r.lost)
	r.gaps = unstored(early, states, r.authors)
	return r, nil
}

// line is what was stored, as a line of a file.
type line struct {
	Revision int64           `json:"revision"`
	Key      string          `json:"key"`
	Object   json.RawMessage `json:"object,omitempty"`
}

// historyFile is what the states are kept in, beside the audit log.
const historyFile = "history.jsonl"

// Save writes the states into a folder, beside the audit log that is there, and
// returns the path.
func (r *Record) Save(dir string) (string, error) {
	var out bytes.Buffer
	codec := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, policyv1.SchemeGroupVersion)
	for _, s := range r.states {
		l := line{Revision: s.version, Key: s.key()}
		var err error
		switch o := s.after.(type) {
		case nil:
		case runtime.Object:
			if s.resource == sets || s.resource == volcanoGroups {
				l.Object, err = json.Marshal(o)
			} else {
				l.Object, err = runtime.Encode(codec, o)
			}
		}
		if err != nil {
			return "", fmt.Errorf("%s at revision %d: %w", l.Key, l.Revision, err)
		}
		if err := json.NewEncoder(&out).Encode(l); err != nil {
			return "", err
		}
	}
	for _, n := range r.nodes {
		l := line{Revision: n.version, Key: nodePrefix + n.name}
		if n.node != nil {
			var err error
			if l.Object, err = runtime.Encode(codec, n.node); err != nil {
				return "", fmt.Errorf("%s at revision %d: %w", l.Key, l.Revision, err)
			}
		}
		if err := json.NewEncoder(&out).Encode(l); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, historyFile)
	return path, os.WriteFile(path, out.Bytes(), 0o600)
}

// Load reads a record from what Save and the API server wrote.
func Load(history, auditLog io.Reader) (*Record, error) {
	var stored []cluster.Stored
	for d := json.NewDecoder(bufio.NewReader(history)); d.More(); {
		var l line
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		stored = append(stored, cluster.Stored{Revision: l.Revision, Key: l.Key, Value: l.Object})
	}
	states, err := decode(stored)
	if err != nil {
		return nil, err
	}
	nodes, err := decodeNodes(stored)
	if err != nil {
		return nil, err
	}
	var events []auditv1.Event
	for d := json.NewDecoder(bufio.NewReader(auditLog)); d.More(); {
		var e auditv1.Event
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		events = append(events, e)
	}
	return join(states, nodes, events, time.Now())
}

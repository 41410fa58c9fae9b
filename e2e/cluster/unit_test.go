package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestNodeTopology(t *testing.T) {
	for _, tc := range []struct {
		nodes, racks, zones int
		want                string
	}{
		{4, 2, 1, "00 00 01 01"}, // zone and rack of each node
		{4, 4, 2, "00 01 12 13"},
		{5, 2, 2, "00 00 00 11 11"},
		{2, 4, 1, "00 02"},
	} {
		o := Options{Nodes: tc.nodes, Racks: tc.racks, Zones: tc.zones}
		var got []string
		for i := range o.Nodes {
			l := o.node(i).Labels
			got = append(got, strings.TrimPrefix(l[corev1.LabelTopologyZone], "zone-")+strings.TrimPrefix(l[RackLabel], "rack-"))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%d nodes, %d racks, %d zones: %s, want %s", tc.nodes, tc.racks, tc.zones, s, tc.want)
		}
	}
}

func TestModuleKey(t *testing.T) {
	m := must(readModule(t.Context(), must(pinnedModule())(t)))(t)
	if !strings.HasPrefix(m.key(), "v1.37.2-") {
		t.Errorf("key %s", m.key())
	}
	if flags := m.buildArgs()[2]; !strings.Contains(flags, "gitMinor=37 ") {
		t.Errorf("flags %s", flags)
	}
	var names []string
	for _, tool := range m.Tool {
		names = append(names, programName(tool.Path))
	}
	for _, want := range append(components, "kubectl") {
		if !strings.Contains(strings.Join(names, " ")+" ", string(want)+" ") {
			t.Errorf("no program %s among %v", want, names)
		}
	}
	other := m
	other.raw = append([]byte(nil), m.raw...)
	other.raw[len(other.raw)/2]++
	if other.key() == m.key() {
		t.Error("the key doesn't depend on the versions")
	}
}

func TestMergeStages(t *testing.T) {
	const ready = "{kind: Stage, metadata: {name: pod-ready}, spec: {selector: {matchExpressions: [{key: .a, operator: Exists}]}}}"
	const mine = "{kind: Stage, metadata: {name: pod-ready}, spec: {mine: true}}"
	stages := must(mergeStages([][]byte{[]byte(ready)}))(t)
	spec := stages[0]["spec"].(map[string]any)
	if n := len(spec["selector"].(map[string]any)["matchExpressions"].([]any)); n != 2 || spec["delay"] == nil {
		t.Errorf("pod-ready doesn't obey the annotations: %v", spec)
	}
	stages = must(mergeStages([][]byte{[]byte(ready), []byte(mine)}))(t)
	if len(stages) != 1 || stages[0]["spec"].(map[string]any)["mine"] != true {
		t.Errorf("not replaced: %v", stages)
	}
	for _, bad := range []string{"{kind: Pod, metadata: {name: a}}", "{kind: Stage}", "{", "kind: Stage\nkind: Stage"} {
		if _, err := mergeStages([][]byte{[]byte(bad)}); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestReadAudit(t *testing.T) {
	const log = `{"verb":"create","user":{"username":"u"},"userAgent":"lws-controller/v1 (linux)","objectRef":{"resource":"pods","namespace":"n","name":"a"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z"}
{"verb":"patch","user":{"username":"u"},"userAgent":"lws-controller/v1 (linux)","objectRef":{"resource":"pods","subresource":"status","namespace":"n","name":"a"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z"}
{"verb":"list","user":{"username":"v"},"userAgent":"kubectl/v1","objectRef":{"resource":"pods","namespace":"m"},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z"}
{"verb":"get","user":{"username":"v"},"userAgent":"kubectl/v1","requestURI":"/readyz","requestReceivedTimestamp":"2026-01-01T00:00:04.000000Z"}
{"verb":"half a li`
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	for _, tc := range []struct {
		name   string
		filter AuditFilter
		want   string // first letters of the verbs
	}{
		{"all", AuditFilter{}, "cplg"},
		{"agent", AuditFilter{UserAgent: "lws-controller/"}, "cp"},
		{"user", AuditFilter{User: "v"}, "lg"},
		{"resource", AuditFilter{Resource: "pods"}, "cl"},
		{"subresource", AuditFilter{Resource: "pods/status"}, "p"},
		{"any subresource", AuditFilter{Resource: "*/status"}, "p"},
		{"writes", AuditFilter{Writes: true}, "cp"},
		{"verbs", AuditFilter{Verbs: []string{"get", "list"}}, "lg"},
		{"namespace", AuditFilter{Namespace: "m"}, "l"},
		{"name", AuditFilter{Name: "a"}, "cp"},
		{"since is inclusive", AuditFilter{Since: at(2)}, "plg"},
		{"until is exclusive", AuditFilter{Since: at(2), Until: at(4)}, "pl"},
		{"finer than the log", AuditFilter{Since: at(4).Add(200)}, "g"},
	} {
		var got string
		for _, e := range must(readAudit(strings.NewReader(log), tc.filter))(t) {
			got += e.Verb[:1]
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if _, err := readAudit(strings.NewReader("not JSON\n"), AuditFilter{}); err == nil {
		t.Error("no error for a broken log")
	}
	events := must(readAudit(strings.NewReader(log), AuditFilter{Verbs: []string{"create", "get"}}))(t)
	if got, want := Summary(events), "     1 lws-controller/v1 create pods 201\n     1 kubectl/v1 get /readyz 0\n"; got != want {
		t.Errorf("summary:\n%swant:\n%s", got, want)
	}
}

// TestReadHistory reads what etcd's gateway writes, in two messages.
func TestReadHistory(t *testing.T) {
	event := func(kind, key, value string, revision int) string {
		encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
		return fmt.Sprintf(`{"type":%q,"kv":{"key":%q,"value":%q,"mod_revision":"%d"}}`, kind, encode(key), encode(value), revision)
	}
	message := func(events ...string) string {
		return `{"result":{"header":{"revision":"9"},"events":[` + strings.Join(events, ",") + `]}}` + "\n"
	}
	stream := `{"result":{"header":{"revision":"9"},"created":true}}` + "\n" +
		message(event("", "/registry/pods/a/b", "one", 2), event("", "/registry/leases/a/b", "lease", 3)) +
		message(event("DELETE", "/registry/pods/a/b", "", 4), event("", "/registry/pods/a/b", "later", 5))
	read := func(stream string, last int64) ([]Stored, error) {
		return readHistory(json.NewDecoder(strings.NewReader(stream)), last, []string{"/registry/pods/"})
	}
	got, err := read(stream, 4)
	want := []Stored{{Revision: 2, Key: "/registry/pods/a/b", Value: []byte("one")}, {Revision: 4, Key: "/registry/pods/a/b"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	if _, err := read(stream, 6); err == nil {
		t.Error("a history that ends early is no error")
	}
	if _, err := read(`{"result":{"canceled":true,"compact_revision":"7"}}`, 4); err == nil || !strings.Contains(err.Error(), "compacted at 7") {
		t.Errorf("error %v of a history whose beginning is gone", err)
	}
}

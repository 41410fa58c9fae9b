package plan

import (
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: demo, namespace: prod}
spec: {replicas: 3}
`

func TestReadManifest(t *testing.T) {
	for name, tc := range map[string]struct{ in, says string }{
		"one":      {manifest, ""},
		"JSON":     {`{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"demo","namespace":"prod"}}`, ""},
		"none":     {"apiVersion: v1\nkind: Pod\n", "no LeaderWorkerSet"},
		"empty":    {"", "no LeaderWorkerSet"},
		"two":      {manifest + "---\n" + strings.ReplaceAll(manifest, "demo", "more"), "more than one LeaderWorkerSet (demo, more)"},
		"nameless": {"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n", "no name"},
		"no YAML":  {"a: b: c", "mapping"},
	} {
		c, err := ReadManifest(strings.NewReader(tc.in))
		switch {
		case tc.says == "" && (err != nil || c.Name != "demo" || c.Namespace != "prod"):
			t.Errorf("%s: %+v, %v", name, c, err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %v, want %q in it", name, err, tc.says)
		}
	}
}

func TestReadAnnotations(t *testing.T) {
	got, err := ReadAnnotations([]string{"paused=true", "example.com/a=b=c", "min-ready-", "max-surge="})
	if err != nil {
		t.Fatal(err)
	}
	value := func(s string) *string { return &s }
	want := map[string]*string{steeringPrefix + "paused": value("true"), "example.com/a": value("b=c"),
		steeringPrefix + "min-ready": nil, steeringPrefix + "max-surge": value("")}
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"paused", "-", "=true", "paused-=true"} {
		if _, err := ReadAnnotations([]string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestPatch: what the manifest no longer has is taken off if it was applied before,
// and what others have set stays.
func TestPatch(t *testing.T) {
	live := `{"metadata":{"name":"demo","annotations":{"mine":"1","theirs":"2",
		"kubectl.kubernetes.io/last-applied-configuration":"{\"metadata\":{\"name\":\"demo\",\"annotations\":{\"mine\":\"1\"}},\"spec\":{\"replicas\":2}}"}},
		"spec":{"replicas":2,"startupPolicy":"LeaderCreated"}}`
	value := "true"
	c := &Change{Manifest: []byte(`{"metadata":{"name":"demo"},"spec":{"replicas":3}}`), Annotations: map[string]*string{"a": &value, "b": nil}}
	data, err := c.patch([]byte(live))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"metadata":{"annotations":{"mine":null,"a":"true","b":null,
		"kubectl.kubernetes.io/last-applied-configuration":"{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"replicas\":3}}"}},"spec":{"replicas":3}}`), &want); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if data, err = c.create(); err != nil || string(data) != `{"metadata":{"annotations":{"a":"true"},"name":"demo"},"spec":{"replicas":3}}` {
		t.Errorf("create %s, %v", data, err)
	}
}

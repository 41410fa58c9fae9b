package kubectl

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
)

// TestSteerAgain has the set change between reading and writing: what depends on what
// was read is decided anew, of the set as it is then.
func TestSteerAgain(t *testing.T) {
	w := small(t)
	var patches []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			patches = append(patches, string(body))
			if len(patches) == 1 {
				w.set.ResourceVersion = "78"
				rw.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(rw).Encode(apierrors.NewConflict(v1.GroupVersionResource.GroupResource(), "web", io.EOF).Status())
				return
			}
		}
		_ = json.NewEncoder(rw).Encode(w.set)
	}))
	t.Cleanup(server.Close)
	sets, err := client.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	o := &options{now: func() time.Time { return noon }, connect: func() (*clients, error) {
		return &clients{namespace: "default", sets: sets, kube: fake.NewClientset(w.revisions[0], w.revisions[1])}, nil
	}}
	cmd := o.restartCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"web"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"annotations":{"rollout.leaderworkerset.x-k8s.io/restarted-at":"2026-12-01T12:00:00Z"},"resourceVersion":"78","uid":"web-uid"}}`
	if len(patches) != 2 || patches[1] != want {
		t.Errorf("got %s, want at last %s", patches, want)
	}
	// Where the record is ahead of this machine's clock, another restart would do nothing.
	w.set.Annotations = map[string]string{v1.AnnotationRestartedAt: "2026-12-01T12:00:01Z"}
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "would restart nothing") || len(patches) != 2 {
		t.Errorf("error %v after %d patches", err, len(patches))
	}
}

package metrics

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// restClient speaks to a server as the controller's clients do.
func restClient(t *testing.T, url string, qps float32) *rest.RESTClient {
	t.Helper()
	config := &rest.Config{Host: url, APIPath: "/api", QPS: qps, Burst: 100,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &schema.GroupVersion{Version: "v1"},
			NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion(),
		}}
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Client.CloseIdleConnections)
	return c
}

func TestClient(t *testing.T) {
	reg := start(t)
	var busy atomic.Bool
	busy.Store(true)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/v1/namespaces/ns/pods/missing":
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodPost && busy.CompareAndSwap(true, false):
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
		}
	}))
	t.Cleanup(srv.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	c := restClient(t, srv.URL, 1000)
	pods := func(r *rest.Request) *rest.Request { return r.Namespace("ns").Resource("pods") }
	for _, call := range []struct {
		what    string
		request *rest.Request
		fails   bool
	}{
		{"list", pods(c.Get()), false},
		{"get", pods(c.Get()).Name("a-0"), false},
		{"get another: the same series", pods(c.Get()).Name("a-1"), false},
		{"get what does not exist", pods(c.Get()).Name("missing"), true},
		{"create, told to try again", pods(c.Post()).Body([]byte("{}")), false},
		{"update", pods(c.Put()).Name("a-0").Body([]byte("{}")), false},
		{"delete", pods(c.Delete()).Name("a-0"), false},
		{"a verb nobody uses", pods(c.Verb("PURGE")).Name("a-0"), false},
		{"server down, no rate limiter", pods(restClient(t, gone.URL, -1).Get()), true},
	} {
		if _, err := call.request.DoRaw(t.Context()); (err != nil) != call.fails {
			t.Errorf("%s: error %v, want one: %v", call.what, err, call.fails)
		}
	}
	w, err := pods(c.Get()).Watch(t.Context()) // counted, not timed
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()

	golden(t, "client", series(t, reg, "rest_client_", false))
	lint(t, reg)
}

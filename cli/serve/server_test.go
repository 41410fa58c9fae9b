package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"lws-controller/api/client"
	"lws-controller/controller"
	"lws-controller/informers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer is a server of a controller whose caches are not filled.
func newServer(t *testing.T, profiles bool) *Server {
	t.Helper()
	sets, err := client.New(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	caches, err := informers.New(fake.NewClientset(), sets, nil, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	c := controller.New(controller.Options{Cache: caches})
	if err := caches.Watch(c); err != nil {
		t.Fatal(err)
	}
	// Run ends at once, and the queue with it.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ended)
	return New(Options{Controller: c, Caches: caches, Metrics: http.NotFoundHandler(), Profiles: profiles})
}

func TestPages(t *testing.T) {
	s, withProfiles := newServer(t, false), newServer(t, true)
	for _, tc := range []struct {
		server *Server
		path   string
		status int
		body   string
	}{
		{s, "/healthz", 200, "ok"},
		{s, "/readyz", 500, "caches: still being filled"},
		{s, "/healthz?verbose", 200, "leading: false"},
		{s, "/debug/groups", 200, `"sets": []`},
		{s, "/debug/groups?set=ns/none", 200, `"sets": []`},
		{s, "/debug/groups?sets=ns/none", 400, "the only parameter is set="},
		{s, "/debug/pprof/cmdline", 404, ""},
		{withProfiles, "/debug/pprof/cmdline", 200, ""},
		{s, "/", 200, "This replica does not lead"},
		{s, "/", 200, "The caches of this replica are still being filled"},
		{s, "/sets/ns/none", 404, "There is no set ns/none."},
		{s, "/nothing", 404, ""},
	} {
		w := httptest.NewRecorder()
		tc.server.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil))
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.body) {
			t.Errorf("GET %s: %d %q, want %d with %q", tc.path, w.Code, w.Body, tc.status, tc.body)
		}
	}
	for _, path := range []string{"/debug/groups", "/", "/sets/ns/none"} {
		w := httptest.NewRecorder()
		s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, path, nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("DELETE %s: %d, want 405: the pages are read-only", path, w.Code)
		}
	}
	who := func() string { return "pod-7_1234" }
	s.Leader.Store(&who)
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if !strings.Contains(w.Body.String(), "The leader is pod-7_1234") {
		t.Errorf("the page of a replica that does not lead lacks who does:\n%s", w.Body)
	}
}

func TestListenServesUntilTheContextEnds(t *testing.T) {
	s := newServer(t, false)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if _, err := s.Listen(t.Context(), address); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a taken address: %v, want an error that names the flag", err)
	}
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	serve, err := s.Listen(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- serve() }()
	resp, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "ok\n" {
		t.Errorf("healthz says %q", body)
	}
	http.DefaultClient.CloseIdleConnections()
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	start := time.Now()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("a connection on which nothing was asked held the end up for %s", took)
	}
}

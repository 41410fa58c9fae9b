package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	lwsv1 "lws-controller/api/v1"
)

// server answers the requests of a client with one set and records what was
// asked. Watches stay open until the test ends.
type server struct {
	mu       sync.Mutex
	requests []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path+" agent="+r.UserAgent()+" accept="+r.Header.Get("Accept"))
	s.mu.Unlock()
	set := lwsv1.LeaderWorkerSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: lwsv1.SchemeGroupVersion.String(), Kind: lwsv1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", ResourceVersion: "7"},
	}
	list := lwsv1.LeaderWorkerSetList{
		TypeMeta: metav1.TypeMeta{APIVersion: lwsv1.SchemeGroupVersion.String(), Kind: lwsv1.Kind + "List"},
		ListMeta: metav1.ListMeta{ResourceVersion: "7"},
		Items:    []lwsv1.LeaderWorkerSet{set},
	}
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		// As a server without streaming lists answers: the informer lists.
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(apierrors.NewInvalid(lwsv1.SchemeGroupVersion.WithKind("x").GroupKind(), "", nil).Status())
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/leaderworkersets"):
		_ = json.NewEncoder(w).Encode(list)
	default:
		_ = json.NewEncoder(w).Encode(set)
	}
}

func (s *server) seen(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r, part) {
			return true
		}
	}
	return false
}

func start(t *testing.T) (*server, *Client) {
	t.Helper()
	s := &server{}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	config := &rest.Config{Host: ts.URL, UserAgent: "agent/1"}
	config.ContentType = "application/vnd.kubernetes.protobuf" // must not reach the server
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestRequests(t *testing.T) {
	s, c := start(t)
	ctx := context.Background()
	sets := c.LeaderWorkerSets("ns")
	got, err := sets.Get(ctx, "web", metav1.GetOptions{})
	if err != nil || got.Name != "web" {
		t.Fatalf("get: %v, %v", got, err)
	}
	if _, err := sets.UpdateStatus(ctx, got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := c.LeaderWorkerSets("").List(ctx, metav1.ListOptions{Limit: 3})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("list: %v, %v", list, err)
	}
	base := "/apis/leaderworkerset.x-k8s.io/v1/"
	for _, want := range []string{
		"GET " + base + "namespaces/ns/leaderworkersets/web agent=agent/1 accept=application/json",
		"PUT " + base + "namespaces/ns/leaderworkersets/web/status ",
		"GET " + base + "leaderworkersets ",
	} {
		if !s.seen(want) {
			t.Errorf("no request %q in %q", want, s.requests)
		}
	}
}

func TestInformerAndLister(t *testing.T) {
	_, c := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	var tweaked atomic.Bool // the informer tweaks each list and watch
	inf := NewInformer(c, "", 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		func(*metav1.ListOptions) { tweaked.Store(true) })
	done := make(chan struct{})
	go func() { defer close(done); inf.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	timed, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	if !cache.WaitForCacheSync(timed.Done(), inf.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	if !tweaked.Load() {
		t.Error("tweak was not called")
	}
	lister := NewLister(inf.GetIndexer())
	if set, err := lister.LeaderWorkerSets("ns").Get("web"); err != nil || set.Name != "web" {
		t.Errorf("get: %v, %v", set, err)
	}
	if _, err := lister.LeaderWorkerSets("other").Get("web"); !apierrors.IsNotFound(err) {
		t.Errorf("get from another namespace: %v, want not found", err)
	}
	if all, err := lister.List(labels.Everything()); err != nil || len(all) != 1 {
		t.Errorf("list: %v, %v", all, err)
	}
}

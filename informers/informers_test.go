package informers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"

	"lws-controller/api/client"
	"lws-controller/controller/group"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedSink is a sink for many goroutines.
type lockedSink struct {
	mu sync.Mutex
	sink
}

func (s *lockedSink) Pod(set types.NamespacedName, index int32, e group.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink.Pod(set, index, e)
}
func (s *lockedSink) Node(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink.Node(name)
}
func (s *lockedSink) Touch(set types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink.Touch(set)
}

// TestWiring: the informers run, tell the sink of what there is before they count
// as synced, answer reads by set, and end.
func TestWiring(t *testing.T) {
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			if r.URL.Query().Get("sendInitialEvents") != "" { // not supported: list instead
				http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
				return
			}
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"kind":"LeaderWorkerSetList","apiVersion":"leaderworkerset.x-k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`))
	}))
	defer empty.Close()
	sets, err := client.New(&rest.Config{Host: empty.URL})
	if err != nil {
		t.Fatal(err)
	}
	stray := pod("b-1", "b", "w", "2")
	stray.Labels = nil
	i, err := New(fake.NewClientset(pod("a-1", "a", "u", "1"), pod("a-1-1", "a", "v", "1"), stray, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), sets, nil, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	s := &lockedSink{}
	if err := i.Watch(s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer i.Wait()
	defer cancel()
	i.Start(ctx)
	if err := i.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	told := slices.Sorted(slices.Values(s.told))
	s.mu.Unlock()
	if got, want := strings.Join(told, "; "), "a/1/0 PodObserved u@1; a/1/1 PodObserved v@1; node n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	count := 0
	i.Events(types.NamespacedName{Namespace: "ns", Name: "a"}, func(index int32, e group.Event) { count++ })
	if _, exists := i.Pod(types.NamespacedName{Namespace: "ns", Name: "a-1"}); !exists || count != 2 {
		t.Errorf("pod a-1 exists: %t; %d pods of the set, want 2", exists, count)
	}
	if n, known := i.Node("n"); n == nil || !known {
		t.Errorf("node n: %v, known %t", n, known)
	}
	if n, known := i.Node("other"); n != nil || !known {
		t.Errorf("node other: %v, known %t", n, known)
	}
	if !i.HasSynced() {
		t.Error("not synced after WaitForSync")
	}
}

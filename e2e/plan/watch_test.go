package plan

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/e2e/harness"
	"lws-controller/topology"
)

// seen is what happened to the pods of a set, as a watch shows it.
type seen struct {
	set *harness.Set

	mu   sync.Mutex
	pods map[string]*corev1.Pod
	// gone are the incarnations of groups of which a pod was deleted.
	gone map[string]bool
	// down are the groups in the order in which the first pod of an incarnation was
	// deleted; up are those that got a leader.
	down, up []int32
	// lowest is the least number of Ready groups.
	lowest int
	story  []string
	ended  error
}

// watchPods begins to look at the pods of a set.
func watchPods(t *testing.T, set *harness.Set) *seen {
	t.Helper()
	pods := env.Kube.CoreV1().Pods(set.Namespace)
	options := metav1.ListOptions{LabelSelector: lwsv1.LabelName + "=" + set.Name}
	list, err := pods.List(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{set: set, pods: map[string]*corev1.Pod{}, gone: map[string]bool{}}
	for i := range list.Items {
		s.pods[list.Items[i].Name] = &list.Items[i]
	}
	s.lowest = s.ready()
	options.ResourceVersion = list.ResourceVersion
	w, err := pods.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			s.take(e)
		}
	}()
	t.Cleanup(func() {
		w.Stop()
		<-done
	})
	return s
}

func (s *seen) take(e watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := e.Object.(*corev1.Pod)
	if !ok {
		s.ended = fmt.Errorf("the watch ended: %v", e.Object)
		return
	}
	index, worker, _ := topology.ParsePodName(s.set.Name, p.Name)
	before := s.pods[p.Name]
	body := fmt.Sprintf("%d#%s", index, p.Annotations[lwsv1.AnnotationIncarnation])
	if (e.Type == watch.Deleted || p.DeletionTimestamp != nil) && !s.gone[body] {
		s.gone[body] = true
		s.down = append(s.down, index)
		s.story = append(s.story, fmt.Sprintf("group %d goes", index))
	}
	if before == nil && worker == 0 {
		s.up = append(s.up, index)
		s.story = append(s.story, fmt.Sprintf("group %d comes", index))
	}
	s.pods[p.Name] = p
	if e.Type == watch.Deleted {
		delete(s.pods, p.Name)
	}
	if n := s.ready(); n < s.lowest {
		s.lowest = n
		s.story = append(s.story, fmt.Sprintf("%d groups are Ready", n))
	}
}

// ready counts the groups of which every pod is Ready and stays.
func (s *seen) ready() int {
	states := map[int32]*group.State{}
	for _, p := range s.pods {
		index, worker, ok := topology.ParsePodName(s.set.Name, p.Name)
		if !ok {
			continue
		}
		if states[index] == nil {
			states[index] = group.NewState(index)
		}
		states[index].Fold(group.Observed(group.ObservePod(p, worker)), p.CreationTimestamp.Time)
	}
	n := 0
	for _, state := range states {
		if view := state.View(s.set.UID, nil); view.AllReady {
			n++
		}
	}
	return n
}

// sofar is what was seen until now.
func (s *seen) sofar() (down, up []int32, lowest int, story []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.down), slices.Clone(s.up), s.lowest, slices.Clone(s.story), s.ended
}

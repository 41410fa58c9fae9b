package drain

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// past is what became of the groups of a set, at every moment.
type past struct {
	// mostDown is the most groups that were down at one time after all had been Ready;
	// evicted the most of which an evicted pod had brought them down.
	mostDown, evicted int
	// disrupted is how often a group went down.
	disrupted int
}

// pastOf replays the states of the pods of a set in the order in which they were
// stored.
func pastOf(t *testing.T, set *harness.Set) past {
	t.Helper()
	history, err := env.Cluster.History(t.Context(), "/registry/pods/"+set.Namespace+"/")
	if err != nil {
		t.Fatal(err)
	}
	var out past
	pods := map[string]*corev1.Pod{}
	down, evicted, all := map[int]bool{}, map[int]bool{}, false
	for _, h := range history {
		delete(pods, h.Key)
		if h.Value != nil {
			o, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), h.Value)
			if err != nil {
				t.Fatalf("%s: %v", h.Key, err)
			}
			p := o.(*corev1.Pod)
			pods[h.Key] = p
			if index := indexOf(t, p); isEvicted(p) && !down[index] {
				evicted[index] = true
			}
		}
		ready := readyPods(t, pods)
		if !all {
			all = len(ready) == int(*set.Spec.Replicas)
			for _, n := range ready {
				all = all && n == size
			}
			continue
		}
		for index := range int(*set.Spec.Replicas) {
			is := ready[index] < size
			if is && !down[index] {
				out.disrupted++
			}
			down[index] = is
			evicted[index] = evicted[index] && is
		}
		out.mostDown, out.evicted = max(out.mostDown, count(down)), max(out.evicted, count(evicted))
	}
	if !all {
		t.Error("the groups were never all Ready")
	}
	return out
}

// readyPods are the pods of each group that are Ready and stay.
func readyPods(t *testing.T, pods map[string]*corev1.Pod) map[int]int {
	ready := map[int]int{}
	for _, p := range pods {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil && !isEvicted(p) {
				ready[indexOf(t, p)]++
			}
		}
	}
	return ready
}

func indexOf(t *testing.T, p *corev1.Pod) int {
	t.Helper()
	index, err := strconv.Atoi(p.Labels[lwsv1.LabelGroupIndex])
	if err != nil {
		t.Fatalf("pod %s: %v", p.Name, err)
	}
	return index
}

func isEvicted(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && strings.HasPrefix(c.Reason, "Eviction") {
			return true
		}
	}
	return false
}

func count(is map[int]bool) int {
	n := 0
	for _, yes := range is {
		if yes {
			n++
		}
	}
	return n
}

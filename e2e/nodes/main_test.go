package nodes

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: nodes, RaisedLimits: true}, &env))
}

// nodes is how many there are for all tests together.
const nodes = 32

// taken is how many nodes tests have taken.
var taken struct {
	sync.Mutex
	n int
}

// pool is some nodes that one test has for itself.
type pool struct {
	label string
	names []string
}

const poolLabel = "e2e/pool"

// takeNodes gives a test nodes of its own.
func takeNodes(t *testing.T, n int) *pool {
	t.Helper()
	taken.Lock()
	defer taken.Unlock()
	p := &pool{label: t.Name()}
	for range n {
		name := fmt.Sprintf("node-%d", taken.n)
		taken.n++
		env.LabelNode(t, name, poolLabel, p.label)
		p.names = append(p.names, name)
	}
	return p
}

// silence has a node say that it is not Ready, or that it is again.
func silence(t *testing.T, node string, is bool) {
	t.Helper()
	value := any("true")
	if !is {
		value = nil
	}
	env.LabelNode(t, node, cluster.LabelNodeNotReady, value)
}

func deleteNode(t *testing.T, node string) {
	t.Helper()
	if err := env.Kube.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// grace is how long pods have to end. They are evicted from a node soon after it fell
// silent.
const grace = 2

// in has the pods of a set run on the nodes of a pool.
func in(p *pool) harness.Option {
	return harness.Worker(func(template *corev1.PodTemplateSpec) {
		seconds, soon := int64(grace), int64(1)
		template.Spec.TerminationGracePeriodSeconds = &seconds
		template.Spec.NodeSelector = map[string]string{poolLabel: p.label}
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &soon})
		}
	})
}

// scene is ten groups of two pods on five nodes, of which one is to die.
type scene struct {
	set    *harness.Set
	dead   string
	before map[string]corev1.Pod
	// struck are the groups with pods on the node that is to die.
	struck map[string]bool
	began  time.Time
}

const (
	groups = 10
	hosts  = 5
)

func newScene(t *testing.T, options ...harness.Option) *scene {
	t.Helper()
	p := takeNodes(t, hosts)
	options = append([]harness.Option{harness.Replicas(groups), harness.Size(2), in(p)}, options...)
	s := &scene{before: map[string]corev1.Pod{}, struck: map[string]bool{}}
	s.set = env.WaitAvailable(t, env.Create(t, harness.NewSet(env.Namespace(t), "web", options...)))
	s.dead = p.names[0]
	for _, pod := range env.Pods(t, s.set) {
		s.before[pod.Name] = pod
		if pod.Spec.NodeName == s.dead {
			s.struck[pod.Labels[lwsv1.LabelGroupIndex]] = true
		}
	}
	if n := len(s.struck); n == 0 || n == groups {
		t.Fatalf("%d of %d groups are on node %s", n, groups, s.dead)
	}
	return s
}

// dies has the kubelet of the node end nothing any more, and begins the count.
func (s *scene) dies(t *testing.T) {
	t.Helper()
	hang := ""
	for name, pod := range s.before {
		if pod.Spec.NodeName == s.dead {
			env.Annotate(t, pod.Namespace, name, cluster.AnnotationHang, &hang)
		}
	}
	s.began = time.Now()
}

// recovers waits until all groups are Ready again, and says how long that took from
// what was done last, and what stayed untouched.
func (s *scene) recovers(t *testing.T, what string, since time.Time) {
	t.Helper()
	harness.WaitFor(t, "all groups to be new or untouched, and Ready", harness.DefaultTimeout, func() (bool, string) {
		set := env.Get(t, s.set)
		for _, pod := range env.Pods(t, s.set) {
			if pod.Spec.NodeName == s.dead || s.struck[pod.Labels[lwsv1.LabelGroupIndex]] && pod.UID == s.before[pod.Name].UID {
				return false, env.Describe(t, set)
			}
		}
		return set.Status.ReadyReplicas == groups, env.Describe(t, set)
	})
	took := time.Since(since)
	env.WaitAvailable(t, s.set)
	untouched := 0
	for _, pod := range env.Pods(t, s.set) {
		same := pod.UID == s.before[pod.Name].UID
		if !same && !s.struck[pod.Labels[lwsv1.LabelGroupIndex]] {
			t.Errorf("pod %s was touched, whose group had nothing on node %s", pod.Name, s.dead)
		}
		if same {
			untouched++
		}
	}
	t.Logf("%s: all %d groups Ready again %.1f s after that, %.1f s after the death of the node; %d groups recreated, %d pods of %d untouched",
		what, groups, took.Seconds(), time.Since(s.began).Seconds(), len(s.struck), untouched, len(s.before))
}

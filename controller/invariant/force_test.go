package invariant

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// TestForcedDeletion: what is outside the conditions of CONTRACT section 6 breaks S1, and
// what is within breaks nothing, S15 included.
func TestForcedDeletion(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taints ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		for _, key := range taints {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key})
		}
		return n
	}
	silent, off := node(corev1.ConditionUnknown), node(corev1.ConditionFalse, corev1.TaintNodeOutOfService)
	held := func(p *corev1.Pod) { p.Finalizers = []string{"example.com/theirs"} }
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	for name, tc := range map[string]struct {
		looked map[string]*corev1.Node
		late   time.Duration // past its deadline
		after  string        // force-delete-after
		pod    []func(*corev1.Pod)
		breaks bool
	}{
		"gone":                      {looked: map[string]*corev1.Node{"n": nil}},
		"gone, in its grace":        {looked: map[string]*corev1.Node{"n": nil}, late: -time.Second, breaks: true},
		"not looked at":             {late: time.Hour, after: "30s", breaks: true},
		"another was looked at":     {looked: map[string]*corev1.Node{"m": nil}, late: time.Hour, breaks: true},
		"held":                      {looked: map[string]*corev1.Node{"n": nil}, pod: []func(*corev1.Pod){held}, breaks: true},
		"never bound":               {pod: []func(*corev1.Pod){unbound}},
		"out of service":            {looked: map[string]*corev1.Node{"n": off}},
		"out of service, but Ready": {looked: map[string]*corev1.Node{"n": node(corev1.ConditionTrue, corev1.TaintNodeOutOfService)}, late: time.Hour, breaks: true},
		"silent":                    {looked: map[string]*corev1.Node{"n": silent}, late: time.Hour, breaks: true},
		"silent, given up":          {looked: map[string]*corev1.Node{"n": silent}, late: time.Minute, after: "60s"},
		"silent, too early":         {looked: map[string]*corev1.Node{"n": silent}, late: 59 * time.Second, after: "60s", breaks: true},
		"silent, for too short":     {looked: map[string]*corev1.Node{"n": silent}, late: time.Minute, after: "29s", breaks: true},
		"Ready":                     {looked: map[string]*corev1.Node{"n": node(corev1.ConditionTrue)}, late: time.Hour, after: "30s", breaks: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin()
			p := s.pod("a-0", 1, "r", going, func(p *corev1.Pod) { p.Spec.NodeName = "n" })
			for _, change := range tc.pod {
				change(p)
			}
			p.DeletionTimestamp = &metav1.Time{Time: now.Add(-tc.late)}
			s.set.Annotations = map[string]string{v1.AnnotationForceDeleteAfter: tc.after}
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Force: true, Before: p,
				Seen: &Seen{Set: s.set, Pods: s.version, Nodes: tc.looked}})
			if broken := len(s.broken) > 0; broken != tc.breaks || broken && s.broken[0] != "S1" {
				t.Errorf("broken: %v, want S1 broken: %t; %v", s.broken, tc.breaks, s.Violations())
			}
		})
	}
	s := begin()
	s.change(&Change{By: Controller, Verb: Delete, UID: true, Force: true, Before: s.pod("a-0", 1, "r"), Seen: &Seen{Set: s.set, Nodes: map[string]*corev1.Node{"": nil}}})
	if len(s.broken) == 0 || s.broken[0] != "S1" {
		t.Errorf("a pod that was not being deleted: broken %v", s.broken)
	}
}

package audit

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var thePod = object{pods, types.NamespacedName{Namespace: "ns", Name: "p"}}

// podAt is a state of a pod, from how it was before to how it is now.
func podAt(version int64, before, after *corev1.Pod) *state {
	s := &state{object: thePod, version: version}
	if before != nil {
		s.before = before
	}
	if after != nil {
		after.ResourceVersion = strconv.FormatInt(version, 10)
		s.after = after
	}
	return s
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "4"}}
	for _, c := range change {
		c(p)
	}
	return p
}

func bound(p *corev1.Pod) { p.Spec.NodeName = "node" }

func going(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func managedBy(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: name}} }
}

// asked is a request about the pod at a second, accepted unless changed.
func asked(second int64, verb, subresource, version string, change ...func(*request)) *request {
	r := &request{object: thePod, verb: verb, subresource: subresource, version: version, uid: "u", code: 200,
		received: time.Unix(second, 0), answered: time.Unix(second, 1)}
	if verb == "create" {
		r.code = 201
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func TestAuthors(t *testing.T) {
	client := func(agent string) func(*request) { return func(r *request) { r.agent = agent } }
	code := func(n int32) func(*request) { return func(r *request) { r.code = n } }
	collection := func(r *request) { r.Name, r.uid, r.version = "", "", "" }
	other := func(r *request) { r.uid = "other" }
	forced := func(r *request) { r.force = true }
	within := func(seconds int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = &seconds }
	}
	marked := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	}
	nameless := func(r *request) { r.uid = "" }
	made := func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(5, 0) }
	for _, tc := range []struct {
		name  string
		state *state
		log   []*request
		want  int // index, -1: nobody
	}{
		{"creation, and a patch after it that changed nothing", podAt(5, nil, pod()),
			[]*request{asked(1, "patch", "", "5"), asked(2, "create", "", "5")}, 1},
		{"first of two patches with one answer", podAt(5, pod(), pod(bound)),
			[]*request{asked(2, "patch", "", "5"), asked(1, "patch", "status", "5")}, 1},
		{"what the object says of its manager goes first", podAt(5, pod(), pod(managedBy("kwok"))),
			[]*request{asked(1, "patch", "", "5", client("lws-controller/v1")), asked(2, "patch", "status", "5", client("kwok/v0.8"))}, 1},
		{"binding", podAt(5, pod(), pod(bound)), []*request{asked(1, "create", "eviction", "", other), asked(2, "create", "binding", "")}, 1},
		{"an eviction marks the pod, which no binding does", podAt(5, pod(bound), pod(bound, marked)),
			[]*request{asked(1, "create", "binding", ""), asked(2, "create", "eviction", "")}, 1},
		{"an eviction that was refused once it had marked the pod", podAt(5, pod(bound), pod(bound, marked)),
			[]*request{asked(1, "patch", "status", "", code(409)), asked(2, "create", "eviction", "", code(404))}, 1},
		{"evictions of this pod and of one that had its name before", podAt(5, pod(bound), pod(bound, going)),
			[]*request{asked(1, "create", "eviction", "", nameless), asked(3, "create", "eviction", "", nameless), asked(2, "create", "eviction", "", nameless)}, 1},
		{"a deletion by force after an eviction", podAt(5, pod(bound, going, within(30)), pod(bound, going, within(0))),
			[]*request{asked(1, "create", "eviction", "", nameless), asked(2, "delete", "", "", forced)}, 1},
		{"a binding soon after an eviction of the pod before", podAt(5, pod(), pod(bound)),
			[]*request{asked(1, "create", "eviction", "", nameless), asked(2, "create", "binding", "")}, 1},
		{"what was answered before the pod was made", podAt(5, pod(bound, made), pod(bound, made, going)),
			[]*request{asked(1, "create", "eviction", "", nameless), asked(9, "delete", "", "")}, 1},
		{"deletion that leaves the pod terminating, and a second one", podAt(5, pod(), pod(going)),
			[]*request{asked(2, "delete", "", "5"), asked(1, "delete", "", "5"), asked(0, "patch", "", "5")}, 1},
		{"gone", podAt(5, pod(going), nil), []*request{asked(1, "delete", "", "5")}, 0},
		{"gone, the answer being a Status", podAt(5, pod(going), nil), []*request{asked(1, "delete", "", "", other), asked(2, "delete", "", "")}, 1},
		{"gone with its last finalizer", podAt(5, pod(going), nil),
			[]*request{asked(1, "patch", "", "4"), asked(3, "patch", "", "4"), asked(4, "patch", "status", "4")}, 1},
		{"gone with others", podAt(5, pod(), nil), []*request{asked(1, "deletecollection", "", "", collection)}, 0},
		{"created, but the answer never came", podAt(5, nil, pod()), []*request{asked(1, "create", "", "", code(504)), asked(1, "create", "", "", code(409))}, 0},
		{"refused", podAt(5, nil, pod()), []*request{asked(1, "create", "", "", code(409))}, -1},
		{"about another pod of that name", podAt(5, pod(), pod(going)), []*request{asked(1, "delete", "", "", other)}, -1},
		{"of another version", podAt(5, pod(), pod(bound)), []*request{asked(1, "patch", "", "6")}, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want *request
			if tc.want >= 0 {
				want = tc.log[tc.want]
			}
			l := newLog(tc.log)
			got := l.answered(tc.state)
			if got == nil {
				got = l.silently(tc.state, nil, time.Time{})
			}
			if got != want {
				t.Errorf("author %v, want %v", got, want)
			}
		})
	}
}

// TestDeletionAtOnce makes two writes, and another deletion may be faster with the
// second.
func TestDeletionAtOnce(t *testing.T) {
	l := newLog([]*request{asked(1, "delete", "", ""), asked(2, "delete", "", "6")})
	first, second := podAt(5, pod(), pod(going)), podAt(6, pod(going), nil)
	next := l.answered(second)
	if next == nil || next.version != "6" {
		t.Fatalf("the second write is by %v", next)
	}
	if got := l.silently(first, next, time.Unix(3, 0)); got != l.silent[thePod][0] {
		t.Errorf("the first write is by %v", got)
	}
	forced := asked(1, "delete", "", "", func(r *request) { r.force = true })
	if got := newLog([]*request{forced}).silently(podAt(5, pod(), pod(going, func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = new(int64(30)) })), nil, time.Time{}); got != nil {
		t.Errorf("a grace period of 30 s is by %v, which asked for 0", got)
	}
	l = newLog([]*request{asked(1, "patch", "", ""), next})
	if got := l.silently(first, next, time.Unix(3, 0)); got != next {
		t.Errorf("both writes are one request's, and the first is by %v", got)
	}
	if got := l.silently(first, nil, time.Unix(1, 0)); got != nil {
		t.Errorf("by %v, which came after it was over", got)
	}
}

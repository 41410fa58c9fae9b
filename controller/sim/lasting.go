package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
	"lws-controller/informers"
	"lws-controller/topology"
)

// ailment is a fault that never heals by itself, of all pods of one name, or of a
// Service.
type ailment struct {
	kind string
	pod  string
}

// The ailments.
const (
	neverReady    = "is never Ready"
	crashLoop     = "restarts for ever"
	unschedulable = "cannot be scheduled"
	neverGone     = "never goes once it is deleted"
	refusedByRule = "is refused with 403"
	refusedByBug  = "is refused with 500"
	nameKept      = "has its name kept by something foreign"
	serviceKept   = "has its Service's name kept by something foreign"
)

var ailments = []string{neverReady, crashLoop, unschedulable, neverGone, refusedByRule, refusedByBug, nameKept, serviceKept}

// complains says that the controller can tell, and must say so in the status.
func (a ailment) complains() bool {
	switch a.kind {
	case refusedByRule, refusedByBug, nameKept, serviceKept:
		return true
	}
	return false
}

// ail is what scheduler and kubelet do to a pod that is ill; nil: nothing. It is
// false for one that is well.
func (w *World) ail(p *corev1.Pod) (act func(), ill bool) {
	for _, a := range w.ill {
		if a.pod != p.Name {
			continue
		}
		running := p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
		switch {
		case a.kind == neverReady && running, a.kind == unschedulable && p.Spec.NodeName == "", a.kind == neverGone && p.DeletionTimestamp != nil:
			return nil, true
		case a.kind == crashLoop && running && restartsOf(p.Status.ContainerStatuses) > 0:
			return nil, true
		case a.kind == crashLoop && running:
			return func() { w.suffer("restart", p) }, true
		}
	}
	return nil, false
}

// suffer has a trouble of this name come upon a pod.
func (w *World) suffer(what string, p *corev1.Pod) {
	for _, t := range troubles {
		if t.name == what {
			t.do(w, p)
		}
	}
}

// refuses is the fault of a request for something that is ill.
func (w *World) refuses(c *call) Fault {
	for _, a := range w.ill {
		switch {
		case c.what != createPod || c.name != a.pod:
		case a.kind == refusedByRule:
			return forbidden
		case a.kind == refusedByBug:
			return internalError
		}
	}
	return noFault
}

// fallIll begins an ailment, so that it makes itself felt.
func (w *World) fallIll(s *v1.LeaderWorkerSet, a ailment) {
	w.note("from now on pod %s %s", a.pod, a.kind)
	w.covered["for ever: "+a.kind]++
	w.ill = append(w.ill, a)
	key := types.NamespacedName{Namespace: s.Namespace, Name: a.pod}
	switch a.kind {
	case neverReady:
		if p := w.server.pods.items[key]; p != nil {
			w.setReady(p, false)
		}
	case nameKept, serviceKept:
		w.squat(s, a)
	default:
		w.DeletePod(a.pod)
	}
}

// squat has something foreign take the name of a pod, or of a Service.
func (w *World) squat(s *v1.LeaderWorkerSet, a ailment) {
	meta := metav1.ObjectMeta{Namespace: s.Namespace, Name: a.pod}
	if a.kind == serviceKept {
		meta.Name = w.server.pods.items[keyOf(&meta)].Spec.Subdomain
		_ = remove(w.server, w.server.services, keyOf(&meta), request{by: invariant.User})
		_, _ = create(w.server, w.server.services, &corev1.Service{ObjectMeta: meta}, request{by: invariant.User})
		return
	}
	_ = remove(w.server, w.server.pods, keyOf(&meta), request{by: invariant.User, force: true})
	_, _ = create(w.server, w.server.pods, &corev1.Pod{ObjectMeta: meta,
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}, request{by: invariant.User})
}

// heal ends all ailments.
func (w *World) heal() {
	w.note("all ailments end")
	w.ill = nil
	for _, p := range w.server.pods.list() {
		if controllerOf(p) == "" {
			_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.User, uid: p.UID, force: true})
		}
	}
	for _, s := range w.server.services.list() {
		if controllerOf(s) == "" {
			_ = remove(w.server, w.server.services, keyOf(s), request{by: invariant.User, uid: s.UID})
		}
	}
}

// illGroups are the groups that an ailment keeps from being Ready, or from being
// made anew, which comes to the same in the end.
func (w *World) illGroups(s *v1.LeaderWorkerSet) map[int32]bool {
	ill := map[int32]bool{}
	for _, a := range w.ill {
		index, _, _ := topology.ParsePodName(s.Name, a.pod)
		ill[index] = true
		for i := int32(0); a.kind == serviceKept && *s.Spec.NetworkConfig.SubdomainPolicy == v1.SubdomainShared && i < *s.Spec.Replicas; i++ {
			ill[i] = true
		}
	}
	return ill
}

const (
	// illTime is how long the rest has to converge around what is ill.
	illTime = 2 * time.Hour
	// maxRequests is how many requests are too many even for that time.
	maxRequests = 20000
	// triesPerHour is how often a thing is tried in an hour, that is refused: the
	// backoff ends at one minute.
	triesPerHour = 60
	// recreationsPerHour is how often a group is recreated in an hour, that fails
	// for ever: the backoff ends at five minutes.
	recreationsPerHour = 12
)

// live lets everything happen for a while, with what is ill, and counts the
// controller's requests.
func (w *World) live(d time.Duration) (requests int) {
	begin := w.clock.Now()
	w.meanwhile = func(*Process) {}
	w.fault = func(c *call) Fault {
		if requests++; requests == maxRequests {
			w.breach(invariant.Violation{Invariant: "S16", Message: fmt.Sprintf("%d requests within %s, with %v", requests, w.clock.Since(begin), w.ill)})
		}
		return w.refuses(c)
	}
	w.pass(d)
	return requests
}

// sicken begins with a set at rest. Some of its pods fall ill for ever, and the
// user may want an update all the same. The rest must converge (L2), and the
// controller must not wear itself out (S16). Then all heal.
func (w *World) sicken() {
	s := w.server.sets.items[theKey]
	if s == nil || s.DeletionTimestamp != nil || *s.Spec.Replicas == 0 || w.options.second != "" || len(w.broken) > 0 || !w.allReady() {
		return
	}
	for range 1 + w.rng.IntN(2) {
		pod := topology.PodName(s.Name, w.rng.Int32N(*s.Spec.Replicas), w.rng.Int32N(*s.Spec.LeaderWorkerTemplate.Size))
		index, _, _ := topology.ParsePodName(s.Name, pod)
		if key := (types.NamespacedName{Namespace: s.Namespace, Name: pod}); w.server.pods.items[key] != nil && !w.illGroups(s)[index] {
			w.fallIll(s, ailment{ailments[w.rng.IntN(len(ailments))], pod})
		}
	}
	if w.rng.IntN(2) == 0 {
		w.at = theKey
		surge := w.rng.Int32N(3)
		w.Edit("an update in spite of that", func(s *v1.LeaderWorkerSet) {
			image("v4")(s)
			budget(max(1-surge, w.rng.Int32N(4)), surge, 0)(s)
		})
	}
	w.live(illTime)
	s = w.server.sets.items[theKey]
	complains := false
	for _, a := range w.ill {
		index, _, _ := topology.ParsePodName(s.Name, a.pod)
		leader := w.server.pods.items[types.NamespacedName{Namespace: s.Namespace, Name: topology.LeaderName(s.Name, index)}]
		missing := w.server.pods.items[types.NamespacedName{Namespace: s.Namespace, Name: a.pod}] == nil
		// While the leader goes, or is not Ready and has to be, the group's pods are
		// not tried.
		tried := leader == nil || leader.DeletionTimestamp == nil && (ready(leader) || s.Spec.StartupPolicy == v1.LeaderCreatedStartupPolicy)
		complains = complains || a.complains() && missing && tried || a.kind == neverGone && w.overdue(s.Namespace, a.pod)
	}
	for _, v := range w.checker.Share(theKey, w.illGroups(s), complains) {
		w.breach(v)
	}
	w.mayNotLoop(s)
	w.heal()
	if w.settle() {
		w.atRest()
	}
}

// mayNotLoop checks that an hour with what is ill costs what its backoffs allow.
func (w *World) mayNotLoop(s *v1.LeaderWorkerSet) {
	if len(w.broken) > 0 {
		return
	}
	size, writes := w.largest(s), w.writes
	requests := w.live(time.Hour)
	writes = w.writes - writes
	n := max(len(w.illGroups(s)), len(w.ill))
	mayRequest, mayWrite := n*triesPerHour*(size+4), 0
	perRecreation := 2*size + 6
	if len(w.server.podGroups.log)+len(w.server.volcano.log) > 0 {
		mayRequest += n * triesPerHour * 2 // its PodGroup is looked at before each try
		perRecreation += 6                 // it gets another, and loses the old one
	}
	if len(w.server.budgets.items) > 0 {
		perRecreation += 2 // the group leaves the budget, and comes back to it
	}
	for _, a := range w.ill {
		if a.kind == crashLoop {
			mayWrite += recreationsPerHour * perRecreation
		}
	}
	if requests > mayRequest+mayWrite || writes > mayWrite {
		w.breach(invariant.Violation{Invariant: "S16", Message: fmt.Sprintf("%d requests and %d writes within an hour, where %d and %d may be, with %v",
			requests, writes, mayRequest+mayWrite, mayWrite, w.ill)})
	}
}

// overdue says that a pod should have ended a minute ago.
func (w *World) overdue(namespace, name string) bool {
	p := w.server.pods.items[types.NamespacedName{Namespace: namespace, Name: name}]
	return p != nil && p.DeletionTimestamp != nil && w.clock.Since(p.DeletionTimestamp.Time) > time.Minute
}

// largest is how many pods the largest group has, or would have: what fails may be kept
// at a revision of another size.
func (w *World) largest(s *v1.LeaderWorkerSet) int {
	most := int(*s.Spec.LeaderWorkerTemplate.Size)
	for _, p := range w.server.pods.items {
		if _, _, worker, ok := informers.Place(p); ok {
			most = max(most, int(worker)+1)
		}
	}
	return most
}

// allReady says that every pod is.
func (w *World) allReady() bool {
	for _, p := range w.server.pods.list() {
		if !ready(p) || p.DeletionTimestamp != nil {
			return false
		}
	}
	return true
}

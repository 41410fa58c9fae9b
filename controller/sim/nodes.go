package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lws-controller/controller/invariant"
)

// badImage is one that no node can pull.
const badImage = "bad"

// step is what a scheduler or a kubelet does next to a pod, nil for nothing.
func (w *World) step(p *corev1.Pod) func() {
	if act, ill := w.ail(p); ill {
		return act
	}
	bad := len(p.Spec.Containers) > 0 && p.Spec.Containers[0].Image == badImage
	n := w.nodes[p.Spec.NodeName]
	switch {
	case p.DeletionTimestamp != nil && graceOver(p):
		return nil // held by finalizers
	case p.Spec.NodeName == "":
		return w.schedule(p)
	case n == nil && w.clock.Since(w.nodesGone[p.Spec.NodeName]) < quarantine:
		return nil
	case n == nil:
		return w.collectPod(p)
	case n.isLost():
		return w.giveUp(n, p)
	case p.DeletionTimestamp != nil:
		return w.terminate(p)
	case finished(p):
		return nil
	case p.Status.Phase == corev1.PodPending && bad && len(p.Status.ContainerStatuses) == 0:
		return func() {
			w.podStatus(p, func(s *corev1.PodStatus) {
				s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
			})
		}
	case p.Status.Phase == corev1.PodPending && !bad:
		return func() {
			w.podStatus(p, func(s *corev1.PodStatus) {
				s.Phase = corev1.PodRunning
				s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			})
		}
	case p.Status.Phase == corev1.PodRunning && !ready(p):
		return func() { w.setReady(p, true) }
	}
	return nil
}

// nodesAct has a scheduler or a kubelet do one thing, if there is one to do.
func (w *World) nodesAct() bool {
	if w.nodeControllerActs() {
		return true
	}
	pods := w.server.pods.list()
	w.shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for _, p := range pods {
		if act := w.step(p); act != nil {
			act()
			return true
		}
	}
	return false
}

// troubles are what goes wrong with a pod that runs.
var troubles = []struct {
	name string
	do   func(w *World, p *corev1.Pod)
}{
	{"restart", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.ContainerStatuses = slices.Clone(s.ContainerStatuses)
			s.ContainerStatuses[0].RestartCount++
			s.ContainerStatuses[0].LastTerminationState = w.death(1, "Error")
			w.condition(s, corev1.PodReady, false)
		})
	}},
	{"restart init container", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1 + restartsOf(s.InitContainerStatuses),
				LastTerminationState: w.death(2, "Error")}}
			w.condition(s, corev1.PodReady, false)
		})
	}},
	{"crash loop", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 3 + restartsOf(s.ContainerStatuses),
				LastTerminationState: w.death(137, "OOMKilled")}}
			w.condition(s, corev1.PodReady, false)
		})
	}},
	{"succeed", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodSucceeded
			w.condition(s, corev1.PodReady, false)
		})
	}},
	{"fail", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.Phase, s.Reason, s.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory"
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: restartsOf(s.ContainerStatuses), State: w.death(137, "Error")}}
			w.condition(s, corev1.PodReady, false)
		})
	}},
	{"restart ephemeral container", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) {
			s.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", RestartCount: 1 + restartsOf(s.EphemeralContainerStatuses),
				LastTerminationState: w.death(1, "Error")}}
		})
	}},
	{"unready", func(w *World, p *corev1.Pod) { w.setReady(p, false) }},
	{"vanish", func(w *World, p *corev1.Pod) {
		_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.User, uid: p.UID, force: true})
	}},
	{"evict", func(w *World, p *corev1.Pod) {
		w.podStatus(p, func(s *corev1.PodStatus) { w.condition(s, corev1.DisruptionTarget, true) })
		_ = remove(w.server, w.server.pods, keyOf(p), request{by: invariant.User, uid: p.UID})
	}},
}

// death is how a container has just ended.
func (w *World) death(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: w.server.now()}}
}

// troubleActs has something go wrong with a pod that runs.
func (w *World) troubleActs() bool {
	var running []*corev1.Pod
	for _, p := range w.server.pods.list() {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) > 0 {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return false
	}
	p, trouble := running[w.rng.IntN(len(running))], troubles[w.rng.IntN(len(troubles))]
	w.note("trouble: %s of %s", trouble.name, p.Name)
	w.covered["trouble "+trouble.name]++
	trouble.do(w, p)
	return true
}

func (w *World) setReady(p *corev1.Pod, is bool) {
	w.podStatus(p, func(s *corev1.PodStatus) { w.condition(s, corev1.PodReady, is) })
}

func (w *World) podStatus(p *corev1.Pod, f func(*corev1.PodStatus)) {
	w.podUpdate(p, invariant.Kubelet, func(p *corev1.Pod) { f(&p.Status) })
}

func (w *World) podUpdate(p *corev1.Pod, by invariant.Actor, f func(*corev1.Pod)) {
	_, _ = update(w.server, w.server.pods, keyOf(p), request{by: by, uid: p.UID}, func(p *corev1.Pod) error { f(p); return nil })
}

// condition sets a condition of a pod. The list is never changed in place.
func (w *World) condition(s *corev1.PodStatus, kind corev1.PodConditionType, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, w.server.now()
			}
			return
		}
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: w.server.now()})
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

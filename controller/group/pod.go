package group

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// Pod is what the core knows of a pod.
type Pod struct {
	Name    string    `json:"name"`
	Worker  int32     `json:"worker"` // 0 for the leader
	UID     types.UID `json:"uid"`
	Version string    `json:"version"` // resourceVersion

	// Controller is the UID of the controlling owner, empty for an orphan.
	Controller types.UID `json:"controller,omitempty"`
	// OfNamesake: the controller is a set of the name that the pod is labelled
	// with. If it is not the present one, it is gone and its pods will follow.
	OfNamesake bool `json:"ofNamesake,omitempty"`
	// Revision, Incarnation and Size are those the pod was built with.
	Revision    string `json:"revision,omitempty"`
	Incarnation int64  `json:"incarnation,omitempty"`
	Size        int32  `json:"size,omitempty"`

	Node string `json:"node,omitempty"`
	// Gang is the PodGroup that the pod is scheduled by, with v1.VolcanoGang before its
	// name if it is Volcano's. One that the template names is not the controller's.
	Gang string `json:"gang,omitempty"`
	// DomainKeys are, on leaders, the node labels that the workers' nodes must share.
	DomainKeys []string `json:"domainKeys,omitempty"`
	// Avoids are, on leaders, the domains that they keep away from.
	Avoids      []string        `json:"avoids,omitempty"`
	Phase       corev1.PodPhase `json:"phase,omitempty"`
	Ready       bool            `json:"ready,omitempty"`
	Terminating bool            `json:"terminating,omitempty"`
	// Disrupted: a drain, a preemption or a taint condemned the pod; Disruption is the
	// reason on its condition.
	Disrupted  bool   `json:"disrupted,omitempty"`
	Disruption string `json:"disruption,omitempty"`
	// ReadyChanged is when Ready last changed.
	ReadyChanged time.Time `json:"readyChanged,omitzero"`
	// Restarts is the sum of the restart counts of containers, init containers and
	// sidecars. Ephemeral containers never count.
	Restarts int64 `json:"restarts,omitempty"`
	// Died is the container that ended first, as far as the statuses tell: one that
	// was restarted, or one of a pod that has failed. Nil: none.
	Died *Death `json:"died,omitempty"`
	// Why is what the kubelet, or who ended the pod, says of one that has failed:
	// Evicted, ...
	Why string `json:"why,omitempty"`
	// Started: every regular container has run.
	Started bool `json:"started,omitempty"`
	// Stuck is why a container waits that will not start by itself soon.
	Stuck string `json:"stuck,omitempty"`
	// Unscheduled is why the scheduler finds no node, in its words, UnscheduledSince from
	// when on it has not.
	Unscheduled      string    `json:"unscheduled,omitempty"`
	UnscheduledSince time.Time `json:"unscheduledSince,omitzero"`
	// Trouble is why the pod is not Ready, as its containers tell.
	Trouble string `json:"trouble,omitempty"`
	// GroupReady is the condition that leaders carry once their group has been
	// Ready; nil before.
	GroupReady *GroupReady `json:"groupReady,omitempty"`
	// RestartsSeen is, on leaders, how many restarts the group had when all its
	// containers had started; nil: not known to have started.
	RestartsSeen *int64 `json:"restartsSeen,omitempty"`

	// Created is when the pod was created, Deleted when its deletion was asked
	// for, Deadline when it should then have ended.
	Created  time.Time `json:"created,omitzero"`
	Deleted  time.Time `json:"deleted,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Finalizers are those of a pod that is being deleted: none can be added then.
	Finalizers []string `json:"finalizers,omitempty"`
	// RecycledAt is the time of the request that the pod was made after.
	RecycledAt time.Time `json:"recycledAt,omitzero"`
}

// GroupReady is the leader's condition of that name. Its presence says that the
// group has been Ready in this incarnation, its status whether it is now.
type GroupReady struct {
	True  bool      `json:"true"`
	Since time.Time `json:"since"`
}

// stuckReasons are those of waiting containers that need somebody's help.
var stuckReasons = []string{"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "InvalidImageName"}

// ObservePod reads off a pod what the core needs. The worker index is given by
// the caller, who reads it from the pod's name.
func ObservePod(p *corev1.Pod, worker int32) Pod {
	out := Pod{
		Name:        p.Name,
		Worker:      worker,
		UID:         p.UID,
		Version:     p.ResourceVersion,
		Revision:    p.Labels[v1.LabelRevision],
		Node:        p.Spec.NodeName,
		Phase:       p.Status.Phase,
		Terminating: p.DeletionTimestamp != nil,
		Created:     p.CreationTimestamp.Time,
	}
	if p.DeletionTimestamp != nil {
		out.Deleted, out.Deadline = p.DeletionTimestamp.Add(-graceOf(p)), p.DeletionTimestamp.Time
		out.Finalizers = p.Finalizers
	}
	if worker == 0 {
		out.DomainKeys = v1.DomainKeys(p.Annotations)
		if avoids := p.Annotations[v1.AnnotationAvoids]; avoids != "" {
			out.Avoids = strings.Split(avoids, ",")
		}
	}
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		out.Gang = *g.PodGroupName
	} else if name := p.Annotations[v1.AnnotationVolcanoGroup]; name != "" &&
		name == p.Labels[v1.LabelName]+"-"+p.Labels[v1.LabelGroupIndex]+"-"+p.Labels[v1.LabelRevision] {
		out.Gang = v1.VolcanoGang + name
	}
	out.RecycledAt, _ = time.Parse(time.RFC3339Nano, p.Annotations[v1.AnnotationRecycledAt])
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		out.Controller = ref.UID
		out.OfNamesake = ref.Kind == v1.Kind && ref.Name == p.Labels[v1.LabelName]
	}
	// What no controller has written counts as absent: adopted pods have neither.
	if n, err := strconv.ParseInt(p.Annotations[v1.AnnotationIncarnation], 10, 64); err == nil && 0 <= n && n <= MaxIncarnation {
		out.Incarnation = n
	}
	size, _ := strconv.ParseInt(p.Annotations[v1.AnnotationSize], 10, 32)
	out.Size = int32(size)
	if n, err := strconv.ParseInt(p.Annotations[v1.AnnotationRestartsSeen], 10, 64); err == nil && n >= 0 {
		out.RestartsSeen = &n
	}
	out.readConditions(p)
	out.readDeaths(p)
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			if w := c.State.Waiting; w != nil && slices.Contains(stuckReasons, w.Reason) {
				out.Stuck = w.Reason
			}
			if out.Trouble == "" && !out.Ready {
				out.Trouble = containerTrouble(c)
			}
		}
	}
	return out
}

// graceOf is how long after the request for its deletion a pod must be gone: the
// API sets the deletion time to the end of that.
func graceOf(p *corev1.Pod) time.Duration {
	if p.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
}

// maxTrouble bounds what is kept of a message, in bytes.
const maxTrouble = 256

// containerTrouble says in words why a container is not ready, empty if it is.
func containerTrouble(c *corev1.ContainerStatus) string {
	trouble := ""
	switch {
	case c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
		return ""
	case c.State.Waiting != nil && (c.State.Waiting.Reason == "PodInitializing" || c.State.Waiting.Reason == "ContainerCreating"):
		return ""
	case c.State.Waiting != nil:
		trouble = c.State.Waiting.Reason
		if c.State.Waiting.Message != "" {
			trouble += ": " + c.State.Waiting.Message
		}
	case c.State.Terminated != nil:
		trouble = fmt.Sprintf("ended with exit code %d, %s", c.State.Terminated.ExitCode, cmp.Or(c.State.Terminated.Reason, "no reason given"))
	case c.State.Running != nil && c.Started != nil && !*c.Started:
		trouble = "runs, but its startup probe has not succeeded"
	case c.State.Running != nil:
		trouble = "runs, but its readiness probe fails"
	default:
		return ""
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		trouble = fmt.Sprintf("%s (last exit code %d, %s)", trouble, last.ExitCode, cmp.Or(last.Reason, "no reason given"))
	}
	return bounded(fmt.Sprintf("container %s: %s", c.Name, trouble))
}

// bounded cuts a message off that is too long to be kept.
func bounded(message string) string {
	if len(message) > maxTrouble {
		message = strings.ToValidUTF8(message[:maxTrouble-3], "") + "..."
	}
	return message
}

// readConditions sets readiness, disruption and GroupReady. A leader that lists
// GroupReady as a readiness gate is judged by ContainersReady: its Ready would
// wait for the group, and the group for it.
func (p *Pod) readConditions(pod *corev1.Pod) {
	readiness := corev1.PodReady
	if slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return g.ConditionType == v1.ConditionGroupReady
	}) {
		readiness = corev1.ContainersReady
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch c.Type {
		case readiness:
			p.Ready = c.Status == corev1.ConditionTrue && pod.Status.Phase == corev1.PodRunning
			p.ReadyChanged = c.LastTransitionTime.Time
		case corev1.PodScheduled:
			if c.Status == corev1.ConditionFalse {
				p.Unscheduled = c.Message
				if c.Reason == corev1.PodReasonUnschedulable && pod.Spec.NodeName == "" {
					p.UnscheduledSince = c.LastTransitionTime.Time
				}
			}
		case corev1.DisruptionTarget:
			if p.Disrupted = c.Status == corev1.ConditionTrue; p.Disrupted {
				p.Disruption = c.Reason
			}
		case v1.ConditionGroupReady:
			p.GroupReady = &GroupReady{True: c.Status == corev1.ConditionTrue, Since: c.LastTransitionTime.Time}
		}
	}
}

// MaxIncarnation is more than any group lives to see: what is above was written by
// somebody else.
const MaxIncarnation = 1 << 40

// finished says that the pod will never run again.
func (p *Pod) finished() bool {
	return p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded
}

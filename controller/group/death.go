package group

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Death is how a container ended.
type Death struct {
	Container string `json:"container"`
	// Known: the status tells how it ended. A kubelet that has restarted may have
	// forgotten.
	Known    bool      `json:"known,omitempty"`
	ExitCode int32     `json:"exitCode,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// how is the end in words, to be appended to a sentence: " (exit code 137, OOMKilled)".
func (d *Death) how() string {
	if !d.Known {
		return ""
	}
	return fmt.Sprintf(" (exit code %d, %s)", d.ExitCode, cmp.Or(d.Reason, "no reason given"))
}

// readDeaths reads off which containers have run, how often they were restarted,
// and which ended first. A status tells of one earlier end of a container: of one that
// has restarted often, the first may be lost.
func (p *Pod) readDeaths(pod *corev1.Pod) {
	failed := pod.Status.Phase == corev1.PodFailed
	if failed {
		p.Why = bounded(strings.TrimSuffix(strings.TrimPrefix(pod.Status.Reason+": "+pod.Status.Message, ": "), ": "))
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			p.Restarts += int64(max(c.RestartCount, 0))
			if c.RestartCount > 0 || failed && c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
				p.noteDeath(c)
			}
		}
	}
	// A kubelet that reports containers reports them all.
	p.Started = len(pod.Status.ContainerStatuses) > 0
	for i := range pod.Status.ContainerStatuses {
		p.Started = p.Started && hasRun(&pod.Status.ContainerStatuses[i])
	}
}

// noteDeath keeps the earliest end.
func (p *Pod) noteDeath(c *corev1.ContainerStatus) {
	d := Death{Container: c.Name}
	if t := cmp.Or(c.LastTerminationState.Terminated, c.State.Terminated); t != nil {
		d = Death{Container: c.Name, Known: true, ExitCode: t.ExitCode, Reason: t.Reason, At: t.FinishedAt.Time}
	}
	if p.Died == nil || d.Known && !p.Died.Known || earlier(d.At, p.Died.At) {
		p.Died = &d
	}
}

// earlier says that both times are known and a comes before b.
func earlier(a, b time.Time) bool { return !a.IsZero() && a.Before(b) }

// hasRun says that a container runs or has run.
func hasRun(c *corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil || c.RestartCount > 0
}

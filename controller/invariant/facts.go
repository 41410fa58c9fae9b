package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// facts is what the past tells of one group.
type facts struct {
	// leaders are the incarnations whose leader existed, readyLeaders those whose
	// leader has been Ready, ready those that have been Ready as a whole.
	leaders, readyLeaders, ready map[int64]bool
	// failures are the incarnations in which something failed; true where that
	// counts: a pod ended or restarted, and was not condemned by a disruption.
	failures map[int64]bool
	// free are those in which something happened that does not count, hard those in
	// which more did than that containers restarted.
	free, hard map[int64]bool
	// mixed are those in which pods got the label of another revision, or came from
	// elsewhere.
	mixed map[int64]bool
	// started are the incarnations of which every regular container of every pod has
	// run, with the sum of restarts then; leaderless those whose leader was gone while
	// others were not.
	started    map[int64]int64
	leaderless map[int64]bool
	// recreated are the incarnations that were torn down because of a failure.
	recreated map[int64]bool
	// made are the incarnations of which the controller created a pod.
	made map[int64]bool
	// recycledAt is the mark that the leader of an incarnation has.
	recycledAt map[int64]time.Time
	// requested are the incarnations that were torn down by request, by its time.
	requested map[time.Time]int64
	// revision is that of the newest pod, incarnation its own.
	revision    string
	incarnation int64
	// since is the resource version at which this life of the group began, last
	// the facts of the one before: a lagging cache may still show that.
	since int64
	last  *facts
}

func newFacts() *facts {
	return &facts{leaders: map[int64]bool{}, readyLeaders: map[int64]bool{}, ready: map[int64]bool{},
		failures: map[int64]bool{},
		free:     map[int64]bool{}, mixed: map[int64]bool{}, hard: map[int64]bool{}, started: map[int64]int64{}, leaderless: map[int64]bool{}, recreated: map[int64]bool{}, made: map[int64]bool{}, recycledAt: map[int64]time.Time{}, requested: map[time.Time]int64{}}
}

// group returns the facts of a group of the set with this UID.
func (c *Checker) group(set types.UID, index int32) *facts {
	key := groupKey{set, index}
	if c.groups[key] == nil {
		c.groups[key] = newFacts()
	}
	return c.groups[key]
}

// learn notes what a change tells of the past of its group.
func (c *Checker) learn(ch *Change) {
	pod, ok := ch.object().(*corev1.Pod)
	if !ok {
		return
	}
	at, ok := placeOf(pod)
	if !ok {
		c.learnReleased(ch)
		return
	}
	c.learnNewLife(ch, at)
	f, n := c.group(at.uid, at.group), incarnation(pod)
	if f.revision == "" || n > f.incarnation || ch.Verb == Create && n == f.incarnation {
		f.revision, f.incarnation = revisionOf(pod), n
	}
	if ch.By == Controller && ch.Verb == Create {
		f.made[n] = true
	}
	if at.worker == 0 && ch.After != nil {
		f.leaders[n] = true
		f.recycledAt[n] = recycledAt(pod)
		f.readyLeaders[n] = f.readyLeaders[n] || isReady(pod) || groupReady(pod) != nil
	}
	if ch.Before != nil && owner(ch.Before) == "" {
		// Adopted: what became of its mates while nobody looked is not known.
		f.fails(n, false)
		f.mixed[n] = true
	}
	mates := slices.DeleteFunc(ofGroup(c.podsNow(), at.uid, at.group), func(p *corev1.Pod) bool { return incarnation(p) != n })
	if whollyReady(mates) {
		f.ready[n] = true
	}
	f.learnStart(mates, n)
	f.learnFailure(ch, pod, n)
}

// learnNewLife forgets the past of a group whose leader is created when it has no
// pods and no teardown is on record: the group was deleted by others, or was not
// wanted for a while, and what comes now is a new group.
func (c *Checker) learnNewLife(ch *Change, at place) {
	set := c.sets[at.set]
	if ch.Verb != Create || at.worker != 0 || set == nil || set.UID != at.uid || len(ofGroup(c.podsNow(), at.uid, at.group)) > 1 {
		return
	}
	if !slices.ContainsFunc(set.Status.Recycling, func(e v1.RecyclingGroup) bool { return e.Index == at.group }) {
		f := newFacts()
		f.since, f.last = parseVersion(ch.After), c.group(at.uid, at.group)
		f.last.last = nil
		c.groups[groupKey{at.uid, at.group}] = f
	}
}

// lives are the facts of a group that the author of a change may have gone by:
// those of the last life too where its cache had not yet seen the end of that.
func (c *Checker) lives(ch *Change, set types.UID, index int32) []*facts {
	f := c.group(set, index)
	if f.last != nil && ch.Seen != nil && ch.Seen.Pods < f.since {
		return []*facts{f, f.last}
	}
	return []*facts{f}
}

// learnStart notes that a group has started, or has lost its leader. One without the
// set's label is out of sight.
func (f *facts) learnStart(mates []*corev1.Pod, n int64) {
	if sum, started := restartSum(mates); started && len(mates) > 0 && len(mates) == size(mates) {
		if before, known := f.started[n]; !known || sum < before {
			f.started[n] = sum
		}
	}
	if len(mates) > 0 && f.leaders[n] && !slices.ContainsFunc(mates, func(p *corev1.Pod) bool { return isLeader(p) && p.Labels[v1.LabelName] != "" }) {
		f.leaderless[n] = true
	}
}

// fails notes a failure that is more than a restart.
func (f *facts) fails(n int64, counts bool) {
	f.failures[n] = f.failures[n] || counts
	f.free[n] = f.free[n] || !counts
	f.hard[n] = true
}

// learnFailure notes failures: what ended, restarted, or was deleted by others.
func (f *facts) learnFailure(ch *Change, pod *corev1.Pod, n int64) {
	switch told := endsAsTold(ch); {
	case ended(pod) && !told:
		f.fails(n, !disrupted(pod))
	case restarts(pod) > 0 && !told:
		f.failures[n] = f.failures[n] || !disrupted(pod)
		f.free[n] = f.free[n] || disrupted(pod)
	}
	condemned := ch.Before != nil && !terminating(ch.Before) && (ch.After == nil || terminating(ch.After))
	if condemned && ch.By != Controller {
		f.fails(n, false)
	}
	changed := func(label string) bool {
		return ch.Before != nil && ch.After != nil && ch.Before.GetLabels()[label] != ch.After.GetLabels()[label]
	}
	if changed(v1.LabelName) {
		f.fails(n, false) // it is no longer seen: the same as gone
	}
	if changed(v1.LabelRevision) {
		f.fails(n, false) // no group is of two revisions
		f.mixed[n] = true
	}
}

// endsAsTold says that a pod shows no more than that it was deleted: containers
// that are stopped end.
func endsAsTold(ch *Change) bool {
	before, ok := ch.Before.(*corev1.Pod)
	return ok && terminating(before) && !ended(before) && restarts(before) == 0
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// learnReleased notes a pod that its set no longer controls: gone for the group.
func (c *Checker) learnReleased(ch *Change) {
	before, ok := ch.Before.(*corev1.Pod)
	if !ok || before == nil {
		return
	}
	if at, ok := placeOf(before); ok {
		c.group(at.uid, at.group).fails(incarnation(before), false)
	}
}

// failed says that something of this incarnation has failed.
func (c *Checker) failed(set types.UID, index int32, n int64) bool {
	f := c.group(set, index)
	_, failed := f.failures[n]
	if !failed && f.last != nil {
		_, failed = f.last.failures[n]
	}
	return failed
}

func disrupted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// restartSum is how often the containers of some pods were restarted, ephemeral ones
// aside, and whether every regular one has run.
func restartSum(pods []*corev1.Pod) (sum int64, started bool) {
	started = true
	for _, p := range pods {
		for i := range p.Status.InitContainerStatuses {
			sum += int64(p.Status.InitContainerStatuses[i].RestartCount)
		}
		started = started && len(p.Status.ContainerStatuses) > 0
		for i := range p.Status.ContainerStatuses {
			c := &p.Status.ContainerStatuses[i]
			sum += int64(c.RestartCount)
			started = started && (c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil || c.RestartCount > 0)
		}
	}
	return sum, started
}

func isLeader(p *corev1.Pod) bool {
	at, ok := placeOf(p)
	return ok && at.worker == 0
}

func restarts(p *corev1.Pod) int32 {
	most := int32(0)
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			most = max(most, statuses[i].RestartCount)
		}
	}
	return most
}

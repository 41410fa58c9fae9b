package rollout

import (
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

const (
	// unreadyAfter is how long a group must have been not Ready until its leader
	// says so: shorter dips are not worth a write.
	unreadyAfter = 5 * time.Second
	// markEvery is the least time between two changes of one leader's condition.
	markEvery = 10 * time.Second
)

// mark keeps the GroupReady conditions of the leaders. The first time a group is
// Ready is recorded at once, since its presence is a fact that plans depend on.
func (p *planner) mark() {
	for i := range p.Groups {
		v := &p.Groups[i]
		if v.Leader == nil || v.Leader.Terminating || p.entries[v.Index] != nil {
			continue
		}
		p.start(v)
		known := v.Leader.GroupReady
		if known == nil {
			if v.AllReady {
				p.Mark = append(p.Mark, Mark{Index: v.Index, Leader: leaderRef(v), Ready: true})
			}
			continue
		}
		if known.True == v.AllReady {
			continue
		}
		due := known.Since.Add(markEvery)
		if !v.AllReady && !v.NotReadySince.IsZero() {
			due = later(due, v.NotReadySince.Add(unreadyAfter))
		}
		if p.Now.Before(due) {
			p.wake(due)
			continue
		}
		p.Mark = append(p.Mark, Mark{Index: v.Index, Leader: leaderRef(v), Ready: v.AllReady})
	}
}

// start has the leader say that its group has started, and how often containers had
// restarted until then: restarts from then on are failures. It says so once, and again
// only where a pod that had restarted is another one now, since its restarts would hide
// as many to come.
func (p *planner) start(v *group.View) {
	if !p.startsNow(v) {
		return
	}
	if seen := v.Leader.RestartsSeen; seen == nil || v.Restarts < *seen {
		p.Start = append(p.Start, Start{Index: v.Index, Leader: leaderRef(v), Version: v.Leader.Version, Restarts: v.Restarts})
	}
}

// startsNow says that all of a group is there and has started, known or not. What fails
// from then on is a failure of the group, as soon as the leader says so.
func (p *planner) startsNow(v *group.View) bool {
	return p.restartPolicy(v) == v1.RecreateGroupAfterStart && v.Whole && v.AllStarted
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

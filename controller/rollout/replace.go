package rollout

import (
	"slices"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// MaxAvoids is how many domains a leader avoids at most, those where its group failed
// last.
const MaxAvoids = 4

// replace takes down groups whose workers have found no node in the domain of their
// leader for as long as the set allows. The next leader keeps away from there. When that
// leaves none for it, it is made anew once more, free to go anywhere: what was full may
// have room by then. No budget is asked, since such a group serves nobody.
func (p *planner) replace() {
	if p.ReplaceAfter <= 0 || p.Unrecorded || p.Withheld {
		return
	}
	for i := range p.Groups {
		v := &p.Groups[i]
		if !v.HasPods || p.entries[v.Index] != nil || !p.wanted(v.Index) || v.FailureUnder(p.restartPolicy(v)) != nil {
			continue
		}
		since, avoids := p.misplaced(v)
		switch due := since.Add(p.ReplaceAfter); {
		case since.IsZero():
		case p.Now.Before(due):
			p.wake(due)
		case p.begin(v, v1.RecycleReplace, v.Revision, nil):
			p.entries[v.Index].Avoids = avoids
			p.Started[len(p.Started)-1].Entry.Avoids = avoids
		}
	}
}

// misplaced is from when on pods of a group that is bound to topology domains have found
// no node, and which domains the next leader is to avoid for that; zero if all have.
func (p *planner) misplaced(v *group.View) (since time.Time, avoids []string) {
	l := v.Leader
	switch {
	case l == nil || l.Terminating || len(l.DomainKeys) == 0, v.EverReady() && v.ReplacesSingly(p.restartPolicy(v)):
		return time.Time{}, nil
	case l.Node == "" && len(l.Avoids) > 0:
		return l.UnscheduledSince, nil
	case l.Node == "" || v.UnplacedSince.IsZero():
		return time.Time{}, nil
	}
	// Of several keys, the first is that of the smaller domain: the exclusive one.
	key := l.DomainKeys[0]
	avoids = l.Avoids
	if value, has := p.NodeLabels[l.Node][key]; has && !slices.Contains(avoids, key+"="+value) {
		avoids = append(slices.Clone(avoids), key+"="+value)
	}
	return v.UnplacedSince, avoids[max(0, len(avoids)-MaxAvoids):]
}

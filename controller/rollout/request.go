package rollout

import (
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// Open says that the request is about the group and has not been done for it: its
// leader is neither newer than the request nor marked as made after it. Times of
// creation are whole seconds by the API server's clock, which may differ from that of
// the request; the mark makes sure that once is enough.
func (r RecycleRequest) Open(v *group.View) bool {
	return r.Names(v.Index) && v.Leader != nil && !v.Leader.Created.After(r.At) && v.Leader.RecycledAt.Before(r.At)
}

// asked says that somebody wants the group recreated, that the time for it has come,
// and that it has not been done.
func (in *Input) asked(v *group.View) bool {
	return !in.Now.Before(in.Recycle.At) && in.Recycle.Open(v)
}

// recreate takes down the groups that somebody wants recreated, each to come back
// at its own revision, within the budget of an update: groups that are not Ready as
// long as there is room, then those that serve, from the highest index down, as many
// at once as the floor allows. Surge stands in for those at or above the
// partition.
func (p *planner) recreate() {
	if len(p.Recycle.Groups) == 0 || p.Unrecorded || p.Withheld {
		return
	}
	if p.Now.Before(p.Recycle.At) {
		p.wake(p.Recycle.At)
		return
	}
	var serving []*group.View
	room := p.requestRoom()
	for i := len(p.Groups) - 1; i >= 0; i-- {
		v := &p.Groups[i]
		switch {
		case p.entries[v.Index] != nil || v.Index >= p.Replicas || !p.asked(v):
		case p.ready(v):
			serving = append(serving, v)
		case room > 0 || p.broken(v):
			p.begin(v, v1.RecycleRequested, v.Revision, nil)
			room--
		}
	}
	for _, v := range serving {
		if p.leaves(v, p.requestFloor(v)) {
			p.begin(v, v1.RecycleRequested, v.Revision, nil)
		}
	}
}

// requestRoom is how many more groups that are not Ready may be on their way by
// request, as many as for an update: those in teardown count, and those that were made
// after the request and are not Ready yet.
func (p *planner) requestRoom() int32 {
	room := max(1, p.Budget.Unavailable+p.Budget.Surge)
	for i := range p.Groups {
		v := &p.Groups[i]
		entry := p.entries[v.Index]
		made := v.Leader != nil && v.Leader.RecycledAt.Equal(p.Recycle.At)
		if entry != nil && entry.Cause == v1.RecycleRequested || entry == nil && made && !p.ready(v) {
			room--
		}
	}
	return room
}

// requestFloor is the least number of available groups that taking down a group by
// request may leave. Where a budget of 0 relies on surge and none can stand in, since
// that would be of a revision which the group must not get, it is one at a time.
func (p *planner) requestFloor(v *group.View) int32 {
	if p.Budget.Unavailable == 0 && (v.Index < p.Partition || p.Paused) {
		return p.at.floor - 1
	}
	return p.at.floor
}

// recycledAt is the mark of pods that are made after a request that names their
// group.
func (p *planner) recycledAt(index int32) time.Time {
	if p.Recycle.Names(index) && !p.Now.Before(p.Recycle.At) {
		return p.Recycle.At
	}
	return time.Time{}
}

package rollout

import (
	"testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// TestAvailableNowIsEstablished: the sync that sees the last group become ready
// reads a status that does not yet say so. It must not take two groups down.
func TestAvailableNowIsEstablished(t *testing.T) {
	in := Input{Now: now, Replicas: 3, Budget: Budget{Unavailable: 1}, Established: 2, Current: "old", Update: "new",
		Templates:     map[string]Template{"old": {Size: 1}, "new": {Size: 1}},
		SharedService: "s", GroupService: func(int32) string { return "" }, Services: map[string]Service{"s": {}},
		MaxWrites: 100, MaxEntries: 100}
	for index := range int32(3) {
		leader := &group.Pod{Ready: true, GroupReady: &group.GroupReady{True: true, Since: now}}
		in.Groups = append(in.Groups, group.View{Index: index, HasPods: true, Incarnation: 1, Revision: "old", Size: 1,
			Leader: leader, Whole: true, AllReady: true})
	}
	plan := Make(in)
	if len(plan.Started) != 1 || plan.Started[0].Entry.Cause != v1.RecycleUpdate || plan.Started[0].Entry.Index != 2 {
		t.Errorf("started %+v, want only the update of group 2", plan.Started)
	}
}

package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

var now = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// input is a set of the given number of groups at revisions a (3 pods) and b (2
// pods), of which b is the present one.
func input(replicas int32, groups ...group.View) Input {
	return Input{
		Now: now, Replicas: replicas, Current: "a", Update: "b", Budget: Budget{Unavailable: 1}, Established: replicas,
		Templates: map[string]Template{
			"a": {Size: 3, RestartPolicy: v1.RecreateGroupOnPodRestart, Subdomain: v1.SubdomainShared},
			"b": {Size: 2, RestartPolicy: v1.RecreateGroupOnPodRestart, Subdomain: v1.SubdomainShared},
		},
		Groups:        groups,
		Services:      map[string]Service{"s": {}},
		SharedService: "s",
		GroupService:  func(i int32) string { return fmt.Sprintf("s-%d", i) },
		MaxWrites:     1000,
		MaxEntries:    1000,
	}
}

// made is a group of which the given pods exist, as Fold and View would see them.
// Each pod is a word: "L" or a worker's index, then + for Ready, - for not Ready,
// ~ for terminating. "L*" is a Ready leader marked GroupReady.
func made(index int32, revision string, size int32, pods string) group.View {
	s := group.NewState(index)
	for i, word := range strings.Fields(pods) {
		worker := int64(0)
		if word[0] != 'L' {
			worker, _ = strconv.ParseInt(word[:1], 10, 32)
		}
		p := group.Pod{Name: fmt.Sprintf("s-%d-%d", index, worker), Worker: int32(worker), UID: types.UID(fmt.Sprintf("%d-%d", index, worker)),
			Version: strconv.Itoa(i + 1), Controller: "set", Revision: revision, Incarnation: 1, Size: size, ReadyChanged: now.Add(-time.Minute)}
		switch word[1] {
		case '*':
			p.GroupReady = &group.GroupReady{True: true, Since: now.Add(-time.Minute)}
			p.Ready = true
		case '!': // was Ready once
			p.GroupReady = &group.GroupReady{True: true, Since: now.Add(-time.Minute)}
		case '+':
			p.Ready = true
		case '~':
			p.Terminating = true
		}
		s.Fold(group.Observed(p), now)
	}
	return s.View("set", nil)
}

// served is a Ready group.
func served(index int32, revision string, size int32) group.View {
	pods := "L*"
	for w := int32(1); w < size; w++ {
		pods += fmt.Sprintf(" %d+", w)
	}
	return made(index, revision, size, pods)
}

// show says in one line what a plan does.
func show(p Plan) string {
	var out []string
	for _, r := range p.Started {
		out = append(out, fmt.Sprintf("%s %d→%s", r.Entry.Cause, r.Entry.Index, r.Entry.Revision))
	}
	deleted := map[int32][]string{}
	for _, d := range p.Delete {
		deleted[d.Index] = append(deleted[d.Index], strconv.Itoa(int(d.Pod.Worker)))
	}
	for i := int32(0); i < 20; i++ {
		if d := deleted[i]; d != nil {
			slices.Sort(d)
			out = append(out, fmt.Sprintf("delete %d:%s", i, strings.Join(d, ",")))
		}
	}
	for _, c := range p.Create {
		var workers []string
		for _, w := range c.Workers {
			workers = append(workers, strconv.Itoa(int(w)))
		}
		out = append(out, fmt.Sprintf("create %d:%s@%s#%d", c.Index, strings.Join(workers, ","), c.Revision, c.Incarnation))
	}
	for _, s := range p.CreateServices {
		out = append(out, "service "+s.Name)
	}
	for _, s := range p.DeleteServices {
		out = append(out, "no service "+s)
	}
	for _, m := range p.Mark {
		out = append(out, fmt.Sprintf("mark %d %t", m.Index, m.Ready))
	}
	return strings.Join(out, "; ")
}

func entry(index int32, cause v1.RecycleCause, revision string) v1.RecyclingGroup {
	return v1.RecyclingGroup{Index: index, Incarnation: 1, Cause: cause, Revision: revision, StartedAt: metav1.NewTime(now)}
}

func TestMake(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Input
		with func(*Input)
		want string
	}{
		{name: "new set", in: input(2), want: "create 0:0,1@b#1; create 1:0,1@b#1"},
		{name: "new set, leaders first", in: input(2), with: func(in *Input) { in.LeaderFirst = true }, want: "create 0:0@b#1; create 1:0@b#1"},
		{name: "new set with a partition is made at the current revision below it", in: input(2), with: func(in *Input) { in.Partition = 1 },
			want: "create 0:0,1,2@a#1; create 1:0,1@b#1"},
		{name: "no replicas", in: input(0), want: ""},
		{name: "the Service comes with the first plan", in: input(1), with: func(in *Input) { in.Services = nil }, want: "create 0:0,1@b#1; service s"},
		{name: "a foreign Service stops the pods", in: input(1), with: func(in *Input) { in.Services["s"] = Service{Unusable: NotOurs} }, want: ""},
		{name: "leader there, workers missing", in: input(1, made(0, "b", 2, "L-")), want: "create 0:1@b#1"},
		{name: "leader not Ready, workers wait for it", in: input(1, made(0, "b", 2, "L-")), with: func(in *Input) { in.LeaderFirst = true }, want: ""},
		{name: "leader Ready, workers follow", in: input(1, made(0, "b", 2, "L+")), with: func(in *Input) { in.LeaderFirst = true }, want: "create 0:1@b#1"},
		{name: "Ready for the first time", in: input(1, made(0, "b", 2, "L+ 1+")), want: "mark 0 true"},
		{name: "at rest", in: input(1, served(0, "b", 2)), want: ""},
		{name: "not Ready for a minute", in: input(1, made(0, "b", 2, "L* 1-")), want: "mark 0 false"},
		{name: "a held group waits", in: input(1), with: func(in *Input) { in.Held = map[int32]time.Time{0: now.Add(time.Second)} }, want: ""},

		{name: "scale down, highest first", in: input(1, served(0, "b", 2), served(1, "b", 2), served(2, "b", 2)),
			want: "ScaleDown 2→b; ScaleDown 1→b; delete 1:0,1; delete 2:0,1"},
		{name: "scale down withdrawn in time", in: input(1, served(0, "b", 2)),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleScaleDown, "b")} }, want: ""},
		{name: "scale down withdrawn too late", in: input(1, made(0, "b", 2, "L* 1~")),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleScaleDown, "b")} }, want: "delete 0:0"},
		{name: "teardown over, next incarnation at the entry's revision", in: input(1),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleFailure, "a")} }, want: "create 0:0,1,2@a#2"},
		{name: "nothing new before the last pod is gone", in: input(1, made(0, "b", 2, "1~")),
			with: func(in *Input) { in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleFailure, "b")} }, want: ""},

		{name: "a pod deleted by others", in: input(2, served(0, "b", 2), made(1, "b", 2, "L* 1~")), want: "Failure 1→b; delete 1:0"},
		{name: "a worker gone from a group that was Ready", in: input(1, made(0, "b", 2, "L*")), want: "Failure 0→b; delete 0:0"},
		{name: "the leader gone", in: input(1, made(0, "b", 2, "1+")), want: "Failure 0→b; delete 0:1"},
		{name: "None replaces single pods", in: input(2, made(0, "b", 2, "1+"), made(1, "b", 2, "L*")),
			with: func(in *Input) { in.Templates["b"] = Template{Size: 2, RestartPolicy: v1.NoneRestartPolicy} },
			want: "create 0:0@b#1; create 1:1@b#1; mark 1 false"},
		{name: "a failed group below the partition keeps its revision", in: input(1, made(0, "a", 3, "L* 1~ 2+")),
			with: func(in *Input) { in.Partition = 1 }, want: "Failure 0→a; delete 0:0,2"},

		{name: "update: the highest first, within the budget", in: input(3, served(0, "a", 3), served(1, "a", 3), served(2, "a", 3)),
			want: "Update 2→b; delete 2:0,1,2"},
		{name: "update: many at once once the revision is proven", in: input(4, served(0, "a", 3), served(1, "a", 3), served(2, "a", 3), served(3, "b", 2)),
			with: func(in *Input) { in.Budget.Unavailable = 2 }, want: "Update 2→b; Update 1→b; delete 1:0,1,2; delete 2:0,1,2"},
		{name: "update: not while another group is missing", in: input(4, served(0, "a", 3), served(1, "a", 3), served(2, "a", 3), made(3, "b", 2, "L- 1-")),
			want: ""},
		{name: "update: the one not Ready goes first, the Ready one stays", in: input(2, made(0, "a", 3, "L! 1- 2+"), served(1, "a", 3)),
			want: "Update 0→b; delete 0:0,1,2"},
		{name: "update: all broken go at once", in: input(3, made(0, "a", 3, "L- 1- 2-"), made(1, "a", 3, "L- 1- 2-"), made(2, "a", 3, "L- 1- 2-")),
			with: func(in *Input) { in.Established = 0 }, want: "Update 2→b; Update 1→b; Update 0→b; delete 0:0,1,2; delete 1:0,1,2; delete 2:0,1,2"},
		{name: "update: a bad revision gets no more than the budget", in: input(3, served(0, "a", 3), made(1, "a", 3, "L- 1- 2-"), made(2, "b", 2, "L- 1-")),
			want: ""},
		{name: "update: only the partition holds", in: input(2, served(0, "a", 3), served(1, "b", 2)), with: func(in *Input) { in.Partition = 1 }, want: ""},
		{name: "update withdrawn by a revert", in: input(2, served(0, "a", 3), served(1, "a", 3)), with: func(in *Input) {
			in.Update = "a"
			in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleUpdate, "b")}
		}, want: ""},
		{name: "update goes straight to the newest spec", in: input(2, served(0, "b", 2)), with: func(in *Input) {
			in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleUpdate, "a")}
		}, want: "create 1:0,1@b#2"},

		{name: "update: what is scaled down was not in the budget", in: input(2, served(0, "a", 3), served(1, "a", 3), served(2, "a", 3)),
			want: "ScaleDown 2→a; Update 1→b; delete 1:0,1,2; delete 2:0,1,2"},
		{name: "update: a group that comes back as it was is not on its way", in: input(3, made(0, "a", 3, "L- 1- 2-"), served(2, "a", 3)), with: func(in *Input) {
			in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleFailure, "a")}
		}, want: "Update 0→b; delete 0:0,1,2; create 1:0,1,2@a#2"},
		{name: "update: a Ready group that is made again is on its way", in: input(2, made(0, "a", 3, "L! 1- 2+"), func() group.View {
			v := served(1, "b", 2)
			v.Failure = &group.Failure{Reason: group.FailureContainerRestarted}
			return v
		}()), want: "Failure 1→b; delete 1:0,1; mark 0 false"},
		{name: "update: a group that is wanted again is on its way", in: input(2, made(0, "a", 3, "L! 1- 2+")), with: func(in *Input) {
			in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleScaleDown, "a")}
		}, want: "create 1:0,1@b#2; mark 0 false"},
		{name: "paused: no group is updated, a broken one neither", in: input(2, made(0, "a", 3, "L- 1- 2-"), served(1, "a", 3)),
			with: func(in *Input) { in.Paused = true }, want: ""},
		{name: "paused: a stand-in that is there stays, none is made", in: input(1, served(0, "a", 3), served(2, "b", 2)),
			with: func(in *Input) { in.Paused, in.Budget = true, Budget{Surge: 2} }, want: ""},
		{name: "surge: the stand-ins that are there are the needed ones, whatever their indices", in: input(2, served(0, "b", 2), served(1, "a", 3), served(3, "b", 2)),
			with: func(in *Input) { in.Budget = Budget{Surge: 2} }, want: "Update 1→b; delete 1:0,1,2"},
		{name: "full cluster: 1 group becomes 2 (CONTRACT §7)", in: input(2, served(0, "a", 3), made(1, "b", 2, "L- 1-")),
			with: func(in *Input) { in.Established = 1 }, want: "Update 0→b; delete 0:0,1,2"},
		{name: "surge 1 with unavailable 0: a stand-in first", in: input(1, served(0, "a", 3)),
			with: func(in *Input) { in.Budget = Budget{Surge: 1} }, want: "create 1:0,1@b#1"},
		{name: "surge 1: the stand-in is there, the group goes", in: input(1, served(0, "a", 3), served(1, "b", 2)),
			with: func(in *Input) { in.Budget = Budget{Surge: 1} }, want: "Update 0→b; delete 0:0,1,2"},
		{name: "surge 1: done, the stand-in goes", in: input(1, served(0, "b", 2), served(1, "b", 2)),
			with: func(in *Input) { in.Budget = Budget{Surge: 1} }, want: "ScaleDown 1→b; delete 1:0,1"},
		{name: "surge: an unproven revision gets no more than the budget", in: input(3, made(0, "a", 3, "L! 1- 2+"), made(1, "a", 3, "L! 1- 2+"), served(2, "a", 3)),
			with: func(in *Input) { in.Budget = Budget{Unavailable: 1, Surge: 1} }, want: "Update 1→b; Update 0→b; delete 0:0,1,2; delete 1:0,1,2"},
		{name: "surge: nothing is made for a group that only fails", in: input(2, served(0, "b", 2), made(1, "b", 2, "L- 1+")),
			with: func(in *Input) { in.Budget = Budget{Surge: 1} }, want: ""},
		{name: "surge: a stand-in that is made again is on its way", in: input(2, served(0, "a", 3), made(1, "a", 3, "L! 1- 2+"), made(2, "b", 2, "L~ 1-")),
			with: func(in *Input) {
				in.Budget = Budget{Surge: 1}
				in.Recycling = []v1.RecyclingGroup{entry(2, v1.RecycleFailure, "b")}
			}, want: "delete 2:1; mark 1 false"},
		{name: "a teardown of a kind that only a newer version knows", in: input(2, served(0, "b", 2)), with: func(in *Input) {
			in.Recycling = []v1.RecyclingGroup{entry(0, "Migration", "b"), entry(1, "Migration", "b")}
		}, want: ""},
		{name: "a record that nobody can have made", in: input(1, served(0, "b", 2)), with: func(in *Input) {
			in.Recycling = []v1.RecyclingGroup{{Index: 0, Incarnation: 1<<63 - 1, Cause: v1.RecycleFailure, Revision: "b"}}
		}, want: ""},
		{name: "a pod to be adopted yet is not gone", in: input(1, func() group.View {
			s := group.NewState(0)
			leader := group.Pod{Name: "s-0-0", UID: "l", Version: "1", Controller: "set", Revision: "b", Incarnation: 1, Size: 2, Ready: true,
				GroupReady: &group.GroupReady{True: true, Since: now}}
			orphan := group.Pod{Name: "s-0-1", Worker: 1, UID: "w", Version: "2", Revision: "b", Incarnation: 1, Size: 2, Ready: true}
			s.Fold(group.Observed(leader), now)
			s.Fold(group.Observed(orphan), now)
			return s.View("set", nil)
		}()), want: ""},
		{name: "ceiling: groups going count", in: input(1, served(1, "b", 2)), want: "ScaleDown 1→b; delete 1:0,1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.with != nil {
				tc.with(&tc.in)
			}
			if got := show(Make(tc.in)); got != tc.want {
				t.Errorf("plan\n got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestUniqueServices(t *testing.T) {
	in := input(2, served(0, "b", 2), made(2, "b", 2, "L~"))
	in.Templates["b"] = Template{Size: 2, Subdomain: v1.SubdomainUniquePerReplica}
	in.Services = map[string]Service{"s": {}, "s-2": {}, "s-3": {}, "other": {Unusable: NotOurs}}
	// s-1 comes with its group; s-2 stays until its last pod is gone, the shared
	// one goes with it.
	want := "create 1:0,1@b#1; service s-0; service s-1; no service s-3"
	in.Recycling = []v1.RecyclingGroup{entry(2, v1.RecycleScaleDown, "b")}
	in.Budget.Surge = 1
	if got := show(Make(in)); got != want {
		t.Errorf("plan\n got %q\nwant %q", got, want)
	}
}

// A group that was scaled away and is wanted again starts at what the spec says
// now: with the Service of that revision, and without the one of the old.
func TestServiceOfAGroupWantedAgain(t *testing.T) {
	in := input(2, served(0, "b", 2))
	in.Templates["b"] = Template{Size: 2, Subdomain: v1.SubdomainUniquePerReplica}
	in.Current, in.Services = "b", map[string]Service{"s": {}, "s-0": {}}
	in.Recycling = []v1.RecyclingGroup{entry(1, v1.RecycleScaleDown, "a")}
	want := "create 1:0,1@b#2; service s-1; no service s"
	if got := show(Make(in)); got != want {
		t.Errorf("plan\n got %q\nwant %q", got, want)
	}
}

// Which of the groups needs the shared Service is not part of the plan (S21).
func TestSharedServiceIsOfNoGroup(t *testing.T) {
	in := input(3, made(1, "a", 3, "L~"))
	in.Recycling = []v1.RecyclingGroup{entry(0, v1.RecycleUpdate, "b"), entry(1, v1.RecycleUpdate, "b"), entry(2, v1.RecycleUpdate, "b")}
	in.Services = map[string]Service{}
	want := []ServiceWanted{{Name: "s", Policy: v1.SubdomainShared}}
	for range 20 {
		if got := Make(in).CreateServices; !slices.Equal(got, want) {
			t.Fatalf("services %v, want %v", got, want)
		}
	}
}

func TestFailureBacksOff(t *testing.T) {
	restarted := func() Input {
		v := served(0, "b", 2)
		v.Failure = &group.Failure{Reason: group.FailureContainerRestarted, Counts: true}
		return input(1, v)
	}
	in := restarted()
	if p := Make(in); len(p.Started) != 1 || p.Restarts[0].Count != 1 || !p.Ahead {
		t.Errorf("first failure: started %v, restarts %v, ahead %t", p.Started, p.Restarts, p.Ahead)
	}
	in = restarted()
	in.Restarts = []v1.GroupRestarts{{Index: 0, Revision: "b", Count: 2, LastAt: metav1.NewTime(now.Add(-15 * time.Second))}}
	if p := Make(in); len(p.Started) != 0 || p.WakeAt != now.Add(5*time.Second) {
		t.Errorf("third failure 15 s after the second: started %v, wake at %s", p.Started, p.WakeAt)
	}
	in.Now = now.Add(5 * time.Second)
	if p := Make(in); len(p.Started) != 1 || p.Restarts[0].Count != 3 {
		t.Errorf("third failure 20 s after the second: started %v, restarts %v", p.Started, p.Restarts)
	}
}

// A surge group backs off as any other, through the teardown and beyond.
func TestSurgeBacksOff(t *testing.T) {
	surge := served(1, "b", 2)
	surge.Failure = &group.Failure{Reason: group.FailureContainerRestarted, Counts: true}
	in := input(1, made(0, "a", 3, "L! 1- 2+"), surge)
	in.Budget = Budget{Surge: 1}
	in.Restarts = []v1.GroupRestarts{{Index: 1, Revision: "b", Count: 2, LastAt: metav1.NewTime(now.Add(-15 * time.Second))}}
	for _, r := range Make(in).Started {
		if r.Entry.Index == 1 {
			t.Errorf("recreated 15 s after the second time")
		}
	}
	in.Groups, in.Recycling = in.Groups[:1], []v1.RecyclingGroup{entry(1, v1.RecycleFailure, "b")}
	if p := Make(in); len(p.Restarts) != 1 || p.Restarts[0].Count != 2 {
		t.Errorf("restarts while the surge group is made again: %v", p.Restarts)
	}
	in.Recycling = nil
	if p := Make(in); len(p.Restarts) != 0 {
		t.Errorf("restarts of a surge group of which nothing is left: %v", p.Restarts)
	}
}

func TestRestartDelay(t *testing.T) {
	for count, want := range map[int32]time.Duration{
		0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute, 1 << 30: 5 * time.Minute,
	} {
		if got := RestartDelay(count); got != want {
			t.Errorf("RestartDelay(%d) = %s, want %s", count, got, want)
		}
	}
}

func TestNewBudget(t *testing.T) {
	percent, number := intstr.FromString, intstr.FromInt32
	for _, tc := range []struct {
		replicas           int32
		unavailable, surge intstr.IntOrString
		want               Budget
	}{
		{10, percent("25%"), percent("25%"), Budget{Unavailable: 2, Surge: 3}},
		{2, percent("30%"), number(0), Budget{Unavailable: 1}},
		{1, number(1), number(1), Budget{Surge: 1}},
		{1, number(0), percent("1%"), Budget{Surge: 1}},
		{3, number(5), number(5), Budget{Unavailable: 2, Surge: 3}},
		{0, number(1), number(1), Budget{Unavailable: 1}},
		{4, percent("x"), number(-1), Budget{Unavailable: 1}},
	} {
		if got := NewBudget(tc.replicas, tc.unavailable, tc.surge); got != tc.want {
			t.Errorf("NewBudget(%d, %s, %s) = %+v, want %+v", tc.replicas, &tc.unavailable, &tc.surge, got, tc.want)
		}
	}
}

// TestHugeGroup: the size is bounded only by what an int32 holds; a plan is not
// allowed to grow with it.
func TestHugeGroup(t *testing.T) {
	in := input(1)
	in.Templates["b"] = Template{Size: 1<<31 - 1, Subdomain: v1.SubdomainShared}
	in.MaxWrites = 5
	p := Make(in)
	if got := show(p); got != "create 0:0,1,2,3,4@b#1" || !p.Partial {
		t.Errorf("first plan %q, partial %t", got, p.Partial)
	}
	in.Groups = []group.View{made(0, "b", 1<<31-1, "L+ 1+ 2- 3- 4-")}
	p = Make(in)
	if got := show(p); got != "create 0:5,6,7,8,9@b#1" || !p.Partial {
		t.Errorf("next plan %q, partial %t", got, p.Partial)
	}
}

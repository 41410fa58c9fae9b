package rollout

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// odd draws a number that is mostly small and sometimes absurd.
func odd(t *rapid.T, name string) int32 {
	if rapid.IntRange(0, 9).Draw(t, name+" is odd") == 0 {
		return rapid.SampledFrom([]int32{math.MinInt32, -1, 1 << 20, math.MaxInt32 - 1, math.MaxInt32}).Draw(t, name)
	}
	return rapid.Int32Range(0, 5).Draw(t, name)
}

// moment draws a time around now, or none.
func moment(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" is set") {
		return now.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, name)) * time.Second)
	}
	return time.Time{}
}

var revisionKeys = []string{"a", "b", "lost", ""}

func anyRevision(t *rapid.T, name string) string {
	return rapid.SampledFrom(revisionKeys).Draw(t, name)
}

// anyPod draws a pod of a group, whoever owns it and whatever state it is in.
func anyPod(t *rapid.T, index int32) group.Pod {
	p := group.Pod{
		Worker: odd(t, "worker"), UID: types.UID(fmt.Sprint("uid-", rapid.IntRange(0, 99).Draw(t, "uid"))),
		Version:     fmt.Sprint(rapid.IntRange(1, 1000).Draw(t, "version")),
		Controller:  rapid.SampledFrom([]types.UID{"set", "set", "set", "set", "other", ""}).Draw(t, "controller"),
		OfNamesake:  rapid.Bool().Draw(t, "namesake"),
		Revision:    anyRevision(t, "revision of pod"),
		Incarnation: rapid.SampledFrom([]int64{0, 1, 2, group.MaxIncarnation}).Draw(t, "incarnation"),
		Size:        odd(t, "size"),
		Phase:       rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded, "odd"}).Draw(t, "phase"),
		Ready:       rapid.Bool().Draw(t, "ready"), Terminating: rapid.Bool().Draw(t, "terminating"),
		ReadyChanged: moment(t, "readyChanged"), Restarts: int64(odd(t, "restarts")), Started: rapid.Bool().Draw(t, "started"),
		Stuck: rapid.SampledFrom([]string{"", "CrashLoopBackOff"}).Draw(t, "stuck"),
	}
	p.Name = fmt.Sprintf("s-%d-%d", index, p.Worker)
	if rapid.Bool().Draw(t, "marked") {
		p.GroupReady = &group.GroupReady{True: rapid.Bool().Draw(t, "groupReady"), Since: moment(t, "groupReadySince")}
	}
	if rapid.Bool().Draw(t, "noted") {
		p.RestartsSeen = new(int64(odd(t, "restartsSeen")))
	}
	if rapid.Bool().Draw(t, "died") {
		p.Died = &group.Death{Container: "c", Known: true, ExitCode: 1, At: moment(t, "diedAt")}
	}
	return p
}

// anyInput draws an input that keeps to nothing but the order of the groups. The
// number of groups stays what the API allows.
func anyInput(t *rapid.T) Input {
	in := Input{
		Now: now, Replicas: rapid.SampledFrom([]int32{-1, 0, 1, 2, 3, 4, 1000}).Draw(t, "replicas"), Partition: odd(t, "partition"),
		Budget:           Budget{Unavailable: odd(t, "unavailable"), Surge: rapid.SampledFrom([]int32{-1, 0, 1, 2, 1000}).Draw(t, "surge")},
		MinReady:         rapid.SampledFrom([]time.Duration{0, time.Minute, -time.Minute, math.MaxInt64}).Draw(t, "minReady"),
		DisruptionBudget: odd(t, "disruptionBudget"), Established: odd(t, "established"), LeaderFirst: rapid.Bool().Draw(t, "leaderFirst"),
		Current: anyRevision(t, "current"), Update: anyRevision(t, "update"),
		Templates: map[string]Template{}, Services: map[string]Service{}, Held: map[int32]time.Time{},
		SharedService: "s", GroupService: func(i int32) string { return fmt.Sprintf("s-%d", i) },
		MaxWrites: rapid.SampledFrom([]int{1, 2, 6, 500}).Draw(t, "maxWrites"), MaxEntries: rapid.SampledFrom([]int{0, 1, 2000}).Draw(t, "maxEntries"),
	}
	for _, key := range []string{"a", "b"} {
		in.Templates[key] = Template{Size: odd(t, "size of "+key),
			RestartPolicy: rapid.SampledFrom([]v1.RestartPolicyType{v1.RecreateGroupOnPodRestart, v1.RecreateGroupAfterStart, v1.NoneRestartPolicy, "odd"}).Draw(t, "policy of "+key),
			Subdomain:     rapid.SampledFrom([]v1.SubdomainPolicy{v1.SubdomainShared, v1.SubdomainUniquePerReplica}).Draw(t, "subdomain of "+key)}
	}
	for index := range rapid.MapOfN(rapid.Custom(func(t *rapid.T) int32 { return odd(t, "index") }), rapid.Just(true), 0, 5).Draw(t, "groups") {
		s := group.NewState(index)
		for range rapid.IntRange(0, 4).Draw(t, "pods") {
			s.Fold(group.Observed(anyPod(t, index)), now)
		}
		in.Groups = append(in.Groups, s.View("set", map[string]int32{"a": 2}))
	}
	slices.SortFunc(in.Groups, func(a, b group.View) int { return int(int64(a.Index) - int64(b.Index)) })
	in.Recycling = rapid.SliceOfN(rapid.Custom(anyEntry), 0, 4).Draw(t, "recycling")
	in.Restarts = rapid.SliceOfN(rapid.Custom(anyRestarts), 0, 4).Draw(t, "restarts")
	for range rapid.IntRange(0, 3).Draw(t, "services") {
		in.Services[rapid.SampledFrom([]string{"s", "s-0", "s-1", "s-9", "odd"}).Draw(t, "service")] = Service{
			Unusable: rapid.SampledFrom([]string{"", "", NotOurs}).Draw(t, "unusable"), Leaving: rapid.Bool().Draw(t, "leaving")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "held") {
		in.Held[odd(t, "held index")] = moment(t, "until")
	}
	return in
}

func anyEntry(t *rapid.T) v1.RecyclingGroup {
	return v1.RecyclingGroup{Index: odd(t, "index"), Incarnation: rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 2, group.MaxIncarnation, math.MaxInt64}).Draw(t, "incarnation"),
		Cause:    rapid.SampledFrom([]v1.RecycleCause{v1.RecycleFailure, v1.RecycleUpdate, v1.RecycleRequested, v1.RecycleScaleDown, "odd"}).Draw(t, "cause"),
		Revision: anyRevision(t, "revision"), StartedAt: metav1.NewTime(moment(t, "startedAt"))}
}

func anyRestarts(t *rapid.T) v1.GroupRestarts {
	return v1.GroupRestarts{Index: odd(t, "index"), Revision: anyRevision(t, "revision"), Count: odd(t, "count"), LastAt: metav1.NewTime(moment(t, "lastAt"))}
}

// TestPlanIsAFunction: whatever the input, there is a plan, and it is the same
// each time, whichever way maps come and the lists of the status are ordered (S21).
func TestPlanIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		in.Recycling = distinct(in.Recycling, func(e v1.RecyclingGroup) int32 { return e.Index })
		in.Restarts = distinct(in.Restarts, func(r v1.GroupRestarts) int32 { return r.Index })
		want := Make(in)
		for range 4 {
			if got := Make(in); !reflect.DeepEqual(got, want) {
				t.Fatalf("another plan for the same input:\n%+v\n%+v", got, want)
			}
		}
		in.Recycling = rapid.Permutation(in.Recycling).Draw(t, "order of recycling")
		in.Restarts = rapid.Permutation(in.Restarts).Draw(t, "order of restarts")
		if got := Make(in); !reflect.DeepEqual(got, want) {
			t.Fatalf("another plan for another order of the lists:\n%+v\n%+v", got, want)
		}
	})
}

func distinct[T any](list []T, key func(T) int32) []T {
	seen := map[int32]bool{}
	return slices.DeleteFunc(list, func(x T) bool {
		again := seen[key(x)]
		seen[key(x)] = true
		return again
	})
}

// TestPlanIsTotal: nothing that could be stored or observed makes the planner
// panic, run for ever or ask for more than its limits, also lists that name a
// group twice.
func TestPlanIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		plan := Make(in)
		if len(plan.Started) > max(0, in.MaxEntries) {
			t.Fatalf("%d teardowns begin, the limit is %d", len(plan.Started), in.MaxEntries)
		}
		creates := 0
		for _, c := range plan.Create {
			creates += len(c.Workers)
			if !slices.IsSorted(c.Workers) || len(c.Workers) == 0 || c.Workers[0] < 0 || c.Index < 0 || c.Incarnation < 0 {
				t.Fatalf("creates %+v", c)
			}
		}
		if creates > in.MaxWrites {
			t.Fatalf("%d creates, the limit is %d", creates, in.MaxWrites)
		}
		if !slices.IsSortedFunc(plan.Recycling, func(a, b v1.RecyclingGroup) int { return int(int64(a.Index) - int64(b.Index)) }) {
			t.Fatalf("entries are not in order: %+v", plan.Recycling)
		}
		Settle(in)
	})
}

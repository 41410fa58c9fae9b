package group

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// world is the truth about the pods of one group, as an API server has it: one
// ever-growing version, pods by name, and all news in the order they happened.
type world struct {
	version int
	uids    int
	pods    map[int32]*Pod
	news    []Event
}

func (w *world) next() string { w.version++; return strconv.Itoa(w.version) }

func (w *world) put(p Pod) Pod {
	p.Version = w.next()
	w.pods[p.Worker] = &p
	w.news = append(w.news, Observed(p))
	return p
}

func (w *world) create(worker int32, t *rapid.T) Pod {
	w.uids++
	return w.put(Pod{
		Name: fmt.Sprintf("s-0-%d", worker), Worker: worker, UID: types.UID(strconv.Itoa(w.uids)),
		Controller:  rapid.SampledFrom([]types.UID{"set", "set", "set", "other", ""}).Draw(t, "controller"),
		Revision:    rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "revision"),
		Incarnation: rapid.Int64Range(1, 2).Draw(t, "incarnation"),
		Size:        3, Phase: corev1.PodPending,
	})
}

func (w *world) change(p Pod, t *rapid.T) Pod {
	switch rapid.IntRange(0, 4).Draw(t, "change") {
	case 0:
		p.Phase, p.Ready = corev1.PodRunning, true
	case 1:
		p.Ready = false
	case 2:
		p.Restarts++
	case 3:
		p.Phase = corev1.PodFailed
	case 4:
		p.GroupReady = &GroupReady{True: true}
	}
	return w.put(p)
}

func (w *world) remove(p Pod) {
	delete(w.pods, p.Worker)
	w.news = append(w.news, Event{Kind: PodGone, Worker: p.Worker, UID: p.UID, Version: w.next()})
}

// notFound is what the answer to a request about a pod that is gone tells: its UID,
// and no version.
func notFound(p Pod) Event { return Event{Kind: PodGone, Worker: p.Worker, UID: p.UID} }

// step changes the world and returns the answer to the controller, if the change
// was a request of its own.
func (w *world) step(t *rapid.T) *Event {
	worker := rapid.Int32Range(0, 3).Draw(t, "worker")
	ours := rapid.Bool().Draw(t, "ours")
	p := w.pods[worker]
	var answer Event
	switch {
	case p == nil:
		answer = Accepted(w.create(worker, t), "created")
	case p.Terminating:
		w.remove(*p)
		answer = notFound(*p)
	case rapid.IntRange(0, 3).Draw(t, "kind") == 0:
		gone := *p
		gone.Terminating = true
		w.put(gone)
		answer = Event{Kind: DeleteAccepted, Worker: worker, UID: p.UID}
	case rapid.IntRange(0, 9).Draw(t, "forced") == 0:
		w.remove(*p)
		answer = notFound(*p)
	default:
		answer = Accepted(w.change(*p, t), "patched")
	}
	if !ours {
		return nil
	}
	return &answer
}

// watcher is an informer on the world: it delivers the news in order, but late,
// and may skip states of a pod as long as it tells of deletions.
type watcher struct{ at int }

func (x *watcher) deliver(w *world, s *State, n int, t *rapid.T) {
	for ; n > 0 && x.at < len(w.news); n-- {
		e := w.news[x.at]
		x.at++
		skippable := e.Kind == PodObserved && slices.ContainsFunc(w.news[x.at:], func(later Event) bool {
			return later.Kind == PodObserved && later.Worker == e.Worker && later.Pod.UID == e.Pod.UID
		})
		if skippable && rapid.Bool().Draw(t, "skip") {
			continue
		}
		s.Fold(e, time.Time{})
	}
}

// TestLaw: however late, doubled or interleaved with our own answers the news
// come, and whether or not the state was restored from its snapshot amid them, once all are in, the group is seen as if its present pods had just been
// observed (S20).
func TestLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{pods: map[int32]*Pod{}}
		s, x := NewState(0), &watcher{}
		var answers []Event
		condemned := map[int32]types.UID{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if a := w.step(t); a != nil {
				answers = append(answers, *a)
			}
			x.deliver(w, s, rapid.IntRange(0, 3).Draw(t, "news"), t)
			if len(answers) > 0 && rapid.Bool().Draw(t, "answer") {
				i := rapid.IntRange(0, len(answers)-1).Draw(t, "which")
				if a := answers[i]; a.Kind == DeleteAccepted && knows(s, a.UID) {
					condemned[a.Worker] = a.UID
				}
				s.Fold(answers[i], time.Time{})
				answers = slices.Delete(answers, i, i+1)
			}
			if rapid.IntRange(0, 4).Draw(t, "rejected") == 0 {
				reject(t, s)
			}
			if rapid.IntRange(0, 9).Draw(t, "restored") == 0 {
				s = restored(t, s)
			}
			for _, p := range s.View("set", nil).Live {
				if condemned[p.Worker] == p.UID {
					t.Fatalf("S20: pod %s counts as live, whose deletion was accepted", p.UID)
				}
			}
		}
		x.deliver(w, s, len(w.news), t)
		for _, a := range answers {
			s.Fold(a, time.Time{})
		}
		fresh := NewState(0)
		for _, p := range w.pods {
			fresh.Fold(Observed(*p), time.Time{})
		}
		if diff := cmp.Diff(fresh.View("set", nil), s.View("set", nil)); diff != "" {
			t.Fatalf("S20: view of the snapshot (-) and of the history (+) differ:\n%s", diff)
		}
	})
}

// knows says that the pod with this UID is there, as far as is known.
func knows(s *State, uid types.UID) bool {
	return slices.ContainsFunc(s.Pods(), func(p *Pod) bool { return p.UID == uid })
}

// reject has a request of ours fail: what is not observed has not happened.
func reject(t *rapid.T, s *State) {
	before := s.View("set", nil)
	if s.Fold(Event{Kind: WriteRejected, Worker: rapid.Int32Range(0, 3).Draw(t, "of worker"), Cause: "refused"}, time.Time{}) {
		t.Fatal("a rejected write changed what is known")
	}
	if diff := cmp.Diff(before, s.View("set", nil)); diff != "" {
		t.Fatalf("view before (-) and after (+) a rejected write:\n%s", diff)
	}
}

// restored is the state as its own snapshot gives it: what the journal is begun with,
// and replayed from. It knows the same, and goes on as well.
func restored(t *rapid.T, s *State) *State {
	again := NewState(0)
	for _, e := range s.Snapshot() {
		again.Fold(e, time.Time{})
	}
	if diff := cmp.Diff(s.View("set", nil), again.View("set", nil)); diff != "" {
		t.Fatalf("view before (-) and after (+) a round trip through the snapshot:\n%s", diff)
	}
	if diff := cmp.Diff(s.Unconfirmed(), again.Unconfirmed()); diff != "" {
		t.Fatalf("unconfirmed before (-) and after (+) a round trip through the snapshot:\n%s", diff)
	}
	return again
}

// TestFoldIgnoresLateNews has the cases that the law rests on, one by one.
func TestFoldIgnoresLateNews(t *testing.T) {
	pod := func(uid, version string) Pod {
		return Pod{Name: "s-0", UID: types.UID(uid), Version: version, Controller: "set", Size: 1}
	}
	gone := func(uid, version string) Event {
		return Event{Kind: PodGone, UID: types.UID(uid), Version: version}
	}
	for _, tc := range []struct {
		name   string
		events []Event
		want   string // uid@version, or empty
	}{
		{"newer version of the same pod", []Event{Observed(pod("a", "9")), Observed(pod("a", "10"))}, "a@10"},
		{"older version of the same pod", []Event{Observed(pod("a", "10")), Observed(pod("a", "9"))}, "a@10"},
		{"next pod of the name", []Event{Observed(pod("a", "1")), Observed(pod("b", "2"))}, "b@2"},
		{"old pod after the next of the name was created", []Event{Accepted(pod("b", "5"), ""), Observed(pod("a", "3"))}, "b@5"},
		{"deletion of another UID", []Event{Observed(pod("b", "5")), gone("a", "6")}, "b@5"},
		{"deletion", []Event{Observed(pod("a", "5")), gone("a", "6")}, ""},
		{"answer after the deletion", []Event{Observed(pod("a", "5")), gone("a", "7"), Accepted(pod("a", "6"), "")}, ""},
		{"deletion of unknown version, then a late answer", []Event{Observed(pod("a", "5")), gone("a", ""), Accepted(pod("a", "6"), "")}, ""},
		{"creation after the deletion", []Event{Observed(pod("a", "5")), gone("a", "6"), Accepted(pod("b", "7"), "")}, "b@7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewState(0)
			for _, e := range tc.events {
				s.Fold(e, time.Time{})
			}
			got := ""
			if v := s.View("set", nil); v.Leader != nil {
				got = string(v.Leader.UID) + "@" + v.Leader.Version
			}
			if got != tc.want {
				t.Errorf("known pod is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDeleteAcceptedHolds: a pod whose deletion was accepted counts as
// terminating, also when an older state of it is seen afterwards.
func TestDeleteAcceptedHolds(t *testing.T) {
	s := NewState(0)
	p := Pod{Name: "s-0", UID: "a", Version: "1", Controller: "set", Size: 1}
	s.Fold(Observed(p), time.Time{})
	s.Fold(Event{Kind: DeleteAccepted, UID: "a"}, time.Time{})
	p.Version, p.Ready = "2", true
	s.Fold(Observed(p), time.Time{})
	if v := s.View("set", nil); v.Terminating != 1 || len(v.Live) != 0 {
		t.Errorf("terminating %d, live %v; want 1 and none", v.Terminating, v.Live)
	}
}

// TestEmptyWaitsForTheCache: as long as an informer may still show a pod that is
// gone, the group is kept, which knows better.
func TestEmptyWaitsForTheCache(t *testing.T) {
	s := NewState(0)
	p := Pod{Name: "s-0", UID: "a", Version: "1", Controller: "set", Size: 1}
	s.Fold(Observed(p), time.Time{})
	s.Fold(Event{Kind: PodGone, UID: "a"}, time.Time{})
	if s.Empty() {
		t.Error("empty although the informers have yet to see the end of the pod")
	}
	p.Version = "2"
	s.Fold(Observed(p), time.Time{})
	if v := s.View("set", nil); v.HasPods {
		t.Error("late news brought the pod back")
	}
	s.Fold(Event{Kind: PodGone, UID: "a", Version: "3"}, time.Time{})
	if !s.Empty() {
		t.Error("not empty although the informers have seen the end of the pod")
	}
}

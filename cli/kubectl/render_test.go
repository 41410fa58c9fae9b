package kubectl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

var update = flag.Bool("update", false, "write testdata anew")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("other than %s (-update writes that):\n%s", path, got)
	}
}

func TestRender(t *testing.T) {
	for name, w := range map[string]*world{"3": small(t), "300": large(t)} {
		status := newStatus(&w.seen)
		for _, width := range []int{80, 160, 0} {
			t.Run(fmt.Sprintf("%s groups, %d columns", name, width), func(t *testing.T) {
				lines := status.render(view{width: width, now: noon})
				for _, line := range lines {
					if width > 0 && len([]rune(line)) > width {
						t.Errorf("%d columns: %s", len([]rune(line)), line)
					}
				}
				golden(t, fmt.Sprintf("status-%s-%d.txt", name, width), strings.Join(lines, "\n")+"\n")
			})
		}
	}
}

// A pod that should have ended is named with its node, or the finalizer that holds it.
func TestStuckPods(t *testing.T) {
	w := small(t)
	w.at = noon
	going := func(p *corev1.Pod) {
		then, grace := ago(time.Minute), int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &then, &grace
	}
	w.group(3, 1, going)
	w.group(4, 1, going, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/held"} })
	for index, want := range map[int]string{1: "4 pods to be gone (Update)", 3: "pod web-3, which should be gone: node node-3 has not ended it",
		4: "pod web-4, which should be gone: finalizer example.com/held holds it"} {
		if got := newStatus(&w.seen).Groups[index].WaitingFor; !strings.HasPrefix(got, want) {
			t.Errorf("group %d waits for %q, want %q", index, got, want)
		}
	}
}

func TestRenderAll(t *testing.T) {
	w := large(t)
	lines := newStatus(&w.seen).render(view{width: 80, now: noon, all: true})
	if n := len(lines); n < 300 {
		t.Errorf("%d lines", n)
	}
}

// What is narrower than any word is cut, not looped over or overflown.
func TestWrap(t *testing.T) {
	v := view{width: 24}
	got := v.wrap("    ", "a "+strings.Repeat("ä", 45)+" b")
	want := []string{"    a", "    " + strings.Repeat("ä", 20), "    " + strings.Repeat("ä", 20), "    äääää b"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCut(t *testing.T) {
	lines := []string{"first", "second", "third"}
	if got := cut(lines, 4, 2); strings.Join(got, "|") != "firs|... " {
		t.Errorf("got %q", got)
	}
	if got := cut(lines, 80, 3); len(got) != 3 || got[2] != "third" {
		t.Errorf("got %q", got)
	}
}

func TestShortened(t *testing.T) {
	nodes := []string{"node-1", "node-2", "node-3"}
	for width, want := range map[int]string{80: "node-1,node-2,node-3", 17: "node-1,node-2 +1", 10: "node-1 +2", 8: "3 nodes"} {
		if got := shortened(nodes, width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// Phases and reasons are the core's; which times and counts are shown is ours.
func TestStatus(t *testing.T) {
	w := small(t)
	s := newStatus(&w.seen)
	if s.ReadyGroups != 1 || s.UpdatedGroups != 1 || !s.Observed || s.UpdateRevision.Number != 2 {
		t.Errorf("got %+v", s)
	}
	want := []struct {
		phase group.Phase
		since time.Duration
		ready int32
	}{{group.Ready, 9 * time.Minute, 4}, {group.Recycling, 20 * time.Second, 0}, {group.WorkersStarting, 3 * time.Minute, 1}}
	for i, want := range want {
		g := s.Groups[i]
		if g.Phase != want.phase || noon.Sub(g.Since) != want.since || g.ReadyPods != want.ready {
			t.Errorf("group %d: %s since %s, %d Ready; want %+v", i, g.Phase, noon.Sub(g.Since), g.ReadyPods, want)
		}
	}
}

// A change that the controller has not taken up yet is not over.
func TestObserved(t *testing.T) {
	for name, change := range map[string]func(*world){
		"spec":   func(w *world) { w.set.Generation++ },
		"status": func(w *world) { w.set.Status.UpdateRevision = w.key(1) },
		"restart": func(w *world) {
			w.set.Annotations = map[string]string{v1.AnnotationRestartedAt: "2026-12-01T12:00:00Z"}
		},
		"undo": func(w *world) { w.set.Annotations = map[string]string{v1.AnnotationUndo: "previous"} },
	} {
		w := newWorld(t, 1, 1)
		w.group(0, 2)
		if lacks := newStatus(&w.seen).lacks(forRollout, noon); lacks != "" {
			t.Errorf("%s: before: %s", name, lacks)
		}
		change(w)
		if s := newStatus(&w.seen); s.Observed || s.lacks(forRollout, noon) == "" || s.lacks(forReady, noon) == "" {
			t.Errorf("%s: the controller cannot know it, but is said to", name)
		}
	}
}

package kubectl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

const prefix = "rollout.leaderworkerset.x-k8s.io/"

// two makes a set of two groups of two pods that has got a second revision.
func two(t *testing.T, ns string) *harness.Set {
	t.Helper()
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2))))
	image(t, set, "example.com/worker:2")
	return env.WaitAvailable(t, set)
}

func image(t *testing.T, set *harness.Set, image string) {
	t.Helper()
	env.Update(t, set, func(s *harness.Set) { s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = image })
}

// TestSteering leads a set through every command that writes, with the rights of edit.
// Each writes its annotation and nothing else.
func TestSteering(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "edit")
	set := two(t, ns)
	// steer runs a command and checks what is written.
	steer := func(key, value string, args ...string) string {
		t.Helper()
		before := env.Get(t, set)
		out := p.lws(args...)
		after := env.Get(t, set)
		if got, has := after.Annotations[prefix+key]; got != value && key != "undo" || has != (value != "") && key != "undo" {
			t.Errorf("%v: annotation %s is %q, want %q", args, key, got, value)
		}
		for _, s := range []*harness.Set{before, after} {
			s.Annotations = maps.Clone(s.Annotations)
			delete(s.Annotations, prefix+key)
		}
		if !maps.Equal(before.Annotations, after.Annotations) || key != "undo" && before.Generation != after.Generation {
			t.Errorf("%v wrote more: %v generation %d, before %v %d", args, after.Annotations, after.Generation, before.Annotations, before.Generation)
		}
		contains(t, out, "web: ", prefix+key, "to undo  ", "by hand  kubectl -n "+ns+" annotate lws/web")
		return out
	}
	contains(t, steer("paused", "true", "pause", "web"), "kubectl lws -n "+ns+" resume web")
	contains(t, p.lws("pause", "web"), "paused already")
	contains(t, p.lws("status", "web"), "Paused")
	steer("paused", "", "resume", "web")
	contains(t, p.lws("resume", "web"), "not paused")

	contains(t, steer("partition", "1", "partition", "web", "1"), "partition web --clear")
	contains(t, steer("partition", "50%", "partition", "web", "50%"), "partition web 1")
	contains(t, steer("partition", "", "partition", "web", "--clear"), "partition web 50%")

	contains(t, steer("undo", "previous", "undo", "web"), "revision 1 ", "undo web --to-revision 2")
	contains(t, p.lws("wait", "web", "--timeout=2m"), "the rollout is over")
	if got := env.Get(t, set).Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image; got != "example.com/worker:1" {
		t.Errorf("undone to image %s", got)
	}
	steer("undo", "2", "undo", "web", "--to-revision", "2")
	p.lws("wait", "web", "--timeout=2m")

	uid := env.Pod(t, ns, "web-0").UID
	// Not earlier: a group made after the time that was asked for is done already.
	now := time.Now().UTC().Format(time.RFC3339)
	p.lws("recycle", "web", "0", "--at", now)
	p.lws("wait", "web", "--timeout=2m")
	if env.Pod(t, ns, "web-0").UID == uid {
		t.Error("group 0 is the same")
	}
	if got := env.Get(t, set).Annotations[prefix+"recycle"]; got != "0@"+now {
		t.Errorf("recycle is %s", got)
	}

	uid = env.Pod(t, ns, "web-1").UID
	p.lws("restart", "web")
	p.lws("wait", "web", "--timeout=2m")
	if env.Pod(t, ns, "web-1").UID == uid {
		t.Error("group 1 is the same")
	}
}

// TestReading shows a set with the rights of view.
func TestReading(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "view")
	two(t, ns)
	contains(t, p.lws("status", "web"), ns+"/web: 2 groups of 2 pods", "ready    [##############################] 2/2",
		"revision 2 (", "2 Ready", "node-", "    0  Ready  ")
	var status struct {
		ReadyGroups int
		Groups      []struct{ Phase string }
	}
	if err := json.Unmarshal([]byte(p.lws("status", "web", "-o", "json")), &status); err != nil || status.ReadyGroups != 2 || status.Groups[1].Phase != "Ready" {
		t.Errorf("%+v: %v", status, err)
	}
	contains(t, p.lws("status", "web", "-o", "yaml"), "readyGroups: 2\n")

	history := strings.Split(p.lws("history", "web"), "\n")
	if len(history) != 4 || !strings.Contains(history[1], "update,current  example.com/worker:2") || !strings.HasPrefix(strings.TrimSpace(history[2]), "1 ") {
		t.Errorf("history:\n%s", strings.Join(history, "\n"))
	}
	contains(t, p.lws("history", "web", "-o", "json"), `"number": 2`, `"current": true`)
	contains(t, p.lws("history", "web", "--revision", "1"), "# leaderworkerset "+ns+"/web, revision 1 (", "image: example.com/worker:1\n", "size: 2\n", "networkConfig:\n")

	diff := p.lws("diff", "web")
	contains(t, diff, "--- revision 1 (", "+++ revision 2 (", "-      - image: example.com/worker:1\n", "+      - image: example.com/worker:2\n")
	if reverse := p.lws("diff", "web", "--from=2", "--to=1"); !strings.Contains(reverse, "+      - image: example.com/worker:1\n") {
		t.Errorf("diff:\n%s", reverse)
	}
	contains(t, p.lws("wait", "web", "--for=ready", "--timeout=1m"), "all groups are Ready")
	p.fails(1, []string{"pause", "web"}, ns+"/web", "forbidden", `cannot patch resource "leaderworkersets"`)
}

// TestRefused has every command fail in one line that says what is wrong.
func TestRefused(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "edit")
	two(t, ns)
	nobody := somebody(t, ns, "")
	all := [][]string{{"status"}, {"status", "--watch"}, {"history"}, {"history", "--revision=1"}, {"diff"}, {"undo"}, {"pause"}, {"resume"},
		{"restart"}, {"recycle", "0"}, {"partition", "1"}, {"wait"}}
	of := func(words []string, name string) []string {
		return slices.Insert(slices.Clone(words), 1, name)
	}
	for _, words := range all {
		p.fails(1, of(words, "other"), "leaderworkerset "+ns+"/other not found")
		nobody.fails(1, of(words, "web"), ns+"/web", "forbidden", `cannot get resource "leaderworkersets"`)
		p.fails(1, append(of(words, "web"), "--server=https://127.0.0.1:1"), ns+"/web", "the cluster cannot be reached", "127.0.0.1:1", "refused")
	}
	for _, test := range []struct {
		words []string
		says  []string
	}{
		{[]string{"history", "web", "--revision=7"}, []string{ns + "/web has no revision 7; there are: 1, 2"}},
		{[]string{"diff", "web", "--from=7"}, []string{"has no revision 7"}},
		{[]string{"diff", "web", "--to=7"}, []string{"has no revision 7"}},
		{[]string{"undo", "web", "--to-revision=7"}, []string{"has no revision 7"}},
		{[]string{"undo", "web", "--to-revision=2"}, []string{"revision 2 is the present spec"}},
		{[]string{"recycle", "web", "0-2"}, []string{"no group 2"}},
		{[]string{"recycle", "web", "first"}, []string{`"first@`, "group indexes and a time"}},
		{[]string{"recycle", "web", "0", "--at=noon"}, []string{`"0@noon"`, "RFC 3339"}},
		{[]string{"recycle", "web"}, []string{"NAME 3,5-7"}},
		{[]string{"partition", "web", "many"}, []string{`"many"`, "a number of groups or a percentage"}},
		{[]string{"partition", "web"}, []string{"NAME 2"}},
		{[]string{"wait", "web", "--for=nothing"}, []string{"--for", "rollout or ready", "nothing"}},
		{[]string{"status"}, []string{"name of one LeaderWorkerSet"}},
		{[]string{"status", "web", "-o", "xml"}, []string{"--output", "json or yaml", "xml"}},
		{[]string{"status", "web", "--context=nowhere"}, []string{"nowhere"}},
		{[]string{"nonsense"}, []string{`unknown command "nonsense" for "kubectl lws"`}},
	} {
		p.fails(1, test.words, test.says...)
	}
}

// TestWait has waiting end in every way.
func TestWait(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "view")
	set := two(t, ns)
	p.lws("wait", "web")
	p.fails(124, []string{"wait", "web", "--server=" + env.Cluster.URL(), "--timeout=1ns"}, ns+"/web: not within 1ns")

	env.Update(t, set, func(s *harness.Set) {
		s.Annotations = map[string]string{lwsv1.AnnotationPaused: "true"}
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:3"
	})
	p.fails(124, []string{"wait", "web", "--timeout=5s"}, "not within 5s: 0 of 2 groups updated and available (paused)")
	p.lws("wait", "web", "--for=ready")

	env.Update(t, set, func(s *harness.Set) {
		s.Annotations = map[string]string{lwsv1.AnnotationProgressDeadline: "5s"}
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.NodeSelector = map[string]string{"no": "node"}
	})
	p.fails(1, []string{"wait", "web", "--timeout=2m"}, "web: Stalled (ProgressDeadlineExceeded): ", "group 1 waits for pod web-1")
}

// TestWatch follows a set that comes up and goes, without a terminal.
func TestWatch(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "view")
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "web", harness.Size(2))))
	cmd := p.command("lws", "status", "web", "--watch", "-n", ns)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(pipe)
	until := func(part string) {
		t.Helper()
		var all strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
			if strings.ContainsRune(lines.Text(), '\x1b') {
				t.Fatalf("the cursor is moved: %q", lines.Text())
			}
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("it ended without %q:\n%s", part, all.String())
	}
	until("group 0: Ready, revision 1 (")
	env.Scale(t, set, 2)
	until("group 1: ")
	until("2/2 groups Ready")
	env.DeletePod(t, ns, "web-1-1")
	until("group 1: Ready -> ")
	until("2/2 groups Ready")
	// An interrupt is how one ends it.
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

// TestCompletion completes names and revisions, as kubectl asks for them.
func TestCompletion(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	p := somebody(t, ns, "view")
	two(t, ns)
	complete := func(words ...string) string {
		t.Helper()
		cmd := p.command(append([]string{"__complete", "lws"}, words...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", words, err)
		}
		return string(out)
	}
	contains(t, complete(""), "status\t", "recycle\t")
	if got := complete("status", "-n", ns, ""); !strings.HasPrefix(got, "web\n:4") {
		t.Errorf("names: %q", got)
	}
	if got := complete("undo", "-n", ns, "web", "--to-revision", ""); !strings.HasPrefix(got, "2\tkey ") || !strings.Contains(got, "\n1\tkey ") {
		t.Errorf("revisions: %q", got)
	}
	contains(t, complete("wait", "web", "--for", ""), "rollout\n", "ready\n")
}

package page

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestGolden: the pages of a fixed world, without style and script.
func TestGolden(t *testing.T) {
	follower := rollingOut()
	follower.follower, follower.leader, follower.groups = true, "pod-7_1234", nil
	for name, tc := range map[string]struct {
		w    *world
		path string
	}{
		"fleet":    {rollingOut(), "/"},
		"set":      {rollingOut(), "/sets/green/web"},
		"group":    {rollingOut(), "/sets/green/web/2"},
		"follower": {follower, "/sets/green/web"},
	} {
		t.Run(name, func(t *testing.T) {
			got := regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`).ReplaceAllString(tc.w.page(t, tc.path), "$1$2")
			path := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("other than %s (-update writes that):\n%s", path, d)
			}
		})
	}
}

// TestOrder: sets in trouble come first, then those on the way, paused, well.
func TestOrder(t *testing.T) {
	html := rollingOut().page(t, "/")
	last := -1
	for _, name := range []string{"green/web", "green/fresh", "blue/paused", "blue/idle"} {
		at := strings.Index(html, `id="`+name+`"`)
		if at < last {
			t.Errorf("%s comes too early", name)
		}
		last = at
	}
	if got := text(html); !strings.Contains(got, "4 sets 1 in trouble 1 on the way 1 paused 1 available") {
		t.Errorf("counts: %s", got)
	}
}

// TestWaits: of a set that is not Ready the fleet tells what it waits for, once.
func TestWaits(t *testing.T) {
	w := rollingOut()
	w.add("red", "slow", 3, is(v1.ConditionProgressing, v1.ReasonGroupsProgressing, "Replicas are progressing"))
	w.groups["red/slow"] = controller.DebugSet{Replicas: 3, Groups: []controller.DebugGroup{{Index: 0, Phase: group.Ready, WaitingFor: "its recreation"},
		{Index: 1, Phase: group.Pending, WaitingFor: "pod slow-1: ImagePullBackOff"}, {Index: 2, Phase: group.Pending, WaitingFor: "pod slow-2: ImagePullBackOff"}}}
	got := text(w.page(t, "/"))
	if strings.Count(got, " waits for ") != 1 || !strings.Contains(got, "Group 1 waits for pod slow-1: ImagePullBackOff") {
		t.Errorf("what is told: %s", got)
	}
}

// TestCauses: what has befallen many groups is told once, the newest first, and a failure
// with what was seen of it.
func TestCauses(t *testing.T) {
	var groups []controller.DebugGroup
	for i := range int32(30) {
		groups = append(groups, controller.DebugGroup{Index: i, Journal: []group.Record{
			changed(group.WorkersStarting, group.Ready, "every pod Ready", time.Hour), changed(group.Ready, group.Recycling, "Update", time.Duration(60-i)*time.Minute),
			changed(group.Recycling, group.Pending, "all pods gone", time.Second)}})
	}
	failed := func(d time.Duration) []group.Record {
		return []group.Record{
			{At: before(d), Event: &group.Event{Kind: group.PodObserved, Pod: &group.Pod{Name: "web-7-1", Phase: "Failed"}}},
			{At: before(d), Event: &group.Event{Kind: group.PodObserved, Pod: &group.Pod{Name: "web-7", Phase: "Running", Ready: true}}},
			changed(group.Ready, group.Recycling, "Failure", d)}
	}
	groups[7].Journal = append(failed(2*time.Hour), failed(time.Minute)...)
	var got []string
	for _, c := range causes(groups, now) {
		got = append(got, fmt.Sprintf("%s %s→%s %s in %v and %d", c.Ago, c.From, c.To, c.Cause, c.Groups, c.More))
	}
	want := []string{"60s Ready→Recycling Failure: PodObserved web-7-1 Failed in [7] and 0", "31m Ready→Recycling Update in [29 28 27 26 25 24 23 22 21 20] and 19"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFilter(t *testing.T) {
	for query, want := range map[string][]string{
		"":             {"blue/idle", "blue/paused", "green/fresh", "green/web"},
		"green/":       {"green/fresh", "green/web"},
		"WEB":          {"green/web"},
		"blue%2Fpause": {"blue/paused"},
		"none":         nil,
	} {
		html := rollingOut().page(t, "/?q="+query)
		for _, s := range rollingOut().sets {
			name, found := s.Namespace+"/"+s.Name, false
			for _, w := range want {
				found = found || w == name
			}
			if strings.Contains(html, `id="`+name+`"`) != found {
				t.Errorf("q=%s shows %s: %t", query, name, !found)
			}
		}
		if says := strings.Contains(html, "No set matches."); says != (want == nil) {
			t.Errorf("q=%s says that none matches: %t", query, says)
		}
	}
	if html := (&world{}).page(t, "/"); !strings.Contains(html, "There are no LeaderWorkerSets.") {
		t.Errorf("no sets: %s", text(html))
	}
}

// TestEscaping: whatever names, messages, causes and queries hold is text.
func TestEscaping(t *testing.T) {
	const evil = `"><script>alert('x')</script><b a='`
	w := &world{leader: evil, fenced: evil, follower: true, groups: map[string]controller.DebugSet{}}
	set := w.add("ns", "s", 2, is(v1.ConditionDegraded, evil, evil))
	set.Status.CurrentRevision, set.Status.UpdateRevision = evil, evil+"2"
	set.Status.GroupRestarts = []v1.GroupRestarts{{Revision: evil, Reason: evil, LastAt: metav1.NewTime(now)}}
	set.Annotations = map[string]string{v1.AnnotationPaused: evil}
	w.groups["ns/s"] = controller.DebugSet{Replicas: 2, Groups: []controller.DebugGroup{{Phase: evil, Revision: evil, WaitingFor: evil,
		Journal: []group.Record{changed(evil, evil, evil, 0), {Event: &group.Event{Kind: evil, Cause: evil}}}}}}
	for _, path := range []string{"/?q=" + "%22%3E%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E%3Cb%20a%3D%27", "/", "/sets/ns/s", "/sets/ns/s/0",
		"/sets/%22%3E%3Cscript%3Ealert%28%27x%27%29/s", "/sets/ns/s/%3Cscript%3Ealert%28%27x%27%29"} {
		body := w.ask(t, http.MethodGet, path).Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<b a=") || strings.Contains(body, "ZgotmplZ") {
			t.Errorf("%s:\n%s", path, body)
		}
		if !strings.Contains(body, "&lt;script&gt;alert(&#39;x&#39;)") {
			t.Errorf("%s does not quote it:\n%s", path, text(body))
		}
	}
}

func TestMissing(t *testing.T) {
	for path, want := range map[string]struct{ says, back string }{
		"/sets/green/none":            {"There is no set green/none.", `href="../../"`},
		"/sets/green/none/3":          {"There is no set green/none.", `href="../../../"`},
		"/sets/green/web/5":           {"The set green/web has no group 5.", `href="../../../"`},
		"/sets/green/web/-1":          {"The set green/web has no group -1.", `href="../../../"`},
		"/sets/green/web/x":           {"The set green/web has no group x.", `href="../../../"`},
		"/sets/green/web/99999999999": {"has no group 99999999999.", `href="../../../"`},
	} {
		r := rollingOut().ask(t, http.MethodGet, path)
		if r.Code != http.StatusNotFound || !strings.Contains(r.Body.String(), want.says) || !strings.Contains(r.Body.String(), want.back+">All sets") {
			t.Errorf("%s: %d, want 404 with %q and a way back:\n%s", path, r.Code, want.says, text(r.Body.String()))
		}
	}
	// Group 1 is wanted, and nothing of it exists yet.
	if got := text(rollingOut().page(t, "/sets/green/web/1")); !strings.Contains(got, "Group 1 P Pending") {
		t.Errorf("group 1: %s", got)
	}
}

func TestMethods(t *testing.T) {
	w := rollingOut()
	for _, path := range []string{"/", "/sets/green/web", "/sets/green/web/2"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
			if r := w.ask(t, method, path); r.Code != http.StatusMethodNotAllowed || r.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, r.Code, r.Header().Get("Allow"))
			}
		}
		get, head := w.ask(t, http.MethodGet, path), w.ask(t, http.MethodHead, path)
		if head.Code != http.StatusOK || head.Header().Get("Content-Length") != fmt.Sprint(get.Body.Len()) {
			t.Errorf("HEAD %s: %d, length %s; a GET has %d", path, head.Code, head.Header().Get("Content-Length"), get.Body.Len())
		}
	}
}

// TestPolicy: the header allows the style and the script of the page, and no others.
func TestPolicy(t *testing.T) {
	r := rollingOut().ask(t, http.MethodGet, "/")
	got := r.Header().Get("Content-Security-Policy")
	for tag, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(r.Body.String(), -1)
		if len(found) != 1 || len(found[0][1]) < 500 {
			t.Fatalf("%d elements %s", len(found), tag)
		}
		if want := directive + " " + hash(found[0][1]) + ";"; !strings.Contains(got, want) {
			t.Errorf("the policy %q lacks %q", got, want)
		}
	}
	if !strings.HasPrefix(got, "default-src 'none'; ") || strings.Contains(got, "unsafe") {
		t.Errorf("policy %q", got)
	}
	if attributes := regexp.MustCompile(`\s(style|on[a-z]+)=`).FindAllString(r.Body.String(), -1); attributes != nil {
		t.Errorf("the policy forbids attributes such as %q", attributes)
	}
}

// TestNotices: a page says what one should know before believing it.
func TestNotices(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		path   string
		want   string
	}{
		"filling":    {func(w *world) { w.filling = true }, "/", "still being filled"},
		"follower":   {func(w *world) { w.follower, w.leader = true, "pod-7" }, "/", "This replica does not lead, so it knows nothing of single groups: what follows is the stored status of the sets. The leader is pod-7."},
		"no leader":  {func(w *world) { w.follower = true }, "/sets/green/web", "No other replica is known to lead."},
		"fenced":     {func(w *world) { w.fenced = "lease a/b is held by c" }, "/", "nothing is written: lease a/b is held by c"},
		"busy":       {func(w *world) { delete(w.groups, "green/web") }, "/sets/green/web", "The set is being synced, or its turn has not come yet"},
		"busy group": {func(w *world) { delete(w.groups, "green/web") }, "/sets/green/web/0", "Group 0 Nothing is known here of this group."},
	} {
		w := rollingOut()
		if strings.Contains(text(w.page(t, tc.path)), tc.want) {
			t.Errorf("%s: it is said also when it is not so", name)
		}
		tc.change(w)
		if got := text(w.page(t, tc.path)); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q is not said:\n%s", name, tc.want, got)
		}
	}
}

// TestBounds: a page of 1000 groups is made in less than 100 ms and has less than 1 MB, and
// a page does not grow with the number of sets and groups.
func TestBounds(t *testing.T) {
	w := crowd(pageGroups)
	path := "/sets/default/" + w.sets[0].Name
	limit := 100 * time.Millisecond
	if raced {
		limit *= 10
	}
	// The machine may be busy with others now and then.
	best := time.Hour
	for try := 0; try < 20 && best > limit; try++ {
		start := time.Now()
		w.page(t, path)
		best = min(best, time.Since(start))
	}
	size := len(w.page(t, path))
	t.Logf("%d groups: %s, %d bytes", pageGroups, best, size)
	if best > limit {
		t.Errorf("%d groups take %s, more than %s", pageGroups, best, limit)
	}
	if size >= 1e6 {
		t.Errorf("%d groups take %d bytes", pageGroups, size)
	}
	for html, most := range map[string]int{crowd(5*pageGroups).page(t, path): 11 * size / 10, manySets(1000).page(t, "/"): 1e6} {
		if len(html) > most {
			t.Errorf("a page of more takes %d bytes, more than %d", len(html), most)
		}
	}
}

// manySets is a fleet of sets with 1000 groups each.
func manySets(n int) *world {
	w := &world{groups: map[string]controller.DebugSet{}}
	groups := crowd(1000)
	for i := range n {
		name := fmt.Sprintf("set-%d", i)
		w.add("default", name, 1000, is(v1.ConditionAvailable, v1.ReasonAllGroupsReady, "All replicas are ready"))
		w.groups["default/"+name] = groups.groups["default/"+groups.sets[0].Name]
	}
	return w
}

// TestParts: what does not stand on one page stands on the next ones, each thing once.
func TestParts(t *testing.T) {
	later := regexp.MustCompile(`<a href="([^"]*)">later →</a>`)
	walk := func(w *world, path, item string) (pages int, seen map[string]int) {
		seen = map[string]int{}
		for query := ""; ; pages++ {
			html := w.page(t, path+query)
			for _, m := range regexp.MustCompile(item).FindAllStringSubmatch(html, -1) {
				seen[m[1]]++
			}
			m := later.FindStringSubmatch(html)
			if m == nil {
				return pages + 1, seen
			}
			query = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	check := func(what string, pages, wantPages int, seen map[string]int, want int) {
		for name, n := range seen {
			if n != 1 {
				t.Errorf("%s %s stands there %d times", what, name, n)
			}
		}
		if pages != wantPages || len(seen) != want {
			t.Errorf("%d pages with %d %s, want %d with %d", pages, len(seen), what, wantPages, want)
		}
	}
	w := crowd(2500)
	pages, seen := walk(w, "/sets/default/"+w.sets[0].Name, `id="g(\d+)"`)
	check("groups", pages, 3, seen, 2500)
	pages, seen = walk(manySets(250), "/", `id="(default/[^"]*)"`)
	check("sets", pages, 3, seen, 250)
	if html := manySets(250).page(t, "/?q=set-1&from=100"); !strings.Contains(html, `href="?from=0&amp;q=set-1">← earlier`) {
		t.Errorf("the filter is lost on the way back: %s", text(html)[:300])
	}
	if html := manySets(3).page(t, "/?from=7777"); !strings.Contains(html, `id="default/set-0"`) {
		t.Error("a part that is not there is not the first one")
	}
}

func BenchmarkSet(b *testing.B) {
	w := crowd(pageGroups)
	h := w.handler()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/sets/default/"+w.sets[0].Name, nil))
	}
}

// TestWindow: groups that exist, those of which nothing does, and surge groups.
func TestWindow(t *testing.T) {
	s := controller.DebugSet{Replicas: 4, Groups: []controller.DebugGroup{{Index: 1, Phase: group.Ready}, {Index: 3, Phase: group.Failed}, {Index: 4, Phase: group.Recycling}, {Index: 9, Phase: group.Ready}}}
	for _, tc := range []struct {
		from, most int
		want       string
	}{
		{0, 10, "0P 1R 2P 3F 4C 9R"}, {1, 2, "1R 2P"}, {4, 10, "4C 9R"}, {5, 1, "9R"}, {6, 1, ""}, {0, 0, ""},
	} {
		groups, all := window(&s, tc.from, tc.most)
		var got []string
		for i := range groups {
			c := cellOf(&groups[i], &s)
			got = append(got, fmt.Sprint(c.Index)+c.Letter)
		}
		if strings.Join(got, " ") != tc.want || all != 6 {
			t.Errorf("from %d, at most %d: %v of %d, want %s of 6", tc.from, tc.most, got, all, tc.want)
		}
	}
	huge := controller.DebugSet{Replicas: 1<<31 - 1}
	if groups, all := window(&huge, 1<<31-3, 10); len(groups) != 2 || all != 1<<31-1 {
		t.Errorf("of the most groups: %d of %d", len(groups), all)
	}
}

// TestAllPhasesHaveALook: each phase that a page shows has a letter of its own.
func TestAllPhasesHaveALook(t *testing.T) {
	letters := map[string]group.Phase{}
	for _, p := range group.Phases {
		l := lookOf(p)
		if p == group.Gone {
			continue
		}
		if l.Letter == "?" || letters[l.Letter] != "" {
			t.Errorf("%s has the letter %s, as %s", p, l.Letter, letters[l.Letter])
		}
		letters[l.Letter] = p
	}
}

package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestStatusPage looks at the pages in the middle of a rollout.
func TestStatusPage(t *testing.T) {
	browser := startBrowser(t)
	ns := env.Namespace(t)
	fleet(t, ns)
	set := inTheMiddle(t, ns)
	path := fmt.Sprintf("/sets/%s/%s", set.Namespace, set.Name)
	// These change nothing, so that they can run side by side.
	t.Run("Views", func(t *testing.T) {
		tests := map[string]func(*testing.T){
			"NoScript": func(t *testing.T) { noScript(t, browser, ns) },
			"Silence":  func(t *testing.T) { silence(t, browser) },
			"Keyboard": func(t *testing.T) { keyboard(t, browser, path, ns) },
			"Marked": func(t *testing.T) {
				held(t, browser, path, `getSelection().selectAllChildren(document.querySelector("h1"))`, `getSelection().removeAllRanges()`)
			},
			"Off": func(t *testing.T) {
				held(t, browser, path, `document.querySelector("#live input").click()`, `document.querySelector("#live input").click()`)
			},
		}
		for name, look := range map[string]func(*testing.T, context.Context, *harness.Set, string, int){
			"Fleet": lookAtFleet, "Set": lookAtSet, "Group": lookAtGroup, "Missing": lookAtMissing,
		} {
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int{1400, 400} {
					tests[fmt.Sprintf("%s-%s-%d", name, scheme, width)] = func(t *testing.T) { look(t, browser, set, scheme, width) }
				}
			}
		}
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("Refresh", func(t *testing.T) { refresh(t, browser, set) })
	t.Run("Follower", func(t *testing.T) { follower(t, browser, set) })
}

// coloured fails the test unless the ground of the page is as light as the scheme.
func (b *tab) coloured(scheme string) {
	b.t.Helper()
	ground := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]; ground != want {
		b.t.Errorf("%s: the ground is %s, want %s", scheme, ground, want)
	}
}

// says fails the test unless an element shows all parts.
func (b *tab) says(selector string, parts ...string) {
	b.t.Helper()
	text := b.text(selector)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s does not say %q:\n%s", selector, part, text)
		}
	}
}

// lookAtFleet: 50 sets, the large one among them.
func lookAtFleet(t *testing.T, browser context.Context, set *harness.Set, scheme string, width int) {
	b := open(t, browser, "/", scheme, width)
	b.picture("fleet")
	b.coloured(scheme)
	if n := b.count(".set"); n != small+1 {
		t.Errorf("%d sets, want %d", n, small+1)
	}
	names := eval[[]string](b, `[...document.querySelectorAll(".set h2 a")].map(e => e.innerText.split("/")[1])`)
	troubled := names[:min(len(names), 2)]
	slices.Sort(troubled)
	if want := []string{"has-failed", set.Name}; !slices.Equal(troubled, want) {
		t.Errorf("first come %v, want %v", troubled, want)
	}
	large := `.set:has([id="` + set.Namespace + "/" + set.Name + `"])`
	if n := b.count(large + " .cells > *"); n != groups {
		t.Errorf("%d cells, want %d", n, groups)
	}
	if n := b.count(large + " .cells .old"); n != outdated {
		t.Errorf("%d cells of an earlier revision, want %d", n, outdated)
	}
	b.says(large, "Degraded", "Updating", "300 × 2 pods", "ready", "280/300", "120/300", "17 Recycling", "1 Failed", "Last cause: group 25", "revision 1 (", "→", "2 (")
	b.says(`.set:has([id="`+set.Namespace+`/cannot-start"])`, "Progressing", "0/4", "4 Pending", "Group 0 waits for pod cannot-start-0 to become Ready")
	b.says("h1", "50 sets", "2 in trouble", "1 paused")
	b.whole()
}

func lookAtSet(t *testing.T, browser context.Context, set *harness.Set, scheme string, width int) {
	b := open(t, browser, "/", scheme, width)
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById(` + quoted(set.Namespace+"/"+set.Name) + `).click()`))
	b.wait("the page of the set", `document.querySelector("h1").innerText.startsWith(`+quoted(set.Name)+`)`)
	b.picture("set")
	b.coloured(scheme)
	for selector, want := range map[string]int{"a.re": 280, "a.cy": 17, "a.fa": 1, "a.pe": 1, "a.wo": 1, "a.old": outdated, "a": groups} {
		if n := b.count(".cells " + selector); n != want {
			t.Errorf("%d cells %s, want %d", n, selector, want)
		}
	}
	if n := b.count("tbody tr"); n != groups {
		t.Errorf("%d rows, want %d", n, groups)
	}
	b.says("tbody tr:first-child", "251", "Failed", "somebody's help", "as often as maxGroupRestarts allows (1)", "Restarts: 1, last", "restart budget spent")
	b.says("tbody", " to be gone (Update)")
	b.says(".conditions", "Degraded True", "ReplicaRestartBudgetExceeded", "UpdateInProgress True")
	b.says(".revisions", "update", "current", "163 Ready", "17 Recycling")
	b.says(".recent", "Recycling Update in ", " more", "Failure: PodObserved "+set.Name+"-25", "-1 Failed in 25", "Ready → WorkersStarting a worker not Ready in 261, 25", "Failed restart budget spent")
	b.says("dl", "20 unavailable", "1 for each group")
	b.whole()
}

func lookAtGroup(t *testing.T, browser context.Context, set *harness.Set, scheme string, width int) {
	b := open(t, browser, fmt.Sprintf("/sets/%s/%s", set.Namespace, set.Name), scheme, width)
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("c251").click()`))
	b.wait("the page of the group", `document.querySelector("h1").innerText.startsWith("Group 251")`)
	b.picture("group")
	b.coloured(scheme)
	b.says("h1", "Failed")
	b.says(".trouble", "Waits for somebody's help")
	b.says("dl", "Incarnation", "3")
	b.says(".journal", "→ Failed", "restart budget spent", "PodObserved "+set.Name+"-251-1 Failed")
	b.whole()
}

func lookAtMissing(t *testing.T, browser context.Context, set *harness.Set, scheme string, width int) {
	b := open(t, browser, "/sets/"+set.Namespace+"/nothing", scheme, width)
	b.picture("missing")
	b.coloured(scheme)
	b.says("main", "There is no set "+set.Namespace+"/nothing.")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("main a").click()`))
	b.wait("the way back", `document.querySelectorAll(".set").length > 1`)
}

// refresh sees a changed phase appear without a reload, and finds the reader's place kept.
func refresh(t *testing.T, browser context.Context, set *harness.Set) {
	b := open(t, browser, fmt.Sprintf("/sets/%s/%s", set.Namespace, set.Name), "light", 1400)
	b.do(chromedp.Evaluate[chromedp.Void](`(() => {
		window.before = document.querySelector("main");
		document.querySelector("#d251").open = true;
		document.querySelector("#d251 summary").focus({preventScroll: true});
		scrollTo(0, 700);
	})()`))
	if eval[bool](b, `document.querySelector("#c261").matches(".re")`) {
		t.Fatal("group 261 is Ready at the beginning")
	}
	env.Annotate(t, set.Namespace, set.Name+"-261-1", cluster.AnnotationUnready, nil)
	b.wait("the changed phase", `document.querySelector("#c261").matches(".re") && document.querySelector("#c261").title.includes("Ready")`)
	for what, holds := range map[string]string{
		"the page was not loaded anew":         `window.before !== undefined && window.before !== document.querySelector("main")`,
		"an open journal stays open":           `document.querySelector("#d251").open`,
		"focus stays":                          `document.activeElement === document.querySelector("#d251 summary")`,
		"the page stays where it was scrolled": `Math.abs(scrollY - 700) < 100`,
	} {
		if !eval[bool](b, holds) {
			t.Errorf("not so: %s", what)
		}
	}
	b.whole()
}

// held: a page is not renewed from one script on until another one.
func held(t *testing.T, browser context.Context, path, hold, release string) {
	b := open(t, browser, path, "light", 1400)
	b.do(chromedp.Evaluate[chromedp.Void](hold))
	// What is under way may still come in.
	time.Sleep(time.Second)
	b.do(chromedp.Evaluate[chromedp.Void](`window.held = document.querySelector("main")`))
	time.Sleep(3 * time.Second)
	if !eval[bool](b, `window.held === document.querySelector("main")`) {
		t.Errorf("renewed in spite of %s", hold)
	}
	b.do(chromedp.Evaluate[chromedp.Void](release))
	b.wait("the page to be renewed after "+release, `window.held !== document.querySelector("main")`)
	b.whole()
}

// noScript: a browser without scripts loads the page anew.
func noScript(t *testing.T, browser context.Context, ns string) {
	b := blank(t, browser, "light", 1400)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.visit("/?q=" + ns + "/model-0")
	first := b.text(".at")
	if first == "" || b.count(".set") < 5 || b.shown("#live") {
		t.Errorf("without a script: %q, %d sets, switch %t", first, b.count(".set"), b.shown("#live"))
	}
	b.wait("the page to be loaded anew", `document.querySelector(".at") !== null && document.querySelector(".at").innerText !== `+quoted(first))
	if q := eval[string](b, `location.search`); !strings.Contains(q, ns) {
		t.Errorf("the filter is lost: %q", q)
	}
}

// silence: a page that gets no answer says so, and goes on when there is one again.
func silence(t *testing.T, browser context.Context) {
	b := open(t, browser, "/", "dark", 400)
	if b.shown("#silent") {
		t.Errorf("at the beginning: %s", b.text("#silent"))
	}
	b.offline(true)
	b.wait("the note that nothing is heard", `document.querySelector("#silent").checkVisibility() && document.querySelector("#silent").innerText.startsWith("No answer since")`)
	b.picture("silence")
	if b.count(".set") != small+1 {
		t.Error("the sets are gone")
	}
	b.offline(false)
	b.wait("the note to go", `!document.querySelector("#silent").checkVisibility()`)
}

// keyboard: everything can be reached by keys alone.
func keyboard(t *testing.T, browser context.Context, path, ns string) {
	b := open(t, browser, path, "light", 1400)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#live input").click(); document.activeElement.blur()`))
	var reached []string
	for range 9 {
		b.do(chromedp.KeyEvent("\t"))
		reached = append(reached, eval[string](b, `((e) => e.id || e.name || e.innerText || e.type)(document.activeElement)`))
		if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
			t.Errorf("%s shows no focus", reached[len(reached)-1])
		}
	}
	want := []string{"LeaderWorkerSets", "q", "Filter", "checkbox", "All sets", ns, "Skip the cells", "c0", "c1"}
	if !slices.Equal(reached, want) {
		t.Errorf("the tabulator leads to %q, want %q", reached, want)
	}
	b.do(chromedp.KeyEvent("\r"))
	b.wait("the page of group 1", `document.querySelector("h1").innerText.startsWith("Group 1")`)
}

// follower: a replica that does not lead says who does, and shows what is stored. While
// another controller holds a lease, the first one says that nothing is written.
func follower(t *testing.T, browser context.Context, set *harness.Set) {
	const leader = "another-replica_1234"
	leases := env.Kube.CoordinationV1().Leases(metav1.NamespaceSystem)
	now := metav1.NowMicro()
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "b8b2488c.x-k8s.io"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(leader), LeaseDurationSeconds: new(int32(600)), AcquireTime: &now, RenewTime: &now}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := leases.Delete(context.Background(), lease.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	b := open(t, browser, "/", "light", 1400)
	env.Update(t, set, harness.Annotation(lwsv1.AnnotationMinReady, "1s")) // so that it is synced
	b.wait("the note that nothing is written", `document.querySelector(".notice")?.innerText.includes(`+quoted("nothing is written: lease kube-system/b8b2488c.x-k8s.io is held by "+leader)+`)`)
	b.picture("fenced")

	replica := harness.StartController(t, env.Cluster, "--leader-elect=true")
	replica.Ready(t)
	t.Cleanup(func() { replica.Stop(t) })
	for _, path := range []string{"/", fmt.Sprintf("/sets/%s/%s", set.Namespace, set.Name), fmt.Sprintf("/sets/%s/%s/3", set.Namespace, set.Name)} {
		url, err := replica.URL(path)
		if err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate(url))
		b.wait("who leads", `document.querySelector(".notice")?.innerText.includes(`+quoted("This replica does not lead")+`) && document.querySelector(".notice").innerText.includes(`+quoted("The leader is "+leader)+`)`)
		b.picture("follower" + strings.ReplaceAll(strings.TrimPrefix(path, "/sets"), "/", "-"))
		if n := b.count(".cells"); n != 0 {
			t.Errorf("%s: %d rows of cells, of which nothing is known", path, n)
		}
	}
	b.visit("/")
	b.whole()
}

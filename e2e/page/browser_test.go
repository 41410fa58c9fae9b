package page

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"lws-controller/e2e/harness"
)

// browsers are the names that Chromium goes by.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// startBrowser starts a browser, and ends it with the test. Continuous integration must
// have one; elsewhere the tests are left out without.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	switch {
	case program != "":
	case os.Getenv("CI") != "":
		t.Fatalf("no browser: none of %v is in the PATH", browsers)
	default:
		t.Skipf("no browser: none of %v is in the PATH; make browser installs one on Debian", browsers)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		// It has nothing to look for beyond this machine.
		chromedp.Flag("disable-component-update", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // refused to root
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	return browser
}

// tab is a page that is open in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are the errors and warnings on its console.
	complaints []string
}

// open opens an address in a tab of this width, light or dark.
func open(t *testing.T, browser context.Context, path, scheme string, width int) *tab {
	t.Helper()
	b := blank(t, browser, scheme, width)
	b.visit(path)
	return b
}

// height of the window, in pixels.
const height = 900

// blank is a tab in which nothing is open yet.
func blank(t *testing.T, browser context.Context, scheme string, width int) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	b := &tab{t: t, ctx: ctx}
	console := chromedp.Console(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.complaints = append(b.complaints, m.String())
			b.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		listening.Wait()
	})
	b.do(chromedp.EmulateViewport(int64(width), height))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return b
}

func (b *tab) visit(path string) {
	b.t.Helper()
	url, err := env.Controller.URL(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate(url))
}

// do carries actions out. What takes long has failed.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// offline cuts the tab off from the network, or ends that.
func (b *tab) offline(is bool) {
	b.t.Helper()
	// Browsers do not know yet what has taken the place of this command.
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none cdp.Empty
		return target.Call(ctx, "Network.emulateNetworkConditions", map[string]any{"offline": is, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, &none)
	}))
}

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// quoted is a string as JavaScript writes it.
func quoted(s string) string {
	data, _ := json.Marshal(s) // strings can always be written
	return string(data)
}

// count is how many elements there are of a kind.
func (b *tab) count(selector string) int {
	b.t.Helper()
	return eval[int](b, `document.querySelectorAll(`+quoted(selector)+`).length`)
}

// shown says that an element is there to be seen.
func (b *tab) shown(selector string) bool {
	b.t.Helper()
	return eval[bool](b, `document.querySelector(`+quoted(selector)+`)?.checkVisibility() ?? false`)
}

// text is what is shown of an element, empty if there is none.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, `document.querySelector(`+quoted(selector)+`)?.innerText ?? ""`)
}

// wait waits for an expression to be true in the page, which may still be loading.
func (b *tab) wait(what, expression string) {
	b.t.Helper()
	harness.WaitFor(b.t, what, 30*time.Second, func() (bool, string) {
		return eval[bool](b, `(() => { try { return !!(`+expression+`) } catch { return false } })()`), b.text("body")
	})
}

// whole fails the test if the page is wider than the window, or if the browser complains.
func (b *tab) whole() {
	b.t.Helper()
	if wide := eval[string](b, `(() => {
		const room = document.documentElement.clientWidth;
		const out = [...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > room + 1);
		return document.documentElement.scrollWidth > room || out.length ? "beyond " + room + ": " + document.documentElement.scrollWidth + " " + out.slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join("\n") : "";
	})()`); wide != "" {
		b.t.Errorf("the page is wider than the window: %s", wide)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Errorf("on the console: %s", c)
	}
}

// pictureHeight is how much of a page a screenshot shows at most, in pixels.
const pictureHeight = 3000

// picture keeps a screenshot of the page.
func (b *tab) picture(name string) {
	b.t.Helper()
	size := eval[[]float64](b, `[document.documentElement.clientWidth, document.documentElement.scrollHeight]`)
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	shot, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (page.CaptureScreenshotResult, error) {
		return cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
			Clip: &page.Viewport{Width: size[0], Height: min(size[1], pictureHeight), Scale: 1}})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.t.ArtifactDir(), name+".png")
	if err := os.WriteFile(path, shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("screenshot %s", path)
}

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A browser is a page in a headless Chromium. What its page does wrong fails the test, when
// checked or at the end.
type browser struct {
	t      *testing.T
	ctx    context.Context
	origin string // that it may ask, and no other

	mu     sync.Mutex // guards the fields below
	faults []string   // errors of the console, requests that failed
	asked  []string   // URLs
}

// openBrowser starts a Chromium, or ends the test.
func openBrowser(t *testing.T, origin string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err != nil && os.Getenv("RLMPROXY_E2E") == "required":
		t.Fatalf("chromium is required: %v (apt-get install chromium)", err)
	case err != nil:
		t.Skipf("chromium is not installed: %v", err)
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("lang", "en-GB"), chromedp.Env("TZ=UTC", "LANGUAGE=en_GB"))
	starter, end := chromedp.NewExecAllocator(context.Background(), opts...) // it ends in order, after the test's context
	ctx, cancel := chromedp.NewContext(starter)
	b := &browser{t: t, ctx: ctx, origin: origin}
	t.Cleanup(func() {
		b.check()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log(err)
		}
		cancel()
		end()
	})
	// The first of these starts the program, which would end with a context of its own. It
	// has the page tell of its console and its network.
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	return b
}

// heard notes what the page does.
func (b *browser) heard(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := func(format string, args ...any) { b.faults = append(b.faults, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault("exception: %v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		fault("console.%s", e.Type)
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelInfo && e.Entry.Level != log.EntryLevelVerbose {
			fault("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
		if !strings.HasPrefix(e.Request.URL, b.origin+"/") && !strings.HasPrefix(e.Request.URL, "data:image/svg+xml,") {
			fault("asks %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			fault("request failed: %s", e.ErrorText)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			fault("status %d: %s", e.Response.Status, e.Response.URL)
		}
	case *page.EventJavascriptDialogOpening:
		fault("dialog: %s", e.Message)
	}
}

// taken are the faults until now, which check does not report any more.
func (b *browser) taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// check reports faults.
func (b *browser) check() {
	b.t.Helper()
	for _, f := range b.taken() {
		b.t.Error(f)
	}
}

// run does things one after the other, within a minute.
func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	get(b, chromedp.Steps(actions...))
}

// get is what an action gives within a minute.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.fatal(err)
	}
	return v
}

func (b *browser) fatal(why error) {
	b.t.Helper()
	seen, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 3000)`))
	b.t.Fatalf("%v; the page says:\n%s\nfaults: %q", why, seen, b.taken())
}

// text is what a person sees of an element.
func (b *browser) text(selector chromedp.CSS) string {
	b.t.Helper()
	return get(b, chromedp.Text(selector))
}

// eval is the value of an expression on the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// until waits for an expression to be true. It is looked at from outside: the page's policy
// lets no text of ours run in it.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); !eval[bool](b, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.fatal(fmt.Errorf("not so: %s", expression))
		}
	}
}

// look sets the size of the window and the colour scheme. Nothing moves.
func (b *browser) look(width, height int64, scheme string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

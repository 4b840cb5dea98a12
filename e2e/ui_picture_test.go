package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"rlmproxy/bench/corpus"
	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/stats"
	"rlmproxy/middleware/ui"
)

var update = flag.Bool("update", false, "rewrite the pictures of docs/ui.md")

// aMonth is what a team's proxy may have counted in a month until now.
func aMonth(now time.Time) stats.Report {
	r := stats.Report{Since: now.AddDate(0, 0, -29), Tools: []stats.Tool{}, Hours: []stats.Hour{}, Recent: []stats.Call{}}
	hour := now.UTC().Truncate(time.Hour)
	for at := hour.AddDate(0, 0, -29); !at.After(hour); at = at.Add(time.Hour) {
		ago := int64(hour.Sub(at) / time.Hour)
		n := 3 + (ago*ago*7+ago*5)%11
		if ago%24 > 13 || ago/24%7 > 4 { // nights and weekends
			n = n % 3 / 2
		}
		s := stats.Sums{Calls: 4 * n, Cut: n, TokensIn: 13_800 * n, TokensOut: 1_900 * n, Schemas: 60 * min(n, 3)}
		s.Saved = s.TokensIn - s.TokensOut - s.Schemas
		if n > 0 {
			r.Hours = append(r.Hours, stats.Hour{Begin: at, Sums: s})
		}
		r.Total.Calls += s.Calls
		r.Total.Cut += s.Cut
		r.Total.TokensIn += s.TokensIn
		r.Total.TokensOut += s.TokensOut
		r.Total.Schemas += s.Schemas
		r.Total.Saved += s.Saved
	}
	r.Total.Errors = 9
	r.Proxies = []stats.Proxy{{PID: 4711, Begun: now.Add(-50 * time.Hour), Version: "v1.0.0", Config: "/path/to/mcp.json", URL: "http://127.0.0.1:8080/mcp", Clients: 3,
		Servers: []stats.Server{{Name: "github", State: "ready"}, {Name: "files", State: "ready"}, {Name: "sentry", State: "connecting"}, {Name: "wiki", State: "failed"}, {Name: "browser", State: "disabled"}}}}
	for i, c := range []stats.Call{
		{Server: "files", Tool: "files_read_text_file", Millis: 41, TokensIn: 47_380, TokensOut: 930, Cut: true, Outcome: "ok", CacheID: "earthquakes.json"},
		{Tool: "proxy_filter", Millis: 18, TokensOut: 212, Outcome: "ok", ReadID: "earthquakes.json"},
		{Server: "github", Tool: "github_list_issues", Millis: 611, TokensIn: 1_204, TokensOut: 1_204, Outcome: "ok"},
		{Server: "wiki", Tool: "wiki_search", Millis: 3, TokensOut: 58, Outcome: "error", Error: "upstream_unavailable"},
		{Server: "files", Tool: "files_directory_tree", Millis: 29.3, TokensIn: 7_958, TokensOut: 980, Cut: true, Outcome: "ok", CacheID: "tree.json"},
		{Server: "files", Tool: "files_read_text_file", Millis: 38, TokensIn: 25_102, TokensOut: 960, Cut: true, Outcome: "ok", CacheID: "postgres.log"},
	} {
		c.Time, c.Agent, c.Client = now.Add(time.Duration(-17*(i+1))*time.Second), "subject :token:alice", "claude-code 2.1.0"
		r.Recent = append(r.Recent, c)
	}
	return r
}

// openMonth serves the page of a month, with real results that can be queried, and returns
// its address and that of the first result.
func openMonth(t *testing.T) (address, result string) {
	t.Helper()
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	desk, err := cache.NewDesk(store, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { desk.Close() })
	report := aMonth(time.Now())
	for _, name := range []string{"postgres.log", "tree.json", "earthquakes.json"} {
		data, err := corpus.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		tool, args := "files_read_text_file", fmt.Sprintf(`{"path":"data/%s"}`, name)
		if name == "tree.json" {
			tool, args = "files_directory_tree", `{"path":"."}`
		}
		raw, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": string(data)}}})
		id, err := store.Put("subject :token:alice", cache.Origin{Server: "files", Tool: tool, Arguments: json.RawMessage(args)}, raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range report.Recent {
			for _, of := range []*string{&report.Recent[i].CacheID, &report.Recent[i].ReadID} {
				if *of == name {
					*of = string(id)
				}
			}
		}
	}
	server, err := middleware.New(middleware.Options{Store: store, Desk: desk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const key = "0123456789abcdef"
	guard, err := auth.New(auth.Options{Tokens: []auth.Token{{Agent: "ui", Secret: key}}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(ui.New(ui.Options{Guard: guard, Report: func() stats.Report { return report }, Results: store.List, Look: server.Look}))
	t.Cleanup(s.Close)
	list, _ := store.List(1)
	return s.URL + "/ui#key=" + key, fmt.Sprintf("#/result/%s/%s", list[0].Shelf, list[0].ID)
}

// poor lists the texts on the page that are hard to read: with a contrast below 4.5, which
// is WCAG's AA; and what has no name for a screen reader.
const poor = `(() => {
  const rgb = text => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const under = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const faults = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim(), e = texts.currentNode.parentElement;
    if (!text || !e.checkVisibility() || ['title', 'SCRIPT', 'NOSCRIPT'].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(rgb(e.namespaceURI.endsWith('svg') ? style.fill : style.color)), light(under(e))].sort((a, b) => b - a);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faults.push(contrast.toFixed(2) + ': ' + text.slice(0, 40));
  }
  for (const e of document.querySelectorAll('input, select, textarea')) {
    if (e.labels.length === 0) faults.push('no label: ' + e.outerHTML);
  }
  for (const e of document.querySelectorAll('button, a, [role=region], [role=img], section, fieldset')) {
    const by = document.getElementById(e.getAttribute('aria-labelledby') ?? '');
    if (!(by?.textContent || e.getAttribute('aria-label') || e.textContent).trim()) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window: ' + document.documentElement.scrollWidth + ' of ' + innerWidth);
  return faults;
})()`

// TestUILooks: at the width of a phone, a tablet and a desk, light and dark, nothing is
// wider than the window, and all can be read and has a name. With -update, it takes the
// pictures of docs/ui.md.
func TestUILooks(t *testing.T) {
	address, result := openMonth(t)
	base, _, _ := strings.Cut(address, "/ui")
	b := openBrowser(t, base)
	b.run(chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#chart svg")))
	views := []struct{ name, at, shown string }{
		{"overview", "#/", `document.querySelector("#results tbody").rows.length === 3 && document.querySelector("#chart").clientWidth == document.querySelector("#chart svg").getAttribute("width")`},
		{"result", result, `document.querySelectorAll(".reply pre").length >= 2`},
	}
	for _, view := range views {
		eval[string](b, fmt.Sprintf(`location.hash = %q`, view.at))
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 768, 1120} {
				b.look(width, 900, scheme)
				b.until(view.shown)
				for _, fault := range eval[[]string](b, poor) {
					t.Errorf("%s, %s, %d wide: %s", view.name, scheme, width, fault)
				}
			}
		}
	}
	eval[string](b, `location.hash = "#/"`)
	b.run(chromedp.Click(chromedp.CSS("#span input[value=month]")), chromedp.Click(chromedp.CSS("details summary")))
	b.until(`document.querySelector("#savings tbody").rows.length > 20`)
	for _, fault := range eval[[]string](b, poor) {
		t.Errorf("a month: %s", fault)
	}
	if !*update {
		return
	}
	b.run(chromedp.Click(chromedp.CSS("details summary")))
	b.look(1120, eval[int64](b, `document.documentElement.scrollHeight`), "light")
	b.until(views[0].shown)
	picture(t, b, "../docs/ui-light.png")
	eval[string](b, fmt.Sprintf(`location.hash = %q`, result))
	b.look(1120, 720, "dark")
	b.run(chromedp.SendKeys(chromedp.CSS("#jq"), `[.features[] | {place: .properties.place, mag: .properties.mag}] | sort_by(-.mag) | .[0:8]`), chromedp.Click(chromedp.CSS("#query button")))
	b.until(`document.querySelector("#query-reply .call")?.textContent.includes("sort_by")`)
	picture(t, b, "../docs/ui-dark.png")
}

// picture writes what the window shows, with the focus nowhere.
func picture(t *testing.T, b *browser, path string) {
	t.Helper()
	eval[bool](b, `(document.activeElement.blur(), scrollTo(0, 0), true)`) // and no caret
	img, err := png.Decode(bytes.NewReader(get(b, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 150_000 {
		t.Errorf("%s has %d bytes", path, out.Len())
	}
}

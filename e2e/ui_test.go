package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// runs is a text that runs where it is taken for HTML.
const runs = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`

// openPaged starts a real server behind a command that serves HTTP, and returns it with
// its state folder.
func openPaged(t *testing.T, dir string) (s *site, state string) {
	t.Helper()
	state = t.TempDir()
	s = &site{t: t, cmd: exec.Command(binary, append([]string{"wrap", "--http", "127.0.0.1:0", "--"}, append(real(t, "mcp-server-filesystem"), dir)...)...)}
	s.cmd.Env = append(os.Environ(), "RLMPROXY_STATE_DIR="+state)
	s.start()
	return s, state
}

// pageAddress is what rlmproxy ui prints.
func (s *site) pageAddress(state string) string {
	s.t.Helper()
	out, err := exec.Command(binary, "ui", "--state-dir", state, "--http", s.url).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// said is the text of a reply over HTTP.
func said(t *testing.T, body string) string {
	t.Helper()
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var r struct{ Result reply }
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Result.Content) == 0 {
		t.Fatalf("%v: %.300s", err, body)
	}
	return r.Result.Content[0].Text
}

// TestUI: somebody opens the page, sees the call that an agent has just made, opens what was
// kept, and asks the same of it as the agent can. Nothing that a server, an agent or a
// client says is taken for HTML, and the page asks nobody but its proxy.
func TestUI(t *testing.T) {
	dir := t.TempDir()
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","note":%q}`, i, i, runs+"\u202e"))
	}
	file := filepath.Join(dir, "rows.json")
	if err := os.WriteFile(file, []byte("["+strings.Join(rows, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, state := openPaged(t, dir)
	address := s.pageAddress(state)
	base, key, _ := strings.Cut(address, "#key=")
	b := openBrowser(t, strings.TrimSuffix(base, "/ui"))

	b.run(chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#overview")))
	b.until(`document.querySelector("#state").textContent === "live"`)
	if at := eval[string](b, `location.href`); at != base {
		t.Errorf("the address bar has %s", at)
	}
	b.until(`document.querySelector("#servers").innerText.includes("ready")`)

	agent := []string{"Rlmproxy-Agent", runs}
	cut := said(t, second(s.call("read_text_file", fmt.Sprintf(`{"path":%q}`, file), agent...)))
	_, id, ok := strings.Cut(cut, "cache_id=")
	if !ok {
		t.Fatal(cut)
	}
	id = id[:16]
	s.call(runs, `{}`, agent...) // which nobody has, so that its name is not kept
	b.until(`document.querySelector("#calls tbody")?.rows.length === 2`)
	if text := b.text("#calls tbody"); !strings.Contains(text, "read_text_file") || !strings.Contains(text, "cut") || !strings.Contains(text, "unknown_tool") {
		t.Errorf("calls: %s", text)
	}

	// With the keyboard alone: to the result, and a program typed and run.
	b.run(chromedp.Focus(chromedp.CSS(`#results tbody a`)), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#result")))
	if focus := eval[string](b, `document.activeElement.id`); focus != "result-title" {
		t.Errorf("%q has the focus", focus)
	}
	b.until(`document.querySelector("#structure-reply pre")?.textContent.includes("[].note: string")`)
	b.until(`document.querySelector("#query-reply pre")?.textContent.includes("row 3")`)
	if text := b.text("#query-reply pre"); !strings.Contains(text, "<script>") {
		t.Errorf("the first page: %.300s", text)
	}
	if raw := eval[bool](b, `document.body.innerText.includes("\u202e")`); raw {
		t.Error("what turns letters round is shown as it came")
	}
	ask := func(done string, actions ...chromedp.Action[chromedp.Void]) (shown, call string) {
		t.Helper()
		b.run(append(actions, chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierCtrl)))...) // Ctrl
		b.until(fmt.Sprintf(`document.querySelector("#query-reply .call")?.textContent.includes(%q)`, done))
		return eval[string](b, `document.querySelector("#query-reply > pre").textContent`), eval[string](b, `document.querySelector("#query-reply .call").textContent`)
	}
	const program = `map(select(.id > 1990) | .name)`
	shown, call := ask("1990", chromedp.Focus(chromedp.CSS("#jq")), chromedp.SendKeys(chromedp.CSS("#jq"), program))
	if args := fmt.Sprintf(`{"cache_id":%q,"jq":%q}`, id, program); shown != said(t, second(s.call("proxy_filter", args, agent...))) || !strings.Contains(shown, "row 1999") || !json.Valid([]byte(call)) {
		t.Errorf("jq: %s\n%s", shown, call)
	}
	if text := b.text("#query-reply .quiet"); !strings.Contains(text, "tokens") {
		t.Errorf("the cost: %s", text)
	}
	shown, _ = ask("proxy_search", chromedp.Click(chromedp.CSS(`#how input[value=search]`)), chromedp.SendKeys(chromedp.CSS("#pattern"), "row 77"))
	if !strings.Contains(shown, "row 777") {
		t.Errorf("search: %s", shown)
	}
	shown, _ = ask(`"fields"`, chromedp.Click(chromedp.CSS(`#how input[value=fields]`)), chromedp.SendKeys(chromedp.CSS("#fields"), "[].id, [].name"))
	if !strings.Contains(shown, "row 5") || strings.Contains(shown, "script") {
		t.Errorf("fields: %s", shown)
	}
	b.run(chromedp.Click(chromedp.CSS("#query-reply > button.plain"))) // the next page
	b.until(`/from offset [1-9]/.test(document.querySelector("#query-reply > pre").textContent)`)
	shown, _ = ask(`.name) |"`, chromedp.Click(chromedp.CSS(`#how input[value=jq]`)), chromedp.SendKeys(chromedp.CSS("#jq"), " |"))
	if !strings.Contains(shown, "bad_jq") {
		t.Errorf("a mistake: %s", shown)
	}
	b.run(chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS("#overview")))

	if ran := eval[bool](b, `window.ran !== undefined || document.images.length > 0 || document.scripts.length !== 1`); ran {
		t.Error("a text runs")
	}
	if strings.Contains(s.log(), key) {
		t.Error("the key is in the log")
	}
	b.check()
	for _, url := range b.asked {
		if strings.Contains(url, key) {
			t.Errorf("the key is in a request: %s", url)
		}
	}

	// What is wrong is said: a key that does not open, then a proxy that has ended.
	b.run(chromedp.Navigate(base+"#key=0000000000000000"), chromedp.WaitVisible(chromedp.CSS("#ask")))
	b.until(`document.querySelector("#key-wrong").textContent.includes("does not take this key")`)
	for _, f := range b.taken() {
		if !strings.Contains(f, "401") {
			t.Error(f)
		}
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#key"), key+kb.Enter), chromedp.WaitVisible(chromedp.CSS("#overview")))
	b.until(`document.querySelector("#state").textContent === "live"`)
	b.check()
	s.cmd.Process.Kill()
	b.until(`document.querySelector("#state").textContent.includes("does not answer")`)
	b.taken() // requests fail now
}

func second[A, B any](_ A, b B) B { return b }

// TestUIPollsWhileSeen: a page that nobody can see asks nothing.
func TestUIPollsWhileSeen(t *testing.T) {
	s, state := openPaged(t, t.TempDir())
	address := s.pageAddress(state)
	base, _, _ := strings.Cut(address, "/ui")
	b := openBrowser(t, base)
	b.run(chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#overview")))
	reports := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, url := range b.asked {
			if strings.HasSuffix(url, "/ui/api/report") {
				n++
			}
		}
		return n
	}
	seen := func(want int) bool {
		for range 100 {
			if reports() >= want {
				return true
			}
			time.Sleep(100 * time.Millisecond)
		}
		return false
	}
	if !seen(3) {
		t.Fatalf("%d reports", reports())
	}
	eval[bool](b, `Object.defineProperty(document, "hidden", {value: true, configurable: true}) && document.dispatchEvent(new Event("visibilitychange"))`)
	time.Sleep(500 * time.Millisecond) // for one that is on its way
	before := reports()
	time.Sleep(3 * time.Second)
	if after := reports(); after != before {
		t.Errorf("%d reports while nobody sees them", after-before)
	}
	eval[bool](b, `delete document.hidden && document.dispatchEvent(new Event("visibilitychange"))`)
	if !seen(before + 2) {
		t.Error("it does not go on")
	}
}

package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/stats"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > 1 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > 1 && code == 0 {
		all := make([]byte, 1<<20)
		os.Stderr.Write(all[:runtime.Stack(all, true)])
		code = 1
	}
	os.Exit(code)
}

const (
	key   = "0123456789abcdef-ui"
	shelf = "3f8cb879cc51cc8c920e5c2333858a5407b2d6c8f2a1b7761c5eb6620f815d7b"
	anID  = "klmznxeegvu2ts4e"
	evil  = `<img src=x onerror="window.ran=1">` + "\u202e\x1b[2J"
)

// A fake is what the page asks, and what it was asked.
type fake struct {
	shelf, tool string
	arguments   string
	answer      string
	err         error
}

func (f *fake) look(_ context.Context, shelf, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	f.shelf, f.tool, f.arguments = shelf, tool, string(arguments)
	return json.RawMessage(f.answer), f.err
}

// serve serves a page of f until the test ends, and logs refusals to log.
func serve(t *testing.T, f *fake, log io.Writer) string {
	t.Helper()
	guard, err := auth.New(auth.Options{Tokens: []auth.Token{{Agent: "ui", Secret: key}}, Logger: slog.New(slog.NewTextHandler(log, nil)), RefusalLevel: slog.LevelDebug})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := httptest.NewServer(New(Options{
		Guard: guard,
		Report: func() stats.Report {
			return stats.Report{Recent: []stats.Call{{Tool: evil, Agent: evil}}, Proxies: []stats.Proxy{{Servers: []stats.Server{{Name: evil, State: "ready"}}}}}
		},
		Results: func(most int) ([]cache.Listed, int) {
			if most != maxResults {
				t.Errorf("%d results wanted", most)
			}
			return []cache.Listed{{Shelf: shelf, Agent: evil, ID: anID, Bytes: 7, Kept: now.Add(-time.Minute), Ends: now.Add(time.Hour),
				Origin: cache.Origin{Server: "s", Tool: evil, Arguments: json.RawMessage(`{"x":"` + strings.Repeat("é", 300) + `"}`)}}}, 900
		},
		Look: f.look,
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// ask makes a request with headers, which are pairs.
func ask(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

var withKey = []string{"Authorization", "Bearer " + key}

// TestKeys: what has data asks for the key, from pages of its own origin; the files of the
// page ask for none. Refusals are not in the log, for a page that is left open asks on.
func TestKeys(t *testing.T) {
	var log bytes.Buffer
	url := serve(t, &fake{}, &log)
	for _, tt := range []struct {
		path    string
		headers []string
		status  int
	}{
		{"/ui", nil, 200},
		{"/ui/app.js", nil, 200},
		{"/ui", []string{"Host", "rebound.example.com"}, 403},
		{"/ui/app.js", []string{"Host", "rebound.example.com"}, 403},
		{"/ui/api/report", nil, 401},
		{"/ui/api/results", nil, 401},
		{"/ui/api/query", nil, 401},
		{"/ui/api/none", nil, 401},
		{"/ui/api/report", withKey, 200},
		{"/ui/api/results", withKey, 200},
		{"/ui/api/none", withKey, 404},
		{"/ui/api/report", []string{"Authorization", "bearer " + key}, 200},
		{"/ui/api/report", []string{"Authorization", "Basic " + key}, 401},
		{"/ui/api/report", []string{"Authorization", "Bearer " + key + "x"}, 401},
		{"/ui/api/report", []string{"Authorization", "Bearer " + key[:18]}, 401},
		{"/ui/api/report", []string{"Authorization", "Bearer"}, 401},
		{"/ui/api/report?key=" + key, nil, 401},
		{"/ui/api/report", []string{"Cookie", "key=" + key}, 401},
		{"/ui/api/report", append([]string{"Host", "rebound.example.com"}, withKey...), 403},
		{"/ui/api/report", append([]string{"Origin", "https://evil.example"}, withKey...), 403},
		{"/ui/api/report", append([]string{"Origin", "null"}, withKey...), 403},
		{"/ui/api/report", append([]string{"Sec-Fetch-Site", "cross-site"}, withKey...), 403},
		{"/ui/api/report", append([]string{"Origin", url}, withKey...), 200},
	} {
		resp, body := ask(t, "GET", url+tt.path, "", tt.headers...)
		if resp.StatusCode != tt.status || (tt.status == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s %q: %d %.200s", tt.path, tt.headers, resp.StatusCode, body)
		}
	}
	if log.Len() > 0 {
		t.Errorf("%s", log.String())
	}
}

// TestHeaders: every reply says what a browser may do with it, and none is kept that has data.
func TestHeaders(t *testing.T) {
	url := serve(t, &fake{}, io.Discard)
	for _, path := range []string{"/ui", "/ui/", "/ui/app.js", "/ui/app.css", "/ui/none", "/ui/api/report", "/ui/api/results", "/ui/api/query", "/ui/api/none"} {
		for _, headers := range [][]string{nil, withKey} {
			resp, _ := ask(t, "GET", url+path, "", headers...)
			for name, want := range map[string]string{
				"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %s: %s", path, name, got)
				}
			}
			kept := resp.Header.Get("Cache-Control")
			if kept != "no-store" && (strings.Contains(path, "/api/") || kept != "no-cache") {
				t.Errorf("%s: Cache-Control: %s", path, kept)
			}
		}
	}
	resp, _ := ask(t, "GET", url+"/ui/", "")
	if resp.StatusCode != 308 || resp.Header.Get("Location") != "../ui" {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	resp, _ = ask(t, "GET", url+"/ui/app.js", "")
	if resp, body := ask(t, "GET", url+"/ui/app.js", "", "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != 304 || body != "" {
		t.Errorf("asked again: %d", resp.StatusCode)
	}
}

// TestMethods: each path takes its own, and says which.
func TestMethods(t *testing.T) {
	url := serve(t, &fake{answer: `{"content":[]}`}, io.Discard)
	for path, allow := range map[string]string{"/ui": "GET, HEAD", "/ui/app.js": "GET, HEAD", "/ui/api/report": "GET", "/ui/api/results": "GET", "/ui/api/query": "POST"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"} {
			resp, body := ask(t, method, url+path, "", withKey...)
			if strings.Contains(allow, method) {
				if resp.StatusCode == 405 {
					t.Errorf("%s %s: %s", method, path, body)
				}
				continue
			}
			if resp.StatusCode != 405 || resp.Header.Get("Allow") != allow {
				t.Errorf("%s %s: %d, Allow %s", method, path, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/ui/index.htm", "/ui/../ui/app.js", "/ui/%2e%2e/ui.go", "/ui/page/app.js", "/ui//app.js", "/ui/.", "/ui/app.js/", "/ui/" + strings.Repeat("x", 5000)} {
		r, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = path // as it stands
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestResults: lists are bounded, and what is hostile in them is JSON that no browser takes
// for HTML.
func TestResults(t *testing.T) {
	url := serve(t, &fake{}, io.Discard)
	resp, body := ask(t, "GET", url+"/ui/api/results", "", withKey...)
	var got results
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Results) != 1 || got.All != 900 {
		t.Fatalf("%v: %s", err, body)
	}
	r := got.Results[0]
	if r.Agent != shelf || r.Name != evil || r.ID != anID || r.Tool != evil || r.Bytes != 7 || r.Age < 60 || r.Age > 70 || r.Left > 3600 || r.Left < 3590 || len(r.Arguments) > maxArguments+3 {
		t.Errorf("%+v", r)
	}
	_, report := ask(t, "GET", url+"/ui/api/report", "", withKey...)
	if strings.ContainsAny(body+report, "<>\x1b") || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s", body, report)
	}
}

// TestQuery: a query reaches Look as the call of an agent, and what is none is refused
// before.
func TestQuery(t *testing.T) {
	f := &fake{}
	url := serve(t, f, io.Discard) + "/ui/api/query"
	post := func(body, media string) (int, string) {
		t.Helper()
		resp, got := ask(t, "POST", url, body, append([]string{"Content-Type", media}, withKey...)...)
		return resp.StatusCode, got
	}
	query := func(rest string) string { return `{"agent":"` + shelf + `","id":"` + anID + `"` + rest + `}` }

	f.answer = `{"content":[{"type":"text","text":"five tokens, or so <b>"}],"isError":true}`
	status, body := post(query(`,"tool":"proxy_filter","arguments":{"jq":".[0]","cache_id":"another"}`), "application/json; charset=utf-8")
	var got reply
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || got.Text != "five tokens, or so <b>" || !got.IsError || got.Tokens < 4 || got.Tokens > 9 {
		t.Errorf("%d %v %s", status, err, body)
	}
	var args struct {
		JQ string
		ID string `json:"cache_id"`
	}
	if err := json.Unmarshal([]byte(f.arguments), &args); err != nil || f.shelf != shelf || f.tool != "proxy_filter" || args.JQ != ".[0]" || args.ID != anID {
		t.Errorf("%+v", f)
	}
	for _, none := range []string{"", `,"arguments":null`, `,"arguments":{}`} {
		if status, body := post(query(`,"tool":"proxy_explore"`+none), "application/json"); status != 200 || f.arguments != `{"cache_id":"`+anID+`"}` {
			t.Errorf("%d %s: %s", status, body, f.arguments)
		}
	}
	if status, body := post("\n "+query(`,"tool":"proxy_explore"`)+"\n", "application/json"); status != 200 {
		t.Errorf("with space around it: %d %s", status, body)
	}
	for _, tt := range []struct {
		body, media string
		status      int
	}{
		{query(`,"tool":"proxy_explore"`), "text/plain", 415},
		{query(`,"tool":"proxy_explore"`), "", 415},
		{query(`,"tool":"proxy_explore"`), "application/x-www-form-urlencoded", 415},
		{"", "application/json", 400},
		{"null", "application/json", 400},
		{"[]", "application/json", 400},
		{"{}", "application/json", 400},
		{query(`,"tool":"proxy_explore"`) + "x", "application/json", 400},
		{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "application/json", 400},
		{query(``), "application/json", 400},
		{query(`,"tool":7`), "application/json", 400},
		{query(`,"tool":"proxy_explore","arguments":[]`), "application/json", 400},
		{query(`,"tool":"proxy_explore","arguments":"{}"`), "application/json", 400},
		{`{"agent":"","id":"` + anID + `","tool":"proxy_explore"}`, "application/json", 400},
		{`{"agent":"` + shelf + `","id":"../../etc/passwd","tool":"proxy_explore"}`, "application/json", 400},
		{`{"agent":"` + shelf + `","id":"` + evil[:16] + `","tool":"proxy_explore"}`, "application/json", 400},
		{query(`,"tool":"proxy_filter","arguments":{"jq":"` + strings.Repeat("x", maxQuery) + `"}`), "application/json", 413},
	} {
		*f = fake{answer: `{"content":[]}`}
		status, body := post(tt.body, tt.media)
		var said struct {
			Error, Text string
			Description string `json:"error_description"`
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil || status != tt.status || said.Error == "" || said.Description == "" || f.tool != "" {
			t.Errorf("%.80s: %d %s, asked %q", tt.body, status, body, f.tool)
		}
	}
	f.err = errors.New("the secret reason")
	if status, body := post(query(`,"tool":"proxy_explore"`), "application/json"); status != 503 || strings.Contains(body, "secret") {
		t.Errorf("%d %s", status, body)
	}
}

// TestPageIsText: the page has no script or style in line, which its policy would not run,
// and nothing in it makes HTML of text or names another host.
func TestPageIsText(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\('on|<script>|<style|style="|\son[a-z]+=|https?://`)
	known := regexp.MustCompile(`http://www\.w3\.org/2000/svg`) // a namespace, which nobody asks for
	files := 0
	err := fs.WalkDir(page, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := page.ReadFile(name)
		if m := bad.Find(known.ReplaceAll(b, nil)); m != nil {
			t.Errorf("%s: %s", name, m)
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}

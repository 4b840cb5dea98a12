package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// A talk is a client that sends and reads bytes, and decodes nothing.
type talk interface {
	// ask sends a request and returns the message that answers it.
	ask(t *testing.T, version, method, params string) rpc.Message
}

// lines is a client over stdin and stdout.
type lines struct {
	in  io.Writer
	out *bufio.Reader
	seq int
}

func (l *lines) ask(t *testing.T, _, method, params string) rpc.Message {
	t.Helper()
	l.seq++
	if _, err := fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", l.seq, method, params); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := l.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		m, err := rpc.Parse(line)
		if err != nil {
			t.Fatalf("%v: %.300s", err, line)
		}
		if string(m.ID) == fmt.Sprint(l.seq) && m.Method == "" {
			return m
		}
	}
}

// posts is a client over HTTP.
type posts struct {
	url, session string
	seq          int
}

func (p *posts) ask(t *testing.T, version, method, params string) rpc.Message {
	t.Helper()
	p.seq++
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.url,
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.seq, method, params)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	if version == newest {
		r.Header.Set("Mcp-Method", method)
		var named struct{ Name, URI string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Mcp-Name", named.Name+named.URI)
	} else if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if method == "initialize" {
		p.session = resp.Header.Get("Mcp-Session-Id")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data: {")); ok {
				body = append([]byte{'{'}, data...)
			}
		}
	}
	m, err := rpc.Parse(body)
	if err != nil || string(m.ID) != fmt.Sprint(p.seq) {
		t.Fatalf("status %d, %v: %.300s", resp.StatusCode, err, body)
	}
	return m
}

const (
	older  = "2025-11-25"
	newest = "2026-07-28"
)

// faithfulProxy starts the program in front of a server, and returns a client of
// each revision.
func faithfulProxy(t *testing.T, client string, server map[string]any) map[string]talk {
	t.Helper()
	server["prefix"] = ""
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": server}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	talks := map[string]talk{}
	for _, version := range []string{older, newest} {
		if client == "http" {
			s := &site{t: t, cmd: exec.Command(binary, "serve", "--config", file, "--http", "127.0.0.1:0")}
			s.start()
			talks[version] = &posts{url: s.url}
			continue
		}
		cmd := exec.Command(binary, "serve", "--config", file)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
			defer late.Stop()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the end: %v\n%s", err, log.String())
			}
		})
		talks[version] = &lines{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	}
	if m := talks[newest].ask(t, newest, "server/discover", with(newest, "{}")); m.Result == nil {
		t.Fatalf("server/discover: %s", m.Error)
	}
	m := talks[older].ask(t, older, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
	if m.Result == nil {
		t.Fatalf("initialize: %s", m.Error)
	}
	if l, ok := talks[older].(*lines); ok {
		fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	} else {
		p := talks[older].(*posts)
		r, _ := http.NewRequest("POST", p.url, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Session-Id": p.session, "Mcp-Protocol-Version": older} {
			r.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatalf("initialized: %v %v", resp, err)
		}
		resp.Body.Close()
	}
	return talks
}

// own is what a request of revision 2026-07-28 says of itself.
const own = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"}}`

// with is params with own, if the revision has it.
func with(version, params string) string {
	if version == older {
		return params
	}
	if params == "{}" {
		return "{" + own + "}"
	}
	return strings.TrimSuffix(params, "}") + "," + own + "}"
}

// TestFidelity: what a server answers reaches the client byte for byte, and what
// the client asks the server, whichever way each is connected. A client of
// revision 2026-07-28 gets, besides, what that revision wants of every result and
// older servers do not send; without that, the bytes are the same.
func TestFidelity(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]func(t *testing.T) map[string]any{
		"stdio": func(*testing.T) map[string]any {
			return map[string]any{"command": exe, "env": map[string]string{fakeServer: faithful}}
		},
		"stdio, both": func(*testing.T) map[string]any {
			return map[string]any{"command": exe, "env": map[string]string{fakeServer: faithful, newToo: "1"}}
		},
	}
	for name, h := range map[string]http.Handler{
		"http, one answer": faithfulHTTP(false, false),
		"http, events":     faithfulHTTP(true, false),
		"http, 2026-07-28": faithfulHTTP(false, true),
	} {
		servers[name] = func(t *testing.T) map[string]any {
			s := httptest.NewServer(h)
			t.Cleanup(s.Close)
			return map[string]any{"type": "http", "url": s.URL}
		}
	}
	for name, server := range servers {
		for _, client := range []string{"stdio", "http"} {
			for _, shape := range []bool{true, false} {
				t.Run(fmt.Sprintf("client=%s/server=%s/shape=%t", client, name, shape), func(t *testing.T) {
					s := server(t)
					s["shape"] = shape
					for version, c := range faithfulProxy(t, client, s) {
						t.Run(version, func(t *testing.T) {
							answersSame(t, c, version, shape)
							asksSame(t, c, version, strings.Contains(name, newest) || name == "stdio, both" && version == newest)
						})
					}
				})
			}
		}
	}
}

// answersSame sends the corpus through each kind of request.
func answersSame(t *testing.T, c talk, version string, shape bool) {
	list := c.ask(t, version, "tools/list", with(version, `{"x":0}`))
	if !shape && !strings.Contains(string(list.Result), oddTool) {
		t.Errorf("the tool is not in %s", list.Result)
	}
	meta, typed := "", ""
	if version == newest {
		// A result that has neither shows what is added to one.
		m := c.ask(t, version, "tools/call", with(version, `{"name":"t","arguments":{"case":"nothing at all"}}`))
		if _, ok := strings.CutSuffix(string(m.Result), `}},"resultType":"complete"}`); !ok {
			t.Fatalf("a result has no resultType or identity: %s", m.Result)
		}
		meta = strings.TrimSuffix(strings.TrimPrefix(string(m.Result), `{"_meta":{`), `},"resultType":"complete"}`)
		typed = `"resultType":"complete"`
	}
	for _, o := range odds() {
		if o.large && shape {
			continue
		}
		for _, r := range []struct{ method, params string }{
			{"tools/call", `{"name":"t","arguments":{"case":%q}}`},
			{"prompts/get", `{"name":"p","arguments":{"case":%q}}`},
			{"resources/read", `{"uri":"case://` + o.name + `"%.0s}`},
			{"vendor/method", `{"case":%q}`},
		} {
			m := c.ask(t, version, r.method, with(version, fmt.Sprintf(r.params, o.name)))
			if o.failure != "" {
				same(t, r.method+" "+o.name, string(m.Error), o.failure)
				continue
			}
			got, want := string(m.Result), cmp.Or(o.reply, o.result)
			if version == newest {
				got = without(got, want, meta, typed)
			}
			same(t, r.method+" "+o.name, got, want)
			if m.Error != nil {
				t.Logf("%s", m.Error)
			}
		}
	}
}

// without is got without what was added to want.
func without(got, want, meta, typed string) string {
	if !strings.Contains(want, typed) {
		got = strings.ReplaceAll(strings.ReplaceAll(got, ","+typed, ""), typed, "")
	}
	has := false
	_ = jsonscan.Members([]byte(want), func(key string, _ json.RawMessage) error { has = has || key == "_meta"; return nil })
	if has {
		got = strings.Replace(strings.Replace(got, meta+",", "", 1), meta, "", 1)
	} else {
		got = strings.ReplaceAll(strings.ReplaceAll(got, `,"_meta":{`+meta+`}`, ""), `"_meta":{`+meta+`}`, "")
	}
	if strings.Contains(want, `"contents"`) && !strings.Contains(want, `"ttlMs"`) {
		got = strings.ReplaceAll(got, `,"ttlMs":0,"cacheScope":"private"`, "")
	}
	return got
}

// asksSame sends odd params to the server, which tells what it got.
func asksSame(t *testing.T, c talk, version string, newServer bool) {
	for _, a := range asks() {
		params := strings.NewReplacer("CASE", echoCase, "NAME", "t").Replace(a.params)
		m := c.ask(t, version, "tools/call", with(version, params))
		var r struct{ Content []struct{ Data string } }
		if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Content) != 1 {
			t.Errorf("%s: %v %.300s %s", a.name, err, m.Result, m.Error)
			continue
		}
		got := r.Content[0].Data
		if newServer {
			// What this hop says of itself stands last, or where the client's was.
			at := strings.LastIndex(got, `,"_meta":{`)
			if at < 0 || !strings.Contains(got[at:], newest) {
				t.Errorf("%s: no revision in %.300s", a.name, got)
				continue
			}
			got = got[:at] + "}"
		}
		if version == newest || newServer {
			// White space before a member that comes or goes does so with it.
			params = strings.TrimRight(strings.TrimSuffix(params, "}"), " ") + "}"
			got = strings.TrimRight(strings.TrimSuffix(got, "}"), " ") + "}"
		}
		same(t, "params "+a.name, got, params)
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	from := max(at-40, 0)
	t.Errorf("%s: from byte %d\n got %.160s\nwant %.160s", what, from, got[from:], want[from:])
}

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// A fake is a server whose calls are functions of the raw request.
type fake struct {
	call func(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	told chan string
	tool []upstream.Tool
}

func (f *fake) Tools() []upstream.Tool         { return f.tool }
func (f *fake) Prompts() []upstream.Tool       { return nil }
func (f *fake) State() (upstream.State, error) { return upstream.Ready, nil }
func (f *fake) Settled(context.Context)        {}
func (f *fake) Info() *upstream.Info {
	return &upstream.Info{Capabilities: &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{},
		Resources: &mcp.ResourceCapabilities{Subscribe: true},
	}}
}

func (f *fake) Notify(_ context.Context, method string, _ json.RawMessage) error {
	f.told <- method
	return nil
}

func (f *fake) Call(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	return f.call(ctx, r)
}

// withT returns a fake with one tool, t, that f answers.
func withT(f func(ctx context.Context, r upstream.Request) (json.RawMessage, error)) *fake {
	def := `{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}},"annotations":{"readOnlyHint":true}}`
	return &fake{call: f, told: make(chan string, 16), tool: []upstream.Tool{{Name: "t", Raw: json.RawMessage(def)}}}
}

func text(s string) json.RawMessage {
	quoted, _ := json.Marshal(s)
	return json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

// A site is a handler that serves on a port of its own.
type site struct {
	t      testing.TB
	url    string
	server *middleware.Server
	h      *Handler
	stop   func() // returns when it has ended
}

func serve(t testing.TB, f *fake, opts Options, who auth.Options) *site {
	t.Helper()
	return serveShaped(t, f, nil, opts, who)
}

// attach begins sessions of server.
func attach(server *middleware.Server) func(rpc.Transport, middleware.Identity, rpc.Options) Session {
	return func(t rpc.Transport, who middleware.Identity, opts rpc.Options) Session {
		return server.Attach(t, who, opts)
	}
}

// serveShaped says whether results are cut.
func serveShaped(t testing.TB, f *fake, shape *bool, opts Options, who auth.Options) *site {
	t.Helper()
	store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	server, err := middleware.New(middleware.Options{
		Store:     store,
		Upstreams: []middleware.Upstream{{Name: "s", Conn: f, Policy: middleware.Policy{Shape: shape}}},
		MaxTokens: 200,
		// A hundred clients on a busy machine wait long for their turns.
		SearchTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.New(who)
	if err != nil {
		t.Fatal(err)
	}
	opts.Guard, opts.DrainTime = guard, cmp.Or(opts.DrainTime, 5*time.Second)
	opts.Attach, opts.InputSchema, opts.Accounts = attach(server), server.InputSchema, server.Accounts()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, url: "http://" + l.Addr().String() + "/mcp", server: server, h: New(opts)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.h.Serve(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		store.Close()
		if n := server.Accounts().Held(); n != 0 {
			t.Errorf("%d bytes are counted for clients that have gone", n)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// do sends a request; header has pairs.
func (s *site) do(method, body string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func body(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

// session begins one and returns its id.
func (s *site) session(header ...string) string {
	s.t.Helper()
	resp := s.do("POST", begin, header...)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || id == "" {
		s.t.Fatalf("initialize: %s %s", resp.Status, body(s.t, resp))
	}
	body(s.t, resp) // its connection serves others after that
	return id
}

// callT is a call of the tool t.
func callT(id int, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":%s}}`, id, args)
}

// alone makes a request of revision 2026-07-28 of one that stands for a session.
func alone(body, meta string) string {
	return strings.Replace(body, `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`+meta+`},`, 1)
}

var aloneHeader = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "t"}

// events reads the events of a stream, each as its id, a blank and its data.
func events(t testing.TB, r io.Reader, n int) []string {
	t.Helper()
	var all []string
	id, data := "", ""
	buf := make([]byte, 1)
	line := []byte{}
	for len(all) < n || n < 0 {
		if got, err := r.Read(buf); got == 0 && err != nil {
			if n < 0 {
				return all
			}
			t.Fatalf("%v after %q", err, all)
		}
		if buf[0] != '\n' {
			line = append(line, buf[0])
			continue
		}
		key, value, _ := strings.Cut(string(line), ": ")
		switch {
		case len(line) == 0 && id+data != "":
			all = append(all, id+" "+data)
			id, data = "", ""
		case key == "id":
			id = value
		case key == "data":
			data = value
		}
		line = line[:0]
	}
	return all
}

// TestFidelity: what a server sends reaches the client to the byte, by either kind
// of reply; only the line ends between tokens are blanks in an event.
func TestFidelity(t *testing.T) {
	results := []string{
		`{"content":[{"type":"text","text":"x"}],"z":1,"a":{"b":9007199254740993,"c":1.0,"d":1e2,"e":-0}}`,
		`{ "content" : [ { "text" : "\u00e9\/ é" , "type" : "text" } ] , "_meta" : { "x" : 1.50 } }`,
		"{\n\t\"content\": [],\r\n\t\"structuredContent\": {\"k\":\"\\n\"}\n}",
		`{"content":[{"type":"hologram","data":"?","annotations":{"priority":0.10,"future":[]}}],"isError":false}`,
		`{"content":[],"content2":null,"a":1,"a":2}`,
	}
	var n int
	var slow bool
	s := serve(t, withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if slow {
			r.Progress(json.RawMessage(`{"progressToken":1,"progress":1.0,"future":9007199254740993}`))
		}
		return json.RawMessage(results[n]), nil
	}), Options{}, auth.Options{})
	id := s.session()
	for n = range results {
		slow = false
		want := `{"jsonrpc":"2.0","id":7,"result":` + results[n] + `}`
		resp := s.do("POST", callT(7, "{}"), "Mcp-Session-Id", id)
		if got := body(t, resp); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		slow = true
		resp = s.do("POST", strings.Replace(callT(7, "{}"), `"name"`, `"_meta":{"progressToken":"p"},"name"`, 1), "Mcp-Session-Id", id)
		got := events(t, resp.Body, -1)
		oneLine := strings.NewReplacer("\n", " ", "\r", " ").Replace(want)
		if len(got) != 2 || !strings.HasSuffix(got[0], `"params":{"progressToken":"p","progress":1.0,"future":9007199254740993}}`) || !strings.HasSuffix(got[1], " "+oneLine) {
			t.Errorf("events %q\nwant %q", got, oneLine)
		}
	}
	// A request that stands for itself has what its revision adds at the end.
	slow, n = false, 0
	got := body(t, s.do("POST", alone(callT(7, "{}"), ""), aloneHeader...))
	want := `{"jsonrpc":"2.0","id":7,"result":` + strings.TrimSuffix(results[0], "}") + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"rlmproxy","version":"dev"}},"resultType":"complete"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// long is a result that is cut, with a mark in it.
func long(mark string) json.RawMessage {
	return text(strings.Repeat("line of "+mark+"\n", 500))
}

// TestIsolation: no way to come lets one client read what another has.
func TestIsolation(t *testing.T) {
	s := serve(t, withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		return long("secret"), nil
	}), Options{}, auth.Options{})
	cacheID := func(resp *http.Response) string {
		_, id, ok := strings.Cut(body(t, resp), "cache_id=")
		if !ok {
			t.Fatal("the result was not cut")
		}
		return id[:16]
	}
	read := func(id string, header []string, meta string) string {
		ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"proxy_search","arguments":{"cache_id":%q,"pattern":"secret"}}}`, id)
		if meta != "session" {
			ask = alone(ask, meta)
			header = append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "proxy_search"}, header...)
		}
		return body(t, s.do("POST", ask, header...))
	}
	one, two := s.session(), s.session()
	clients := []struct {
		name   string
		header []string
		meta   string
	}{
		{"a session", []string{"Mcp-Session-Id", one}, "session"},
		{"another session", []string{"Mcp-Session-Id", two}, "session"},
		{"a named agent", []string{"Rlmproxy-Agent", "x"}, ""},
		{"another", []string{"Rlmproxy-Agent", "y"}, ""},
		{"one named in _meta", nil, `,"rlmproxy/agent":"z"`},
		{"a program", nil, `,"io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"}`},
		{"another program", nil, `,"io.modelcontextprotocol/clientInfo":{"name":"q","version":"1"}`},
		{"one called as a session", []string{"Rlmproxy-Agent", one}, ""},
	}
	for i, c := range clients {
		ask, header := callT(1, `{"region":null}`), c.header
		if c.meta != "session" {
			ask, header = alone(ask, c.meta), append(append([]string{}, aloneHeader...), c.header...)
		}
		id := cacheID(s.do("POST", ask, header...))
		for j, other := range clients {
			got := read(id, other.header, other.meta)
			if found := !strings.Contains(got, "unknown_cache_id"); found != (i == j) {
				t.Errorf("%s reads the result of %s: %v\n%.200s", other.name, c.name, found, got)
			}
		}
	}
}

// TestAuthenticated: an agent is the same one however it comes, and its sessions
// are its own.
func TestAuthenticated(t *testing.T) {
	const a, b = "0123456789abcdef-alice", "0123456789abcdef-bob"
	s := serve(t, withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		return long("secret"), nil
	}), Options{}, auth.Options{Tokens: []auth.Token{{Agent: "alice", Secret: a}, {Agent: "bob", Secret: b}}})
	if resp := s.do("POST", begin); resp.StatusCode != 401 {
		t.Errorf("without a token: %s", resp.Status)
	}
	alice, bob := []string{"Authorization", "Bearer " + a}, []string{"Authorization", "Bearer " + b}
	session := s.session(alice...)
	if resp := s.do("POST", callT(1, "{}"), append(bob, "Mcp-Session-Id", session)...); resp.StatusCode != 403 {
		t.Errorf("another's session: %s", resp.Status)
	}
	got := body(t, s.do("POST", callT(1, "{}"), append(alice, "Mcp-Session-Id", session)...))
	_, id, _ := strings.Cut(got, "cache_id=")
	ask := alone(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"proxy_search","arguments":{"cache_id":%q,"pattern":"secret"}}}`, id[:16]), "")
	for _, tt := range []struct {
		header []string
		found  bool
	}{{alice, true}, {bob, false}, {append(bob, "Rlmproxy-Agent", "alice"), false}} {
		got := body(t, s.do("POST", ask, append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "proxy_search"}, tt.header...)...))
		if strings.Contains(got, "unknown_cache_id") == tt.found {
			t.Errorf("%v: %.200s", tt.header, got)
		}
	}
}

// TestHeaders: what the transport compares of a message, and what the server says of it.
func TestHeaders(t *testing.T) {
	s := serve(t, withT(func(context.Context, upstream.Request) (json.RawMessage, error) {
		return text("ok"), nil
	}), Options{}, auth.Options{})
	version := func(v, method string) []string {
		return []string{headerVersion, v, headerMethod, method, headerName, "t"}
	}
	call := slices.Clip(version(revision.Stateless, "tools/call"))
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		status int
		want   string
	}{
		{"argument", alone(callT(1, `{"region":"é"}`), ""), append(call, "Mcp-Param-Region", "=?base64?w6k=?="), 200, `"ok"`},
		{"another argument", alone(callT(1, `{"region":"a"}`), ""), append(call, "Mcp-Param-Region", "b"), 400, "-32020"},
		{"bad base64", alone(callT(1, `{"region":"a"}`), ""), append(call, "Mcp-Param-Region", "=?base64?%%?="), 400, "-32020"},
		{"unknown version", strings.Replace(alone(callT(1, "{}"), ""), revision.Stateless, "2099-01-01", 1), version("2099-01-01", "tools/call"), 400, `"supported":["2026-07-28"`},
		{"discover", alone(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"a":1}}`, ""), version(revision.Stateless, "server/discover"), 200, `"2024-11-05"`},
	} {
		resp := s.do("POST", tt.body, tt.header...)
		if got := body(t, resp); resp.StatusCode != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, resp.StatusCode, got, tt.status, tt.want)
		}
	}
	big := serve(t, withT(nil), Options{MaxBodyBytes: 1000}, auth.Options{})
	if resp := big.do("POST", strings.Repeat(" ", 2000)+begin); resp.StatusCode != 413 {
		t.Errorf("too long: %s", resp.Status)
	}
}

// TestGone: who goes away ends its calls: at once where it cannot come back, a
// little later where it could.
func TestGone(t *testing.T) {
	const resume = 3 * time.Second
	begun, ended := make(chan bool, 1), make(chan time.Time, 1)
	s := serve(t, withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		begun <- true
		<-ctx.Done()
		ended <- time.Now()
		return nil, ctx.Err()
	}), Options{ResumeTime: resume}, auth.Options{})
	id := s.session()
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		least  time.Duration
	}{
		{"stateless", alone(callT(1, "{}"), ""), aloneHeader, 0},
		{"2025-06-18", callT(1, "{}"), []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-06-18"}, 0},
		{"2025-11-25", callT(2, "{}"), []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25"}, resume},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(tt.header); i += 2 {
			r.Header.Set(tt.header[i], tt.header[i+1])
		}
		left := make(chan time.Time, 1)
		go func() {
			<-begun
			time.Sleep(3 * primeTime) // until the client has the stream's id
			left <- time.Now()
			cancel()
		}()
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		took := (<-ended).Sub(<-left)
		if took < tt.least || took > tt.least+2*time.Second {
			t.Errorf("%s: the call ended after %v", tt.name, took)
		}
		cancel()
	}
}

// TestAsk: what a server asks reaches the client on the stream of the call that
// caused it, raw, and so does the answer.
func TestAsk(t *testing.T) {
	var s *site
	answers := make(chan string, 2)
	s = serve(t, withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		s.server.Tell(context.Background(), "s", "notifications/message", json.RawMessage(`{"level":"info","data":1.0,"future":1}`))
		// As from a pipe, which does not tell by ctx.
		raw, err := s.server.Ask(context.Background(), "s", "elicitation/create", json.RawMessage(`{"message":"?","future":9007199254740993}`))
		answers <- fmt.Sprint(string(raw), err)
		return text("done"), nil
	}), Options{}, auth.Options{})
	id := s.session()
	resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", id)
	got := events(t, resp.Body, 2)
	if !strings.HasSuffix(got[0], `"params":{"level":"info","data":1.0,"future":1}}`) {
		t.Errorf("log message %s", got[0])
	}
	_, asked, _ := strings.Cut(got[1], `"id":"`)
	asked, _, _ = strings.Cut(asked, `"`)
	want := `{"jsonrpc":"2.0","id":"` + asked + `","method":"elicitation/create","params":{"message":"?","future":9007199254740993}}`
	if _, data, _ := strings.Cut(got[1], " "); data != want {
		t.Errorf("asked %s\nwant  %s", data, want)
	}
	s.do("POST", `{"jsonrpc":"2.0","id":"`+asked+`","result":{"action":"accept","x":1.0}}`, "Mcp-Session-Id", id)
	if got := <-answers; got != `{"action":"accept","x":1.0}<nil>` {
		t.Errorf("answer %s", got)
	}
	if rest := events(t, resp.Body, -1); len(rest) != 1 || !strings.Contains(rest[0], "done") {
		t.Errorf("%q", rest)
	}
	// A client that cannot be asked is not.
	if got := body(t, s.do("POST", alone(callT(1, "{}"), ""), aloneHeader...)); !strings.Contains(got, "done") {
		t.Error(got)
	}
	if got := <-answers; !strings.Contains(got, "does not support") {
		t.Errorf("answer %s", got)
	}
}

// TestIdle: a session ends when nothing is open, and what it had goes with it.
func TestIdle(t *testing.T) {
	s := serve(t, withT(func(context.Context, upstream.Request) (json.RawMessage, error) {
		return text("ok"), nil
	}), Options{SessionIdle: 300 * time.Millisecond}, auth.Options{})
	idle, listening := s.session(), s.session()
	stream := s.do("GET", "", "Mcp-Session-Id", listening)
	time.Sleep(time.Second)
	if resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", idle); resp.StatusCode != 404 {
		t.Errorf("idle: %s", resp.Status)
	}
	if resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", listening); resp.StatusCode != 200 {
		t.Errorf("listening: %s", resp.Status)
	}
	if resp := s.do("DELETE", "", "Mcp-Session-Id", listening); resp.StatusCode != 204 {
		t.Errorf("DELETE: %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, stream.Body) // ends
	if n := len(s.h.places.all()); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}

func TestTooManySessions(t *testing.T) {
	s := serve(t, withT(nil), Options{MaxSessions: 2}, auth.Options{})
	one := s.session()
	s.session()
	if resp := s.do("POST", begin); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a third session: %s", resp.Status)
	}
	s.h.places.mu.Lock()
	s.h.places.sessions[one].since = time.Now().Add(-2 * restTime)
	s.h.places.mu.Unlock()
	s.session()
	if resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", one); resp.StatusCode != 404 {
		t.Errorf("the one that rested: %s", resp.Status)
	}
}

// TestNotifications: what a client tells goes to the server, known or not.
func TestNotifications(t *testing.T) {
	f := withT(nil)
	s := serve(t, f, Options{}, auth.Options{})
	id := s.session()
	for _, m := range []string{"notifications/future", "notifications/roots/list_changed"} {
		if resp := s.do("POST", `{"jsonrpc":"2.0","method":"`+m+`"}`, "Mcp-Session-Id", id); resp.StatusCode != 202 {
			t.Errorf("%s: %s", m, resp.Status)
		}
		select {
		case got := <-f.told:
			if got != m {
				t.Errorf("told %s, want %s", got, m)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s was not passed on", m)
		}
	}
}

// TestHealth: strangers hear whether the server is ready, who shows a token why.
func TestHealth(t *testing.T) {
	ready := true
	const secret = "0123456789abcdef"
	states := Options{Ready: func() (bool, string) { return ready, "s: state" }}
	base := func(who auth.Options) string {
		return strings.TrimSuffix(serve(t, withT(nil), states, who).url, "/mcp")
	}
	guarded, open := base(auth.Options{Tokens: []auth.Token{{Agent: "a", Secret: secret}}}), base(auth.Options{})
	for _, tt := range []struct {
		url    string
		token  string
		ready  bool
		status int
		text   string
	}{
		{guarded + "/healthz", "", false, 200, "ok\n"},
		{guarded + "/readyz", "", true, 200, "ready\n"},
		{guarded + "/readyz", "", false, 503, "not ready\n"},
		{guarded + "/readyz", "fedcba9876543210", false, 503, "not ready\n"},
		{guarded + "/readyz", secret, true, 200, "s: state\n"},
		{guarded + "/readyz", secret, false, 503, "s: state\n"},
		{open + "/readyz", "", true, 200, "ready\n"},
		{open + "/readyz", secret, false, 503, "not ready\n"},
		{guarded + "/", "", true, 401, ""},
	} {
		ready = tt.ready
		req, err := http.NewRequest("GET", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, resp); resp.StatusCode != tt.status || tt.text != "" && got != tt.text {
			t.Errorf("%s %q: %s %s", tt.url, tt.token, resp.Status, got)
		}
		resp.Body.Close()
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"8080", "127.0.0.1:8080"}, {":8080", "127.0.0.1:8080"}, {"0.0.0.0:1", "0.0.0.0:1"},
		{"localhost:0", "localhost:0"}, {"[::1]:80", "[::1]:80"}, {"", ""}, {"localhost", ""}, {"a:", ""}, {"99999", ""}, {"a:-1", ""},
	} {
		if got, err := Address(tt.text); got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
}

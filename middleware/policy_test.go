package middleware

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/middleware/upstream"
)

func TestLimits(t *testing.T) {
	off := false
	big, small := string(textResult(records(500))), string(textResult(records(10)))
	tests := []struct {
		name string
		opts Options
		up   Upstream
		want bool // the big result is cut
	}{
		{"default", Options{}, Upstream{}, true},
		{"pass through", Options{PassThrough: true}, Upstream{}, false},
		{"characters", Options{MaxChars: 3000}, Upstream{}, true},
		{"many characters", Options{MaxChars: 1_000_000}, Upstream{}, false},
		{"server unshaped", Options{}, Upstream{Policy: Policy{Shape: &off}}, false},
		{"server's limit", Options{}, Upstream{Policy: Policy{MaxTokens: 1_000_000}}, false},
		{"tool's limit", Options{MaxTokens: 1_000_000}, Upstream{Tools: map[string]Policy{"b*": {MaxTokens: 900}}}, true},
		{"longest glob", Options{}, Upstream{Tools: map[string]Policy{"b*": {}, "big": {Shape: &off}}}, false},
	}
	for _, tt := range tests {
		tt.up.Name, tt.up.Conn = "s", server(map[string]string{"big": big, "small": small}, "big", "small")
		tt.opts.Upstreams = []Upstream{tt.up}
		_, conn := dial(t, tt.opts)
		if got := call(t, conn, "small", `{}`); got != small {
			t.Errorf("%s: the small result changed: %.100s", tt.name, got)
		}
		got := call(t, conn, "big", `{}`)
		if cut := got != big; cut != tt.want {
			t.Errorf("%s: cut %v, want %v", tt.name, cut, tt.want)
		}
		if tt.opts.MaxChars > 0 && tt.want && len([]rune(decode(t, got).Content[0].Text)) > tt.opts.MaxChars {
			t.Errorf("%s: more than %d characters", tt.name, tt.opts.MaxChars)
		}
	}
}

func TestStandingProjection(t *testing.T) {
	for _, p := range []Policy{{Fields: []string{"[].id"}}, {Exclude: []string{"[].name", "[].user", "[].big"}}, {JQ: "map({id})"}} {
		up := Upstream{Name: "s", Conn: server(map[string]string{"rows": string(textResult(records(200)))}, "rows"), Tools: map[string]Policy{"rows": p}}
		_, conn := dial(t, Options{Upstreams: []Upstream{up}})
		d := decode(t, call(t, conn, "rows", `{}`))
		first, rest, _ := strings.Cut(d.Content[0].Text, "\n")
		if !strings.Contains(first, "fields chosen by the operator · cache_id=") || !strings.HasPrefix(rest, `[{"id":0},{"id":1}`) || !strings.HasSuffix(rest, `{"id":199}]`) {
			t.Errorf("%+v: %s\n%.200s", p, first, rest)
		}
		whole := text(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":".[199].name"}`, d.Meta.Result.CacheID))
		if whole != `"row 199"` {
			t.Errorf("%+v: the whole result answers %s", p, whole)
		}
	}
	// What is left can be over the limit too: it is cut, and both have an id.
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"rows": string(textResult(records(2000)))}, "rows"),
		Tools: map[string]Policy{"rows": {Fields: []string{"[].id", "[].name"}}}}}})
	d := decode(t, call(t, conn, "rows", `{}`))
	lines := strings.SplitN(d.Content[0].Text, "\n", 3)
	whole := strings.TrimSuffix(lines[1][strings.LastIndex(lines[1], "=")+1:], "]")
	if !strings.HasPrefix(lines[0], "[cut: ") || !strings.HasPrefix(lines[1], "[fields chosen by the operator") || strings.Contains(lines[2], `"user"`) {
		t.Errorf("got %s", d.Content[0].Text)
	}
	for id, want := range map[string]string{string(d.Meta.Result.CacheID): `{"id":1999,"name":"row 1999"}`, whole: `{"id":1999,"name":"row 1999","user":{"login":"u4"},"big":9007199254740993}`} {
		if got := text(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"offset":1999}`, id)); !strings.HasSuffix(got, "["+want+"]") {
			t.Errorf("%s answers %s, want %s", id, got, want)
		}
	}
	// With no room for a preview it is told all the same that something is gone.
	for _, lim := range []int{1, 10, 30, 60} {
		_, conn := dial(t, Options{MaxTokens: lim, Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"rows": string(textResult(records(9)))}, "rows"),
			Tools: map[string]Policy{"rows": {Fields: []string{"[].id"}}}}}})
		if got := text(t, conn, "rows", `{}`); got != records(9) && !strings.HasPrefix(got, "[cut: ") {
			t.Errorf("limit %d: %s", lim, got)
		}
	}
	up := Upstream{Name: "s", Conn: server(nil), Tools: map[string]Policy{"rows": {JQ: ".["}}}
	if _, err := New(Options{Store: &cache.Store{}, Upstreams: []Upstream{up}}); err == nil || !strings.Contains(err.Error(), `server "s": tools "rows": jq`) {
		t.Errorf("a standing jq that does not parse: %v", err)
	}
}

// TestGoneIDs holds promise 4: an id that was handed out says what became of it
// and how to get it back.
func TestGoneIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{MaxEntriesPerAgent: 1, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		_, conn := dial(t, Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{
			"a": string(textResult(records(500))), "b": string(textResult(records(501)))}, "a", "b")}}})
		a := decode(t, call(t, conn, "a", `{"q":"x"}`)).Meta.Result.CacheID
		b := decode(t, call(t, conn, "b", `{}`)).Meta.Result.CacheID
		time.Sleep(2 * time.Minute)
		for id, want := range map[cache.ID]string{a: `evicted_cache_id hint: call a {"q":"x"} to get it back`, b: "expired_cache_id hint: call b {} to get it back"} {
			d := decode(t, call(t, conn, "proxy_explore", fmt.Sprintf(`{"cache_id":%q}`, id)))
			_, hint, _ := strings.Cut(d.Content[0].Text, "\n")
			if got := d.Meta.Error["code"] + " " + hint; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		if again := decode(t, call(t, conn, "a", `{"q":"x"}`)).Meta.Result.CacheID; again != a {
			t.Errorf("the same result has id %s, had %s", again, a)
		}
	})
}

// TestClientReadsNothing: a client that closes its end and leaves answers unread
// once kept the proxy and its servers alive.
func TestClientReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s, err := New(Options{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		served := make(chan error, 1)
		begun := time.Now()
		go func() { served <- s.Serve(context.Background(), r1, w2) }()
		io.WriteString(w1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		if line, err := bufio.NewReader(r2).ReadString('\n'); err != nil || !strings.Contains(line, "serverInfo") {
			t.Fatal(line, err)
		}
		io.WriteString(w1, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
		synctest.Wait() // the answer is being written
		w1.Close()
		if err := <-served; err != nil || time.Since(begun) != readTime {
			t.Errorf("Serve: %v after %v", err, time.Since(begun))
		}
	})
}

func TestTimeout(t *testing.T) {
	f := server(nil, "slow")
	f.call = func(ctx context.Context, _ toolCall) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Tools: map[string]Policy{"slow": {Timeout: time.Millisecond}}}}})
	d := decode(t, call(t, conn, "slow", `{}`))
	if d.Meta.Error["code"] != "upstream_timeout" || !strings.Contains(d.Content[0].Text, "after 1ms") {
		t.Errorf("%+v", d)
	}
}

func TestUpstreamErrors(t *testing.T) {
	f := server(nil, "x")
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	for _, tt := range []struct {
		err  error
		code string
		want string
	}{
		{&upstream.UnavailableError{Server: "s", Lost: true, Err: errors.New("signal: killed")}, "upstream_unavailable", "try again in a moment"},
		{&upstream.UnavailableError{Server: "s", Err: errors.New("no such file")}, "upstream_unavailable", "no such file"},
		{&upstream.UnavailableError{Server: "s", Err: &jsonrpc.Error{Code: -32000, Message: "no licence"}}, "upstream_unavailable", "no licence"},
		{errors.New("token=secret"), "internal", "internal error (ref "},
	} {
		f.call = func(context.Context, toolCall) (json.RawMessage, error) { return nil, tt.err }
		d := decode(t, call(t, conn, "x", `{}`))
		if d.Meta.Error["code"] != tt.code || !strings.Contains(d.Content[0].Text, tt.want) || strings.Contains(d.Content[0].Text, "secret") {
			t.Errorf("%v: %+v", tt.err, d)
		}
	}
}

// TestBlobBecomesResource: base64 in an embedded resource is named in the
// preview and read as a resource, by its own agent only.
func TestBlobBecomesResource(t *testing.T) {
	blob := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("binary\x00", 9000)))
	raw := `{"content":[{"type":"text","text":"here it is"},{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"` + blob + `"}}]}`
	s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"pdf": raw}, "pdf")}}})
	d := decode(t, call(t, conn, "pdf", `{}`))
	uri := fmt.Sprintf("rlmproxy://cache/%s/1", d.Meta.Result.CacheID)
	if got := d.Content[0].Text; !strings.Contains(got, uri) || !strings.Contains(got, "here it is") {
		t.Fatalf("preview: %s", got)
	}
	params := json.RawMessage(fmt.Sprintf(`{"uri":%q}`, uri))
	got, err := conn.Call(t.Context(), "resources/read", params)
	if want := fmt.Sprintf(`{"contents":[{"uri":%q,"mimeType":"application/pdf","blob":%q}]}`, uri, blob); err != nil || string(got) != want {
		t.Errorf("resources/read: %.200s, %v", got, err)
	}
	for _, odd := range []string{`{"uri":"\u007f"}`, `{"uri":"rlmproxy://cache/x/999"}`, `{"uri":"rlmproxy://cache/` + string(d.Meta.Result.CacheID) + `/7"}`} {
		if got, err := conn.Call(t.Context(), "resources/read", json.RawMessage(odd)); err == nil || !strings.Contains(err.Error(), "Resource not found") {
			t.Errorf("%s: %s, %v", odd, got, err)
		}
	}
	if got, err := connect(t, s).Call(t.Context(), "resources/read", params); err == nil {
		t.Errorf("another agent reads %.100s", got)
	}
}

func TestSharedCache(t *testing.T) {
	s, a := dial(t, Options{SharedCache: true, Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"rows": string(textResult(records(500)))}, "rows")}}})
	id := decode(t, call(t, a, "rows", `{}`)).Meta.Result.CacheID
	if got := text(t, connect(t, s), "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"length"}`, id)); got != "500" {
		t.Errorf("another connection reads %s", got)
	}
}

func TestProgressReachesTheClient(t *testing.T) {
	f := server(nil, "x")
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if c.Progress == nil || string(c.Meta["k"]) != `"v"` || string(c.Meta["progressToken"]) != `"theirs"` {
			return nil, fmt.Errorf("call %+v", c)
		}
		c.Progress(json.RawMessage(`{"progressToken":"ours","progress":1,"x":1.0}`))
		return textResult("done"), nil
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	got := make(chan *mcp.ProgressNotificationParams, 1)
	session := sdkSession(t, s, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params }}, "2025-11-25")
	params := &mcp.CallToolParams{Name: "x", Meta: mcp.Meta{"k": "v"}}
	params.SetProgressToken("theirs")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if p := <-got; p.ProgressToken != "theirs" || p.Progress != 1 {
		t.Errorf("progress %+v", p)
	}
}

func TestListChangedReachesClients(t *testing.T) {
	f := server(nil, "x")
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	heard := make(chan struct{}, 1)
	session := sdkSession(t, s, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} }}, "2025-11-25")
	f.tools = server(nil, "x", "y").tools
	s.ListsChanged("s")
	<-heard
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 5 {
		t.Errorf("tools after the change: %+v, %v", list, err)
	}
}

// TestRevisions: clients of each revision list and call.
func TestRevisions(t *testing.T) {
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x")}}})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		session := sdkSession(t, s, nil, version)
		if got := session.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("asked for %s, got %s", version, got)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 4 {
			t.Errorf("%s: tools %+v, %v", version, list, err)
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "x", Arguments: map[string]any{}})
		if err != nil || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != "x{}" {
			t.Errorf("%s: %+v, %v", version, r, err)
		}
	}
}

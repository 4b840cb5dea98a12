//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/tokens"
)

// offering is a server that offers everything; answers are by method.
func offering(answers map[string]string) *fake {
	f := server(nil, "x")
	f.info = &upstream.Info{Instructions: "Be kind.", Capabilities: &mcp.ServerCapabilities{
		Resources: &mcp.ResourceCapabilities{Subscribe: true}, Prompts: &mcp.PromptCapabilities{},
		Completions: &mcp.CompletionCapabilities{}, Logging: &mcp.LoggingCapabilities{},
	}}
	f.told = make(chan string, 10)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if a, ok := answers[r.Method]; ok {
			return json.RawMessage(strings.ReplaceAll(a, "PARAMS", string(r.Params))), nil
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not here: " + r.Method}
	}
	return f
}

// client connects to s with its own answers to what servers ask.
func clientOf(t *testing.T, s *Server, can *mcp.ClientCapabilities, opts clientOptions) client {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	out := &outlet{WriteCloser: w2}
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, out) }()
	conn := newClient(inlet{r2, out}, w1, opts)
	conn.initialize(t, can)
	t.Cleanup(func() {
		conn.Close()
		<-served
	})
	return conn
}

func ask(t *testing.T, conn client, method, params string) string {
	t.Helper()
	raw, err := conn.Call(t.Context(), method, json.RawMessage(params))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(raw)
}

// TestOneServerIsSeenThrough: with one server, what is not ours passes both ways
// as it is.
func TestOneServerIsSeenThrough(t *testing.T) {
	f := offering(map[string]string{
		"resources/list":           `{"resources":[{"uri":"a:b","future":1.0}],"nextCursor":"c","x":9007199254740993}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}`,
		"resources/read":           `{"contents":[{"uri":"a:b","text":"t","z":1.0}],"got":PARAMS}`,
		"completion/complete":      `{"completion":{"values":[]},"got":PARAMS}`,
		"prompts/get":              `{"messages":[],"got":PARAMS}`,
		"future/method":            `{"z":1.0,"a":9007199254740993,"got":PARAMS}`,
	})
	f.prompts = []upstream.Tool{{Name: "a b", Raw: json.RawMessage(`{"name":"a b","future":1.0}`)}}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	conn := clientOf(t, s, nil, clientOptions{})
	for _, tt := range []struct{ method, params, want string }{
		{"resources/list", `{"cursor":"c"}`, `{"resources":[{"uri":"a:b","future":1.0}],"nextCursor":"c","x":9007199254740993}`},
		{"resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}`},
		{"resources/read", `{"uri":"a:b","future":1.0}`, `{"contents":[{"uri":"a:b","text":"t","z":1.0}],"got":{"uri":"a:b","future":1.0}}`},
		{"prompts/list", `{}`, `{"prompts":[{"name":"a b","future":1.0}]}`},
		{"prompts/get", `{"arguments":{"n":"1"},"name":"a b"}`, `{"messages":[],"got":{"arguments":{"n":"1"},"name":"a b"}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a b","title":"T"},"argument":{"name":"n","value":"v"}}`,
			`{"completion":{"values":[]},"got":{"ref":{"type":"ref/prompt","name":"a b","title":"T"},"argument":{"name":"n","value":"v"}}}`},
		{"future/method", `{"z":1.0}`, `{"z":1.0,"a":9007199254740993,"got":{"z":1.0}}`},
		{"another/method", `{}`, `error: not here: another/method`},
		{"prompts/get", `{"name":"zzz"}`, `error: unknown prompt "zzz"`},
		{"tools/call", `{"arguments":{}}`, `error: no name`},
		{"tools/call", `[]`, `error: params is not an object`},
	} {
		if got := ask(t, conn, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", tt.method, tt.params, got, tt.want)
		}
	}
	if err := conn.Notify(t.Context(), "notifications/future", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if got := <-f.told; got != "notifications/future" {
		t.Errorf("the server hears %s", got)
	}
	if err := conn.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-f.told; got != "notifications/roots/list_changed" {
		t.Errorf("the server hears %s", got)
	}
}

// TestCallsKeepTheirParams: what we do not know of a call, such as the answers to
// what a server wanted to know first, reaches the server.
func TestCallsKeepTheirParams(t *testing.T) {
	f := server(nil, "x")
	var got json.RawMessage
	f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		got = r.Params
		return textResult("ok"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: f}}})
	ask(t, conn, "tools/call", `{"task":{"ttl":1.0},"name":"s_x","arguments":{"b":1.0,"a":9007199254740993},"requestState":"q","inputResponses":{"k":{}}}`)
	if want := `{"task":{"ttl":1.0},"name":"x","arguments":{"b":1.0,"a":9007199254740993},"requestState":"q","inputResponses":{"k":{}}}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSeveralServers: names and URIs of several servers do not collide.
func TestSeveralServers(t *testing.T) {
	one := offering(map[string]string{
		"resources/read": `{"contents":[],"one":PARAMS}`,
		"prompts/get":    `{"messages":[],"one":PARAMS}`,
	})
	one.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}, {Name: "hub_x", Raw: json.RawMessage(`{"name":"hub_x"}`)}}
	rest := one.answer
	one.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		switch {
		case r.Method == "resources/list" && string(r.Params) == `{}`:
			return json.RawMessage(`{"resources":[{"name":"a","uri":"file:///a"}],"nextCursor":"two"}`), nil
		case r.Method == "resources/list":
			return json.RawMessage(`{"resources":[{"name":"b","uri":"file:///b"}]}`), nil
		case r.Method == "resources/read" && strings.Contains(string(r.Params), "only-two"):
			return nil, &jsonrpc.Error{Code: -32002, Message: "Resource not found"}
		}
		return rest(ctx, r)
	}
	two := offering(map[string]string{
		"resources/list":      `{"resources":[{"name":"a","uri":"file:///a"}]}`,
		"resources/read":      `{"contents":[],"two":PARAMS}`,
		"prompts/get":         `{"messages":[],"two":PARAMS}`,
		"completion/complete": `{"two":PARAMS}`,
	})
	two.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}, {Name: "x", Raw: json.RawMessage(`{"name":"x"}`)}}
	s, conn := dial(t, Options{Upstreams: []Upstream{
		{Name: "git", Prefix: "git", Conn: one}, {Name: "plain", Prefix: "plain", Conn: server(nil, "x")}, {Name: "git_hub", Prefix: "git_hub", Conn: two}}})

	var uris []string
	params := `{}`
	for range 5 {
		page := gjson.Parse(ask(t, conn, "resources/list", params))
		for _, r := range page.Get("resources.#.uri").Array() {
			uris = append(uris, r.String())
		}
		if !page.Get("nextCursor").Exists() {
			break
		}
		params = fmt.Sprintf(`{"cursor":%s}`, page.Get("nextCursor").Raw)
	}
	if want := []string{"s-git+file:///a", "s-git+file:///b", "s-git.hub+file:///a"}; !slices.Equal(uris, want) {
		t.Errorf("resources %q, want %q", uris, want)
	}
	for uri, want := range map[string]string{
		"s-git+file:///a":     `{"contents":[],"one":{"uri":"file:///a"}}`,
		"s-git.hub+file:///a": `{"contents":[],"two":{"uri":"file:///a"}}`,
		"file:///a":           `{"contents":[],"one":{"uri":"file:///a"}}`,
		"file:///only-two":    `{"contents":[],"two":{"uri":"file:///only-two"}}`,
	} {
		if got := ask(t, conn, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
	var names []string
	for _, n := range gjson.Parse(ask(t, conn, "prompts/list", `{}`)).Get("prompts.#.name").Array() {
		names = append(names, n.String())
	}
	if len(names) != 4 || names[0] != "git_p" || !strings.HasPrefix(names[1], "git_hub_x_") || names[2] != "git_hub_p" || names[3] != "git_hub_x" {
		t.Errorf("prompts %q", names)
	}
	for name, want := range map[string]string{
		names[1]:    `{"messages":[],"one":{"name":"hub_x"}}`,
		"git_hub_x": `{"messages":[],"two":{"name":"x"}}`,
	} {
		if got := ask(t, conn, "prompts/get", fmt.Sprintf(`{"name":%q}`, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := ask(t, conn, "completion/complete", `{"ref":{"type":"ref/resource","uri":"s-git.hub+a:{b}"}}`); got != `{"two":{"ref":{"type":"ref/resource","uri":"a:{b}"}}}` {
		t.Errorf("completion: %s", got)
	}
	for _, bad := range []struct{ method, params string }{
		{"resources/list", `{"cursor":"!"}`}, {"prompts/list", `{"cursor":"from-x"}`}, {"tools/list", `{"cursor":"from--1"}`},
		{"completion/complete", `{"ref":{"type":"x"}}`}, {"future/method", `{}`},
	} {
		if got := ask(t, conn, bad.method, bad.params); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s %s: %s", bad.method, bad.params, got)
		}
	}
	if caps := s.capabilities(s.everything()); caps.Prompts == nil || !caps.Resources.Subscribe || caps.Completions == nil || caps.Logging == nil {
		t.Errorf("capabilities %+v", caps)
	}
	if got := s.instructions(s.everything()); !strings.Contains(got, frame.From("git_hub")+"Be kind.") || !strings.HasPrefix(got, tools.Instructions) {
		t.Errorf("instructions %q", got)
	}
}

// TestLongContentIsCut: resources and prompts over the limit are cut like results
// of tools, and drilled into like them.
func TestLongContentIsCut(t *testing.T) {
	f := offering(map[string]string{
		"resources/read": `{"contents":[{"uri":"a:b","mimeType":"application/json","text":` + mustQuote(records(500)) + `},{"uri":"a:c","blob":"QUJD"}],"future":1.0}`,
		"prompts/get":    `{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":` + mustQuote(records(500)) + `}},{"role":"user","content":{"type":"image","data":"QUJD","mimeType":"image/png"}}]}`,
	})
	f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	for _, tt := range []struct{ method, params, text, also string }{
		{"resources/read", `{"uri":"a:b"}`, "contents.0.text", `"uri":"a:c","blob":"QUJD"`},
		{"prompts/get", `{"name":"p"}`, "messages.0.content.text", `"data":"QUJD"`},
	} {
		raw := ask(t, conn, tt.method, tt.params)
		got := gjson.Parse(raw)
		text := got.Get(tt.text).String()
		n, _ := tokens.Count([]byte(text))
		id := got.Get(`_meta.rlmproxy/result.cache_id`).String()
		if !strings.HasPrefix(text, "[cut: ~") || n > 2000 || id == "" || !strings.Contains(raw, tt.also) {
			t.Fatalf("%s: %d tokens, %s", tt.method, n, raw)
		}
		if got := call(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"length","block":0}`, id)); gjson.Get(got, "content.0.text").String() != "500" {
			t.Errorf("%s: %s", tt.method, got)
		}
	}
}

var canElicit = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}

// TestServersAskTheirClient: what a server asks reaches the client whose call
// made it ask, as it is, and its answer comes back as it is.
func TestServersAskTheirClient(t *testing.T) {
	const question, answer = `{"message":"who?","z":1.0,"a":9007199254740993}`, `{"action":"accept","content":{"z":1.0},"future":[]}`
	f := offering(nil)
	var s *Server
	reached := make(chan string, 10)
	var both sync.WaitGroup
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		from := context.Background() // a pipe does not say for which call it asks
		switch string(c.Arguments) {
		case `{"with":"ctx"}`:
			both.Done()
			both.Wait() // two clients' calls are running
			from = ctx
		case `{"with":"others"}`:
			both.Done()
			both.Wait()
		}
		raw, err := s.Ask(from, "s", "elicitation/create", json.RawMessage(question))
		if err != nil {
			return textResult("refused: " + err.Error()), nil
		}
		return textResult(string(raw)), nil
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	connect := func(name string, can *mcp.ClientCapabilities) client {
		return clientOf(t, s, can, clientOptions{Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			reached <- name + " " + method + " " + string(params)
			return json.RawMessage(answer), nil
		}})
	}
	ann, bob, old := connect("ann", canElicit), connect("bob", canElicit), connect("old", nil)
	if got := text(t, ann, "x", `{}`); got != answer {
		t.Errorf("ann gets %s", got)
	}
	if got := <-reached; got != "ann elicitation/create "+question {
		t.Errorf("reached %s", got)
	}
	if got := text(t, old, "x", `{}`); got != `refused: the client does not support elicitation/create` {
		t.Errorf("a client without elicitation: %s", got)
	}
	for _, with := range []string{"ctx", "others"} {
		both.Add(2)
		var got [2]string
		var wg sync.WaitGroup
		for i, conn := range []client{ann, bob} {
			wg.Go(func() {
				raw, err := conn.Call(context.Background(), "tools/call", json.RawMessage(fmt.Sprintf(`{"name":"x","arguments":{"with":%q}}`, with)))
				got[i] = fmt.Sprint(gjson.GetBytes(raw, "content.0.text").String(), err)
			})
		}
		wg.Wait()
		if with == "ctx" {
			who := []string{<-reached, <-reached}
			slices.Sort(who)
			if !strings.HasPrefix(who[0], "ann ") || !strings.HasPrefix(who[1], "bob ") {
				t.Errorf("reached %q", who)
			}
			continue
		}
		// One may have ended before the other asked; while both run, neither is
		// asked.
		if !strings.Contains(got[0]+got[1], "cannot tell which of its clients") {
			t.Errorf("with two calls running: %q", got)
		}
	}
}

// TestTimeIsGivenAnew: a call of 150 seconds with progress survives a timeout of
// 60, one that waits for a person does, and one without a sign of life does not.
func TestTimeIsGivenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := server(nil, "x")
		var s *Server
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			for i := range 5 {
				switch string(c.Arguments) {
				case `{"how":"progress"}`:
					c.Progress(json.RawMessage(fmt.Sprintf(`{"progressToken":"t","progress":%d}`, i)))
				case `{"how":"ask"}`:
					if i == 1 {
						if _, err := s.Ask(context.Background(), "s", "elicitation/create", json.RawMessage(`{}`)); err != nil {
							return nil, err
						}
					}
				}
				select {
				case <-time.After(30 * time.Second):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				if string(c.Arguments) == `{"how":"ask"}` && i == 1 {
					break
				}
			}
			return textResult("done"), nil
		}
		store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s, err = New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(10 * time.Minute)
			return json.RawMessage(`{}`), nil
		}})
		call := func(how string) (string, time.Duration) {
			begun := time.Now()
			raw, err := conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x","arguments":{"how":"`+how+`"},"_meta":{"progressToken":1}}`))
			return fmt.Sprint(gjson.GetBytes(raw, "content.0.text").String(), err), time.Since(begun)
		}
		if got, took := call("progress"); got != "done<nil>" || took != 150*time.Second {
			t.Errorf("with progress: %s after %v", got, took)
		}
		if got, took := call("none"); !strings.HasPrefix(got, "upstream_timeout: ") || took != 60*time.Second {
			t.Errorf("without: %s after %v", got, took)
		}
	})
}

// TestCancellationReachesTheServer: the client's ends the server's ctx.
func TestCancellationReachesTheServer(t *testing.T) {
	f := offering(nil)
	ended := make(chan error, 1)
	begun := make(chan bool)
	hang := func(ctx context.Context) (json.RawMessage, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	f.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) { return hang(ctx) }
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := conn.Call(ctx, "resources/read", json.RawMessage(`{"uri":"a:b"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("the client's call: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server's: %v", err)
	}
}

// TestSubscriptions: updates reach those who subscribed, under the URI that they
// know.
func TestSubscriptions(t *testing.T) {
	one, two := offering(map[string]string{"resources/subscribe": "{}", "resources/unsubscribe": "{}"}), offering(nil)
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: one}, {Name: "two", Prefix: "two", Conn: two}}})
	heard := make(chan string, 10)
	conn := clientOf(t, s, nil, clientOptions{Notify: func(method string, params json.RawMessage) {
		if method == "notifications/resources/updated" {
			heard <- gjson.GetBytes(params, "uri").String()
		}
	}})
	if got := ask(t, conn, "resources/subscribe", `{"uri":"s-one+a:b"}`); got != "{}" {
		t.Fatal(got)
	}
	if got := ask(t, conn, "resources/subscribe", `{"uri":"s-two+a:b"}`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("to a server that refuses: %s", got)
	}
	s.Tell(context.Background(), "one", "notifications/resources/updated", json.RawMessage(`{"uri":"other:x"}`))
	s.Tell(context.Background(), "one", "notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
	if got := <-heard; got != "s-one+a:b" {
		t.Errorf("heard of %s", got)
	}
	if got := ask(t, conn, "resources/unsubscribe", `{"uri":"s-one+a:b"}`); got != "{}" || s.relay.Watched() != 0 {
		t.Errorf("unsubscribe: %s, %d left", got, s.relay.Watched())
	}
}

// TestManyChangesAreOneNotification: a server that changes its list in a loop
// does not make its clients list in a loop.
func TestManyChangesAreOneNotification(t *testing.T) {
	f := server(nil, "x")
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	heard := make(chan string, 1000)
	conn := clientOf(t, s, nil, clientOptions{Notify: func(method string, _ json.RawMessage) {
		heard <- method
	}})
	begun := time.Now()
	for range 100 {
		f.change()
		s.ListsChanged("s")
	}
	most := 4 * (1 + int(time.Since(begun)/changeDelay)) // a busy machine may be slow at it
	if got := <-heard; !strings.HasSuffix(got, "/list_changed") {
		t.Errorf("heard %s", got)
	}
	ask(t, conn, "tools/list", `{}`)
	if n := len(heard); n > most {
		t.Errorf("%d more notifications of 100 changes", n)
	}
}

func TestLevelsAndLogs(t *testing.T) {
	f := offering(map[string]string{"logging/setLevel": "{}"})
	levels := make(chan string, 1)
	answer := f.answer
	f.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		levels <- string(r.Params)
		return answer(ctx, r)
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	conn := clientOf(t, s, nil, clientOptions{Notify: func(method string, params json.RawMessage) {
		heard <- method + string(params)
	}})
	if got := ask(t, conn, "logging/setLevel", `{"level":"error"}`); got != "{}" || <-levels != `{"level":"error"}` {
		t.Errorf("setLevel: %s", got)
	}
	s.Tell(context.Background(), "s", "notifications/message", json.RawMessage(`{"level":"error","data":{"z":1.0},"future":[]}`))
	if got := <-heard; got != `notifications/message{"level":"error","data":{"z":1.0},"future":[]}` {
		t.Errorf("heard %s", got)
	}
}

func TestPanicCostsOneRequest(t *testing.T) {
	f := server(nil, "x")
	f.call = func(context.Context, toolCall) (json.RawMessage, error) { panic("a fault") }
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if got := text(t, conn, "x", `{}`); !strings.HasPrefix(got, "internal: ") {
		t.Errorf("got %s", got)
	}
	if got := text(t, conn, "proxy_explore", `{"cache_id":"x"}`); !strings.HasPrefix(got, "unknown_cache_id") {
		t.Errorf("afterwards: %s", got)
	}
}

// TestHeldRequests: a client of 2026-07-28 answers what an older server asks by
// sending its request again.
func TestHeldRequests(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		name, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{"message":"who?"}`))
		if err != nil {
			return textResult("refused: " + err.Error()), nil
		}
		age, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{"message":"how old?"}`))
		if err != nil {
			return nil, err
		}
		return textResult(string(name) + " " + string(age)), nil
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	open := func() client {
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		served := make(chan error)
		go func() { served <- s.Serve(context.Background(), r1, w2) }()
		conn := newClient(r2, w1, clientOptions{})
		t.Cleanup(func() {
			conn.Close()
			<-served
		})
		return conn
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	send := func(conn client, more string) gjson.Result {
		t.Helper()
		return gjson.Parse(ask(t, conn, "tools/call", `{"name":"x","arguments":{},`+more+meta+`}`))
	}
	conn, other := open(), open()
	first := send(conn, "")
	if first.Get("resultType").String() != "input_required" || first.Get("inputRequests.q1.method").String() != "elicitation/create" || first.Get("inputRequests.q1.params.message").String() != "who?" {
		t.Fatalf("first: %s", first)
	}
	state := func(r gjson.Result) string { return `"requestState":` + r.Get("requestState").Raw + `,` }
	refused := func(conn client, more string) string {
		t.Helper()
		return ask(t, conn, "tools/call", `{"name":"x","arguments":{},`+more+meta+`}`)
	}
	if got := refused(other, state(first)+`"inputResponses":{"q1":{"action":"accept"}},`); !strings.Contains(got, "requestState is unknown") {
		t.Errorf("another agent goes on with it: %s", got)
	}
	again := send(conn, state(first))
	if again.Get("inputRequests.q1.params.message").String() != "who?" || state(again) == state(first) {
		t.Fatalf("without answers: %s", again)
	}
	if got := refused(conn, state(first)); !strings.Contains(got, "requestState is unknown") {
		t.Errorf("a state once more: %s", got)
	}
	again = send(conn, state(again)+`"inputResponses":{"q1":"accept"},`)
	if again.Get("inputRequests.q1.params.message").String() != "who?" {
		t.Fatalf("an answer that is none: %s", again)
	}
	second := send(conn, state(again)+`"inputResponses":{"q1":{"action":"accept","z":1.0}},`)
	if second.Get("inputRequests.q2.params.message").String() != "how old?" {
		t.Fatalf("second: %s", second)
	}
	done := send(conn, state(second)+`"inputResponses":{"q2":{"action":"decline"}},`)
	if got, want := done.Get("content.0.text").String(), `{"action":"accept","z":1.0} {"action":"decline"}`; got != want || done.Get("resultType").String() != "complete" {
		t.Errorf("done: %s", done)
	}
	if got := ask(t, conn, "tools/call", `{"name":"x","arguments":{},`+strings.Replace(meta, `{"elicitation":{"form":{}}}`, `{}`, 1)+`}`); !strings.Contains(got, "does not support elicitation") {
		t.Errorf("a client that cannot: %s", got)
	}
	if waiting, running := s.relay.Deferred().Len(), s.upstreams()[0].server.Shared().Running(); waiting+running != 0 {
		t.Errorf("%d wait for their clients, %d run", waiting, running)
	}
}

// TestProgressOfClients: servers that use one token each hear of their own
// request, in the client's own bytes.
func TestProgressOfClients(t *testing.T) {
	one, two := offering(nil), offering(nil)
	var s *Server
	for _, f := range []*fake{one, two} {
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			raw, err := s.Ask(ctx, string(c.Arguments[6:9]), "elicitation/create", json.RawMessage(`{"message":"`+string(c.Arguments[6:9])+`","_meta":{"progressToken":1.0,"a":9007199254740993}}`))
			return textResult(string(raw)), err
		}
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: one}, {Name: "two", Prefix: "two", Conn: two}}})
	var both sync.WaitGroup
	both.Add(2)
	tokens := make(chan string, 2)
	var conn client
	conn = clientOf(t, s, canElicit, clientOptions{Handle: func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		p := gjson.GetManyBytes(params, "_meta.progressToken", "message", "_meta.a")
		tokens <- p[0].Raw
		both.Done()
		both.Wait()
		told := fmt.Sprintf(`{"progress":1.0,"progressToken":%s,"x":9007199254740993,"message":%s}`, p[0].Raw, p[1].Raw)
		return json.RawMessage(`{"a":` + p[2].Raw + `}`), conn.Notify(ctx, "notifications/progress", json.RawMessage(told))
	}})
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		wg.Go(func() {
			raw, err := conn.Call(context.Background(), "tools/call", json.RawMessage(`{"name":"`+name+`_x","arguments":{"s":"`+name+`"}}`))
			if got := gjson.GetBytes(raw, "content.0.text").String(); err != nil || got != `{"a":9007199254740993}` {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		})
	}
	wg.Wait()
	if a, b := <-tokens, <-tokens; a == b {
		t.Errorf("the client is given %s twice", a)
	}
	for name, f := range map[string]*fake{"one": one, "two": two} {
		if got, want := <-f.told, `notifications/progress{"progress":1.0,"progressToken":1.0,"x":9007199254740993,"message":"`+name+`"}`; got != want {
			t.Errorf("%s hears\n%s, want\n%s", name, got, want)
		}
	}
	if err := conn.Notify(t.Context(), "notifications/progress", json.RawMessage(`{"progressToken":"rlm-1","progress":2}`)); err != nil {
		t.Fatal(err)
	}
	ask(t, conn, "ping", `{}`)
	if n := len(one.told) + len(two.told); n != 0 {
		t.Errorf("%d are told", n)
	}
}

package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// heard is an observer that keeps what it is told, a line for each call.
type heard struct {
	mu    sync.Mutex
	calls []observe.Call
}

func (h *heard) Called(c *observe.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, *c)
}

// take returns what was heard since it was called last, in the order of numbers.
func (h *heard) take() []observe.Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	slices.SortFunc(calls, func(a, b observe.Call) int { return cmp.Compare(a.Number, b.Number) })
	return calls
}

// line is a call in words.
func line(c observe.Call) string {
	words := []string{c.Method, c.Server + "/" + c.Name, string(c.Outcome)}
	for _, w := range []struct {
		is   bool
		word string
	}{
		{c.Error != "", c.Error}, {!c.Known && strings.HasPrefix(c.Method, "tools"), "unknown"}, {c.For > 0, "fresh"},
		{c.ReadID != "", "reads"}, {c.CacheID != "", "keeps"},
		{c.TokensIn > 0, "in"}, {c.TokensOut > 0 && c.TokensOut < c.TokensIn, "less"}, {c.TokensOut > 0 && c.TokensOut >= c.TokensIn, "out"},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// TestObserved: each call is heard of once, however it ends.
func TestObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := offering(nil)
		tools := server(nil, "small", "big", "fails", "breaks", "slow", "panics", "limited")
		f.tools = tools.tools
		f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			switch c.Name {
			case "big":
				return textResult(records(3000)), nil
			case "fails":
				return json.RawMessage(`{"content":[{"type":"text","text":"no"}],"isError":true}`), nil
			case "breaks":
				return nil, &jsonrpc.Error{Code: -32050, Message: "it broke"}
			case "slow":
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case "panics":
				panic("oh")
			}
			return textResult("forged " + c.Name), nil
		}
		f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
			switch r.Method {
			case "prompts/get":
				return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`), nil
			case "resources/read":
				return json.RawMessage(`{"contents":[{"uri":"a:b","text":"hello"}]}`), nil
			case "future/method":
				return json.RawMessage(`{"future":1}`), nil
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: r.Method}
		}
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var h heard
		s, err := New(Options{
			Store: store, Observers: []observe.Observer{&h}, CallTimeout: 5 * time.Second, FreshCalls: FreshAll,
			Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: f, Tools: map[string]Policy{"limited": {RateLimit: 1}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Attach(deaf{}, Identity{Subject: "ann"}, rpc.Options{MaxRequests: 3})
		id := 0
		send := func(method, params string) error {
			id++
			return c.Receive(t.Context(), rpc.Message{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: json.RawMessage(params)})
		}
		if err := send("tools/call", `{"name":"early"}`); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		h.take()
		_ = send("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"prog","version":"1.2"}}`)
		synctest.Wait()
		last := ""
		for _, tt := range []struct{ method, params, want string }{
			{"tools/call", `{"name":"s_small","arguments":{"a":1}}`, "tools/call s/s_small ok in out"},
			{"tools/call", `{"name":"s_big"}`, "tools/call s/s_big ok keeps in less"},
			{"tools/call", `{"name":"proxy_explore","arguments":{"cache_id":"LAST"}}`, "tools/call /proxy_explore ok reads out"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"cache_id":"aaaaaaaaaaaaaaaa"}}`, "tools/call /proxy_filter error unknown_cache_id reads out"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"cache_id":"my password"}}`, "tools/call /proxy_filter error unknown_cache_id out"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"tool":"s_big","jq":"length"}}`, "tools/call /proxy_filter ok keeps out\ntools/call s/s_big ok fresh keeps in"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"tool":"s_fails"}}`, "tools/call /proxy_filter error tool_error out\ntools/call s/s_fails error tool_error fresh in"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"tool":"s_breaks"}}`, "tools/call /proxy_filter error -32050\ntools/call s/s_breaks error -32050 fresh"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"tool":"s_slow"}}`, "tools/call /proxy_filter error upstream_timeout out\ntools/call s/s_slow error upstream_timeout fresh"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"tool":"s_panics"}}`, "tools/call /proxy_filter error internal out\ntools/call s/s_panics error internal fresh"},
			{"tools/call", `{"name":"proxy_filter","arguments":{"nonsense":1}}`, "tools/call /proxy_filter error bad_arguments out"},
			{"tools/call", `{"name":"s_fails"}`, "tools/call s/s_fails error tool_error in out"},
			{"tools/call", `{"name":"s_breaks"}`, "tools/call s/s_breaks error -32050"},
			{"tools/call", `{"name":"s_slow"}`, "tools/call s/s_slow error upstream_timeout out"},
			{"tools/call", `{"name":"s_panics"}`, "tools/call s/s_panics error internal out"},
			{"tools/call", `{"name":"s_nothing"}`, "tools/call /s_nothing error unknown_tool unknown out"},
			{"tools/call", `{"name":"s_limited"}`, "tools/call s/s_limited ok in out"},
			{"tools/call", `{"name":"s_limited"}`, "tools/call s/s_limited error rate_limited out"},
			{"tools/call", `{"name":7}`, "tools/call /7 error -32602 unknown"},
			{"tools/call", `[]`, "tools/call / error -32602 unknown"},
			{"prompts/get", `{"name":"s_p"}`, "prompts/get s/s_p ok in out"},
			{"prompts/get", `{"name":"nothing"}`, "prompts/get /nothing error -32602"},
			{"resources/read", `{"uri":"a:b"}`, "resources/read s/ ok in out"},
			{"resources/read", `{"uri":"rlmproxy://cache/LAST/0"}`, "resources/read / ok reads out"},
			{"resources/read", `{"uri":"rlmproxy://cache/none/0"}`, "resources/read / error -32602"},
			{"future/method", `{}`, "future/method s/ ok in out"},
			{"tools/list", `{}`, ""},
			{"ping", `{}`, ""},
		} {
			if err := send(tt.method, strings.ReplaceAll(tt.params, "LAST", last)); err != nil {
				t.Error(err)
			}
			time.Sleep(6 * time.Second)
			synctest.Wait()
			calls := h.take()
			var got []string
			for _, c := range calls {
				got = append(got, line(c))
				if c.Server == "s" && c.CacheID != "" {
					last = string(c.CacheID)
				}
				if c.Agent != "subject :ann" || c.Client != "prog 1.2" || c.Begun.IsZero() || strings.Contains(line(c), "timeout") != (c.Took == 5*time.Second) {
					t.Errorf("%s %s: %+v", tt.method, tt.params, c)
				}
			}
			if g := strings.Join(got, "\n"); g != tt.want {
				t.Errorf("%s %s:\n%s\nwant\n%s", tt.method, tt.params, g, tt.want)
			}
		}
		// Three wait; the fourth finds no room. Then one is cancelled, and the client goes.
		for i := range 4 {
			if err := send("tools/call", `{"name":"s_slow"}`); (err != nil) != (i == 3) {
				t.Errorf("%d: %v", i, err)
			}
		}
		_ = c.Receive(t.Context(), rpc.Message{Method: "notifications/cancelled", Params: json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, id-1))})
		synctest.Wait()
		c.End()
		if err := send("tools/call", `{"name":"s_small"}`); !errors.Is(err, rpc.ErrClosed) {
			t.Error(err)
		}
		s.Close()
		store.Close()
		var got []string
		for _, c := range h.take() {
			got = append(got, line(c))
		}
		slices.Sort(got)
		want := []string{"tools/call /s_slow error too_busy unknown", "tools/call /s_small cancelled unknown",
			"tools/call s/s_slow cancelled", "tools/call s/s_slow cancelled", "tools/call s/s_slow cancelled"}
		if !slices.Equal(got, want) {
			t.Errorf("in the end:\n%s", strings.Join(got, "\n"))
		}
	})
}

// TestObservedHoldsNoSecret: what anybody may show of an agent and its ids.
func TestObservedHoldsNoSecret(t *testing.T) {
	for _, who := range []Identity{{Session: "secret"}, {Name: "secret"}, {Subject: strings.Repeat("secret", 50)}} {
		if name := who.Party(1); regexp.MustCompile("secret").MatchString(name) {
			t.Errorf("%+v is %s", who, name)
		}
	}
}

// TestObservedInput: a call that goes on when its client has answered what the server
// asks is two calls of the client's.
func TestObservedInput(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		raw, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		return textResult(string(raw)), err
	}
	var h heard
	s, _ = dial(t, Options{Observers: []observe.Observer{&h}, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	conn := attach(t, s, Identity{Name: "ann"}, clientOptions{})
	got := ask(t, conn, "tools/call", `{"name":"x",`+statelessMeta("")+`}`)
	ask(t, conn, "tools/call", `{"name":"x","requestState":`+gjson.Get(got, "requestState").Raw+`,"inputResponses":{"q1":{"a":1}},`+statelessMeta("")+`}`)
	var lines []string
	for _, c := range h.take() {
		lines = append(lines, line(c))
	}
	if want := []string{"tools/call s/x input_required in out", "tools/call s/x ok in out"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

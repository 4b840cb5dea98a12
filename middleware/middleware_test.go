package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/tokens"
)

// A fake is a server whose tools are functions of the raw arguments.
type fake struct {
	mu    sync.Mutex
	tools []upstream.Tool
	call  func(ctx context.Context, c toolCall) (json.RawMessage, error)
	state upstream.State
	err   error

	// What is no tool:
	prompts []upstream.Tool
	info    *upstream.Info
	answer  func(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	told    chan string                                                            // methods of notifications
	raw     func(ctx context.Context, r upstream.Request) (json.RawMessage, error) // if set, of tools/call
}

// A toolCall is what a fake's tool is called with.
type toolCall struct {
	Name      string
	Arguments json.RawMessage
	Meta      map[string]json.RawMessage
	Progress  func(json.RawMessage)
}

func (f *fake) Tools() (tools []upstream.Tool) { f.locked(func() { tools = f.tools }); return tools }
func (f *fake) State() (state upstream.State, err error) {
	f.locked(func() { state, err = f.state, f.err })
	return state, err
}
func (f *fake) Settled(context.Context) {}
func (f *fake) Prompts() (prompts []upstream.Tool) {
	f.locked(func() { prompts = f.prompts })
	return prompts
}
func (f *fake) Info() (info *upstream.Info) { f.locked(func() { info = f.info }); return info }

// locked has do read or change what the server offers while others use it.
func (f *fake) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) Notify(_ context.Context, method string, params json.RawMessage) error {
	if method == "notifications/progress" {
		method += string(params)
	}
	f.told <- method
	return nil
}

func (f *fake) Call(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	switch {
	case r.Method == "tools/call" && f.raw != nil:
		return f.raw(ctx, r)
	case r.Method == "tools/call":
	case f.answer == nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: r.Method}
	default:
		return f.answer(ctx, r)
	}
	var c struct {
		Name      string
		Arguments json.RawMessage
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(r.Params, &c); err != nil {
		return nil, err
	}
	return f.call(ctx, toolCall{c.Name, c.Arguments, c.Meta, r.Progress})
}

// server returns a fake with these tools; each answers with what answer holds
// under its name, or else with its name and arguments.
func server(answers map[string]string, names ...string) *fake {
	f := &fake{state: upstream.Ready}
	for _, name := range names {
		def := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","x-order":[1.0,9007199254740993]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"future":1.0}}`, name)
		f.tools = append(f.tools, upstream.Tool{Name: name, Raw: json.RawMessage(def)})
	}
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if a, ok := answers[c.Name]; ok {
			return json.RawMessage(a), nil
		}
		return textResult(c.Name + string(c.Arguments)), nil
	}
	return f
}

func textResult(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
	return b
}

// records is JSON of n rows, about 25 tokens each.
func records(n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","user":{"login":"u%d"},"big":9007199254740993}`, i, i, i%7))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// dial serves opts to a client of its own, over pipes.
func dial(t *testing.T, opts Options) (*Server, client) {
	t.Helper()
	if opts.Store == nil {
		opts.Store = newStore(t)
	}
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, connect(t, s)
}

func newStore(t *testing.T) *cache.Store {
	t.Helper()
	store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func connect(t *testing.T, s *Server) client {
	t.Helper()
	return connectAs(t, s, "test")
}

// connectAs connects a program of that name.
func connectAs(t *testing.T, s *Server, name string) client {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- s.Serve(ctx, r1, w2) }()
	conn := newClient(r2, w1, clientOptions{})
	conn.name = name
	conn.initialize(t, nil)
	t.Cleanup(func() {
		conn.Close()
		<-served
		stop()
	})
	return conn
}

// call returns the raw result of a tool.
func call(t *testing.T, conn client, tool, args string) string {
	t.Helper()
	raw, err := conn.Call(t.Context(), "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)))
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return string(raw)
}

type decoded struct {
	Content []struct{ Type, Text string }
	IsError bool
	Meta    struct {
		Result shape.Facts       `json:"rlmproxy/result"`
		Error  map[string]string `json:"rlmproxy/error"`
	} `json:"_meta"`
}

func decode(t *testing.T, raw string) decoded {
	t.Helper()
	var d decoded
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return d
}

// text is what an agent reads of a call.
func text(t *testing.T, conn client, tool, args string) string {
	t.Helper()
	d := decode(t, call(t, conn, tool, args))
	if len(d.Content) == 0 {
		return ""
	}
	return d.Content[0].Text
}

// TestSmallResultsAreUntouched holds promise 1: below the limit the client gets
// the upstream's bytes.
func TestSmallResultsAreUntouched(t *testing.T) {
	answers := map[string]string{
		"numbers":    `{"structuredContent":{"z":1.0,"a":9007199254740993},"content":[{"type":"text","text":"{\"z\":1.0}"}]}`,
		"unknown":    `{"content":[{"type":"hologram","data":{"b":1,"a":2}}],"future":{"x":[1e400]},"_meta":{"k":1.50}}`,
		"image":      `{"content":[{"type":"image","data":"` + strings.Repeat("QUJD", 9000) + `","mimeType":"image/png"}]}`,
		"error":      `{"isError":true,"content":[{"text":"no","type":"text","annotations":{"priority":0.10}}]}`,
		"spaced":     `{ "content" : [ ] , "é" : "\u00e9" }`,
		"notContent": `{"toolResult":[1,2,3]}`,
		"needsInput": `{"resultType":"input_required","inputRequests":{"a":"` + strings.Repeat("word ", 4000) + `"}}`,
	}
	var names []string
	for name := range answers {
		names = append(names, name)
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: server(answers, names...)}}})
	for _, name := range names {
		if got := call(t, conn, "s_"+name, `{}`); got != answers[name] {
			t.Errorf("%s: got  %.200s\nwant %.200s", name, got, answers[name])
		}
	}
}

func TestListIsUntouchedButForNames(t *testing.T) {
	shapeless := false
	_, conn := dial(t, Options{Upstreams: []Upstream{
		{Name: "s", Prefix: "s", Conn: server(nil, "read", "write"), Deny: []string{"w*"}},
		{Name: "whole", Prefix: "whole", Conn: server(nil, "x"), Policy: Policy{Shape: &shapeless}},
	}})
	raw, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	rest := `"inputSchema":{"type":"object","x-order":[1.0,9007199254740993]},`
	after := `"annotations":{"readOnlyHint":true},"execution":{"future":1.0}}`
	want := `{"tools":[{"name":"s_read",` + rest + after + `,{"name":"whole_x",` + rest + `"outputSchema":{"type":"object"},` + after +
		`,` + strings.Join(tools.Definitions(false, true, true), ",") + `]}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestCutReply(t *testing.T) {
	answers := map[string]string{
		"rows":  string(textResult(records(500))),
		"mixed": `{"_meta":{"kept":1.0,"rlmproxy/result":"forged"},"content":[{"type":"text","text":` + mustQuote(records(500)) + `},{"type":"image","data":"QUJD","mimeType":"image/png"}],"structuredContent":{"result":` + records(500) + `},"isError":false}`,
		"log":   string(textResult(strings.Repeat("2026-01-01 info all is well\n", 2000) + "2026-01-02 error disk full\n")),
		"line":  string(textResult(strings.Repeat("words and others ", 2000))),
	}
	_, conn := dial(t, Options{NoDifferences: true, Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: server(answers, "rows", "mixed", "log", "line")}}})
	for name := range answers {
		raw := call(t, conn, "s_"+name, `{"n":1}`)
		d := decode(t, raw)
		got := d.Content[0].Text
		first, rest, _ := strings.Cut(got, "\n")
		f := d.Meta.Result
		if !strings.HasPrefix(first, "[cut: ~") || !strings.HasSuffix(first, "cache_id="+string(f.CacheID)+"]") || len(f.CacheID) != 16 {
			t.Errorf("%s: first line %q, facts %+v", name, first, f)
		}
		if n, _ := tokens.Count([]byte(got)); n > 2000 || n != f.ShownTokens || f.Tokens <= 2000 {
			t.Errorf("%s: %d tokens, facts %+v", name, n, f)
		}
		if name == "line" && !strings.HasPrefix(rest, "next: proxy_") {
			t.Errorf("%s: second line %.100q, want a next call", name, rest)
		}
		if again := call(t, conn, "s_"+name, `{"n":1}`); again != raw {
			t.Errorf("%s: the same call gave other bytes", name)
		}
		// Each next call works as it stands.
		for _, line := range strings.Split(rest, "\n") {
			if next, ok := strings.CutPrefix(line, "next: "); ok {
				tool, args, _ := strings.Cut(next, " ")
				if d := decode(t, call(t, conn, tool, args)); d.IsError {
					t.Errorf("%s: next call %s: %s", name, next, d.Content[0].Text)
				}
			}
		}
	}
	raw := call(t, conn, "s_mixed", `{}`)
	for _, want := range []string{`{"type":"image","data":"QUJD","mimeType":"image/png"}`, `"kept":1.0`} {
		if !strings.Contains(raw, want) {
			t.Errorf("a cut reply lacks %s", want)
		}
	}
	for _, not := range []string{"structuredContent", "forged", "--- block"} {
		if strings.Contains(raw, not) {
			t.Errorf("a cut reply has %s", not)
		}
	}
}

// TestAbridgedSaysSo: one long line is shown in part though no item of it is left
// out. Of an object only the paths are told, and no items are counted.
func TestAbridgedSaysSo(t *testing.T) {
	for body, want := range map[string]string{
		strings.Repeat("word ", 9000): " · 1 of 1 lines, abridged · ",
		`{"a":{"b":` + records(200) + `},"c":{"d":` + records(200) + `},"e":` + records(200) + `}`: " tokens shown · cache_id=",
		`{"ok":true,"rows":` + records(300) + `}`:                                                  " of 300 items · ",
		strings.Repeat("a line of words and more\n", 9000):                                         " of 9,000 lines · ",
	} {
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"x": string(textResult(body))}, "x")}}})
		if first, _, _ := strings.Cut(text(t, conn, "x", `{}`), "\n"); !strings.Contains(first, want) {
			t.Errorf("%.20q: %s, want %q", body, first, want)
		}
	}
}

func mustQuote(s string) string { return string(jsonscan.Quote(s)) }

func TestQueries(t *testing.T) {
	answers := map[string]string{"rows": string(textResult(records(500)))}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", TrustHints: true, Prefix: "s", Conn: server(answers, "rows", "small")}}})
	id := string(decode(t, call(t, conn, "s_rows", `{}`)).Meta.Result.CacheID)
	tests := []struct{ tool, args, want string }{
		{"proxy_filter", `"jq":"length"`, "500"},
		{"proxy_filter", `"jq":"[.[]|select(.user.login==\"u3\")]|length"`, "71"},
		{"proxy_filter", `"jq":".[0].big"`, "9007199254740993"},
		{"proxy_filter", `"fields":["user.login"],"limit":2`, "[2 of 500 items · next offset 2]\n" + `[{"user":{"login":"u0"}},{"user":{"login":"u1"}}]`},
		{"proxy_filter", `"offset":499`, "[1 of 500 items, from offset 499]\n" + `[{"id":499,"name":"row 499","user":{"login":"u2"},"big":9007199254740993}]`},
		{"proxy_filter", `"mode":"exclude","fields":["user","big"],"limit":1`, "[1 of 500 items · next offset 1]\n" + `[{"id":0,"name":"row 0"}]`},
		{"proxy_explore", ``, "login"},
		{"proxy_search", `"pattern":"row 499"`, "row 499"},
		{"proxy_search", `"pattern":"row 499","mode":"bm25"`, "499"},
		{"proxy_search", `"pattern":"rwo 499","mode":"fuzzy"`, "row 499"},
		{"proxy_search", `"pattern":"row 499","mode":"context","context_type":"lines"`, "row 499"},
		{"proxy_search", `"pattern":"u[3]","jq":".[0:10]"`, "u3"},
	}
	for _, tt := range tests {
		args := fmt.Sprintf(`{"cache_id":%q,%s}`, id, tt.args)
		got := text(t, conn, tt.tool, strings.Replace(args, ",}", "}", 1))
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s:\n%s\nwant %s", tt.tool, args, got, tt.want)
		}
		if strings.HasPrefix(tt.args, `"jq"`) && strings.TrimSpace(got) != tt.want && tt.tool == "proxy_filter" {
			t.Errorf("%s %s = %q, want only %s", tt.tool, args, got, tt.want)
		}
	}
	// Recursion: an answer that is too long has an id of its own.
	d := decode(t, call(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"{a:.,b:.}"}`, id)))
	if d.Meta.Result.CacheID == "" || string(d.Meta.Result.CacheID) == id || d.Meta.Result.Complete {
		t.Fatalf("recursion: %+v", d.Meta.Result)
	}
	if got := text(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":".b|map(keys)|unique|.[0]|length"}`, d.Meta.Result.CacheID)); strings.TrimSpace(got) != "4" {
		t.Errorf("the second id answers %q, want 4", got)
	}
	// A fresh call is always kept.
	fresh := decode(t, call(t, conn, "proxy_filter", `{"tool":"s_rows","arguments":{},"jq":"length"}`))
	if string(fresh.Meta.Result.CacheID) != id || fresh.Content[0].Text != "[cache_id="+id+"]\n500" {
		t.Errorf("fresh call: %+v", fresh)
	}
}

func TestErrors(t *testing.T) {
	writer := server(nil, "write")
	writer.tools[0].Raw = json.RawMessage(`{"name":"write","inputSchema":{"type":"object"}}`)
	down := &fake{state: upstream.Failed, err: io.ErrUnexpectedEOF}
	_, conn := dial(t, Options{Upstreams: []Upstream{
		{Name: "s", Prefix: "s", TrustHints: true, Conn: server(map[string]string{"rows": string(textResult(records(500)))}, "rows", "small")},
		{Name: "w", Prefix: "w", Conn: writer},
		{Name: "down", Prefix: "down", Conn: down},
	}})
	id := decode(t, call(t, conn, "s_rows", `{}`)).Meta.Result.CacheID
	tests := []struct{ tool, args, code, want string }{
		{"proxy_filter", `{"cache_id":"aaaaaaaaaaaaaaaa"}`, "unknown_cache_id", "you have no result"},
		{"proxy_filter", `{}`, "bad_arguments", "cache_id is missing"},
		{"proxy_filter", `{"cache_id":"ID","tool":"s_rows"}`, "bad_arguments", "not both"},
		{"proxy_filter", `{"cache_id":"ID","arguments":{}}`, "bad_arguments", "go with tool"},
		{"proxy_filter", `{"cache_id":"ID","feilds":["x"]}`, "bad_arguments", `did you mean "fields"?`},
		{"proxy_filter", `{"cache_id":"ID","fields":"x"}`, "bad_arguments", `"fields" must be an array of strings`},
		{"proxy_filter", `{"cache_id":"ID","limit":"3"}`, "bad_arguments", `","limit":3}`},
		{"proxy_filter", `{"cache_id":"ID","limit":-1}`, "bad_arguments", "1 or more"},
		{"proxy_filter", `{"cache_id":"ID","jq":".","fields":["id"]}`, "bad_arguments", "not both"},
		{"proxy_filter", `{"cache_id":"ID","jq":".items[]]"}`, "bad_jq", "^"},
		{"proxy_filter", `{"cache_id":"ID","fields":["nmae"]}`, "bad_arguments", "name"},
		{"proxy_filter", `{"cache_id":"ID","block":7}`, "bad_arguments", "block 7"},
		{"proxy_search", `{"cache_id":"ID"}`, "bad_arguments", "pattern is missing"},
		{"proxy_search", `{"cache_id":"ID","pattern":"("}`, "bad_pattern", "missing closing )"},
		{"proxy_search", `{"cache_id":"ID","pattern":"x","mode":"vector"}`, "bad_arguments", "mode"},
		{"proxy_explore", `{"cache_id":"ID","path":"nope"}`, "bad_arguments", "nope"},
		{"proxy_filter", `{"tool":"w_write","arguments":{}}`, "bad_arguments", "not known to be read-only"},
		{"proxy_filter", `{"tool":"proxy_search","arguments":{}}`, "bad_arguments", "call proxy_search directly"},
		{"proxy_filter", `{"cache_ids":["ID","ID"],"cache_id":"ID","jq":"."}`, "bad_arguments", "not both"},
		{"proxy_filter", `{"cache_ids":["ID"]}`, "bad_arguments", "jq"},
		{"proxy_filter", `{"cache_ids":["ID","aaaaaaaaaaaaaaaa"],"jq":"."}`, "unknown_cache_id", ""},
		{"proxy_filter", `{"cache_id":"ID","limit":0}`, "bad_arguments", "1 or more"},
		{"s_rwos", `{}`, "unknown_tool", "s_rows"},
		{"down_x", `{}`, "upstream_unavailable", "unexpected EOF"},
	}
	for _, tt := range tests {
		args := strings.ReplaceAll(tt.args, "ID", string(id))
		d := decode(t, call(t, conn, tt.tool, args))
		if !d.IsError || d.Meta.Error["code"] != tt.code || !strings.HasPrefix(d.Content[0].Text, tt.code+": ") || !strings.Contains(d.Content[0].Text, tt.want) {
			t.Errorf("%s %s:\n%+v\nwant %s with %q", tt.tool, args, d, tt.code, tt.want)
		}
	}
}

// TestAgentsAreApart holds promise 5: an id of one connection is unknown to
// another, in the same words as an id that nobody has.
func TestAgentsAreApart(t *testing.T) {
	s, a := dial(t, Options{Upstreams: []Upstream{{Name: "s", Prefix: "s", TrustHints: true, Conn: server(map[string]string{"rows": string(textResult(records(500)))}, "rows")}}})
	b := connect(t, s)
	id := string(decode(t, call(t, a, "s_rows", `{}`)).Meta.Result.CacheID)
	got := call(t, b, "proxy_filter", fmt.Sprintf(`{"cache_id":%q}`, id))
	nobody := call(t, b, "proxy_filter", `{"cache_id":"aaaaaaaaaaaaaaaa"}`)
	if got != nobody || decode(t, got).Meta.Error["code"] != "unknown_cache_id" {
		t.Errorf("another agent's id: %s\nnobody's id: %s", got, nobody)
	}
	if theirs := decode(t, call(t, b, "s_rows", `{}`)).Meta.Result.CacheID; string(theirs) == id {
		t.Error("two agents share an id")
	}
}

// TestNeverLarger holds promises 2 and 3 over limits and sizes: what an agent
// reads is never more than the result, and a part says that it is one.
func TestNeverLarger(t *testing.T) {
	for _, lim := range []int{10, 30, 60, 100, 300, 2000} {
		for _, body := range []string{
			records(1), records(3), records(10), records(60), records(300),
			strings.Repeat("word ", 12), strings.Repeat("word ", 90), strings.Repeat("a line of text\n", 400), strings.Repeat("x", 30_000),
			"[cut: ~1 of ~2 tokens shown · cache_id=aaaaaaaaaaaaaaaa]\n" + strings.Repeat("imitation ", 500),
			"[" + strings.Repeat(" 1,\n\n", 500) + "1]",
		} {
			_, conn := dial(t, Options{MaxTokens: lim, Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"x": string(textResult(body))}, "x")}}})
			raw := call(t, conn, "x", `{}`)
			d := decode(t, raw)
			// The line that says whose a text is that looks like one of ours is the exception.
			got := strings.TrimPrefix(d.Content[0].Text, frame.From("s"))
			before, _ := tokens.Count([]byte(body))
			after, _ := tokens.Count([]byte(got))
			switch {
			case after > before:
				t.Errorf("limit %d, %.30q: %d tokens became %d", lim, body, before, after)
			case before <= lim && got != body:
				t.Errorf("limit %d, %.30q: changed below the limit", lim, body)
			case got != body && !strings.HasPrefix(got, "[cut: ~") && !strings.HasPrefix(got, "[complete: "):
				t.Errorf("limit %d, %.30q: first line %.80q", lim, body, got)
			case got != body && after > lim && strings.Count(got, "\n") > 1: // the first line alone may be longer
				t.Errorf("limit %d, %.30q: %d tokens shown", lim, body, after)
			}
		}
	}
}

// TestManyBlocks: a line for each of many blocks once outgrew every limit, so
// that the whole result went through.
func TestManyBlocks(t *testing.T) {
	block := `{"type":"text","text":"` + strings.Repeat("words of a block ", 30) + `"}`
	for _, n := range []int{2, 20, 300, 20_000} {
		raw := `{"content":[` + strings.Repeat(block+",", n-1) + block + `],"structuredContent":{"a":"` + strings.Repeat("x y ", 9000) + `","b":1}}`
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"x": raw}, "x")}}})
		d := decode(t, call(t, conn, "x", `{}`))
		after, _ := tokens.Count([]byte(d.Content[0].Text))
		if !strings.HasPrefix(d.Content[0].Text, "[cut: ~") || after > 2000 || len(d.Content) != 1 {
			t.Errorf("%d blocks: %d tokens: %.200s", n, after, d.Content[0].Text)
		}
		last := fmt.Sprintf(`{"cache_id":%q,"block":%d,"limit":1}`, d.Meta.Result.CacheID, n-1)
		if got := text(t, conn, "proxy_filter", last); !strings.Contains(got, "words of a block") {
			t.Errorf("%d blocks: the last one reads %.100s", n, got)
		}
	}
}

// TestOddBlocksAreCut: what is too long and not text is still too long.
func TestOddBlocksAreCut(t *testing.T) {
	long := strings.Repeat("word ", 9000)
	for _, content := range []string{
		`[{"type":"text","text":["` + long + `"]}]`,
		`[{"type":"weird","text":"` + long + `"}]`,
		`["` + long + `"]`,
		`[{"type":"resource_link","uri":"a:b","name":"x","description":"` + long + `"}]`,
		`[{"type":"text","text":"` + long + `"}],"resultType":"x"`,
	} {
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"x": `{"content":` + content + `}`}, "x")}}})
		if d := decode(t, call(t, conn, "x", `{}`)); !strings.HasPrefix(d.Content[0].Text, "[cut: ~") || len(d.Content) != 1 {
			t.Errorf("%.60s: %d blocks, %.100s", content, len(d.Content), d.Content[0].Text)
		}
	}
}

// sdkSession connects an SDK client of one revision.
func sdkSession(t *testing.T, s *Server, opts *mcp.ClientOptions, version string) *mcp.ClientSession {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
		Connect(t.Context(), &mcp.IOTransport{Reader: r2, Writer: w1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		<-served
	})
	return session
}

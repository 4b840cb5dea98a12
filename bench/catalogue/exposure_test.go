package catalogue

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/tokens"
)

var update = flag.Bool("update", false, "write testdata/exposure.golden")

// An offer is a server that lists tools and answers each call in a few words.
type offer struct{ tools []upstream.Tool }

func (o offer) Tools() []upstream.Tool                                { return o.tools }
func (o offer) Prompts() []upstream.Tool                              { return nil }
func (o offer) Info() *upstream.Info                                  { return &upstream.Info{} }
func (o offer) State() (upstream.State, error)                        { return upstream.Ready, nil }
func (o offer) Settled(context.Context)                               {}
func (o offer) Notify(context.Context, string, json.RawMessage) error { return nil }
func (o offer) Call(context.Context, upstream.Request) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), nil
}

// proxy serves the catalogue, copies times over, to a client.
func proxy(tb testing.TB, copies int, exposure middleware.Exposure) *rpc.Conn {
	tb.Helper()
	servers, err := Servers()
	if err != nil {
		tb.Fatal(err)
	}
	var ups []middleware.Upstream
	for n := range copies {
		for _, s := range servers {
			o := offer{}
			for _, raw := range s.Tools {
				o.tools = append(o.tools, upstream.Tool{Name: jsonscan.StringMember(raw, "name"), Raw: raw})
			}
			name := s.Name
			if n > 0 {
				name = fmt.Sprint(s.Name, n)
			}
			ups = append(ups, middleware.Upstream{Name: name, Prefix: name, Conn: o})
		}
	}
	store, err := cache.New(cache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := middleware.New(middleware.Options{Store: store, Upstreams: ups, Exposure: exposure})
	if err != nil {
		tb.Fatal(err)
	}
	clientR, serverW := io.Pipe()
	serverR, clientW := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(context.Background(), serverR, serverW)
	}()
	conn := rpc.NewConn(clientR, clientW, rpc.ConnOptions{})
	tb.Cleanup(func() {
		conn.Close()
		<-ended
		s.Close()
		store.Close()
	})
	ask(tb, conn, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if err := conn.Notify(tb.Context(), "notifications/initialized", nil); err != nil {
		tb.Fatal(err)
	}
	return conn
}

func ask(tb testing.TB, conn *rpc.Conn, method, params string) json.RawMessage {
	tb.Helper()
	raw, err := conn.Call(tb.Context(), method, json.RawMessage(params), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// listedTokens are those of all pages of tools/list.
func listedTokens(tb testing.TB, conn *rpc.Conn) (sum int) {
	for params := `{}`; ; {
		raw := ask(tb, conn, "tools/list", params)
		n, _ := tokens.Count(jsonscan.Member(raw, "tools"))
		sum += n
		next := jsonscan.Member(raw, "nextCursor")
		if next == nil {
			return sum
		}
		params = `{"cursor":` + string(next) + `}`
	}
}

// TestExposure: what a list costs by each exposure, and what one task does.
func TestExposure(t *testing.T) {
	const golden = "testdata/exposure.golden"
	var b strings.Builder
	for _, e := range []middleware.Exposure{middleware.ExposeAll, middleware.ExposeGroups, middleware.ExposeSearch, middleware.ExposeAuto} {
		fmt.Fprintf(&b, "tools/list, exposure %s: %d tokens\n", e, listedTokens(t, proxy(t, 1, e)))
	}
	conn := proxy(t, 1, middleware.ExposeSearch)
	sum := 0
	for _, c := range []string{
		`{"name":"proxy_find_tools","arguments":{"query":"create pull request"}}`,
		`{"name":"proxy_describe_tools","arguments":{"names":["github_create_pull_request"]}}`,
		`{"name":"proxy_call_tool","arguments":{"name":"github_create_pull_request","arguments":{"owner":"o","repo":"r","title":"t","head":"h","base":"main"}}}`,
	} {
		reply := gjson.GetBytes(ask(t, conn, "tools/call", c), "content.0.text").String()
		sent, _ := tokens.Count([]byte(c))
		read, _ := tokens.Count([]byte(reply))
		sum += sent + read
		fmt.Fprintf(&b, "\n> %s\n%s\n(%d tokens sent, %d read)\n", c, reply, sent, read)
	}
	fmt.Fprintf(&b, "\none task: %d tokens\n", sum)
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkFind is a call of proxy_find_tools over some ten thousand tools.
func BenchmarkFind(b *testing.B) {
	conn := proxy(b, 20, middleware.ExposeSearch)
	ask(b, conn, "tools/call", `{"name":"proxy_find_tools","arguments":{"query":"x"}}`) // makes the index
	queries, err := Queries()
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		args, err := json.Marshal(map[string]string{"query": queries[n%len(queries)].Agent})
		if err != nil {
			b.Fatal(err)
		}
		ask(b, conn, "tools/call", `{"name":"proxy_find_tools","arguments":`+string(args)+`}`)
	}
}

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// echo is a server whose tool t answers with its argument mark, and reports
// progress to who wants it.
func echo() *fake {
	return withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		mark := gjson.GetBytes(r.Params, "arguments.mark").String()
		if r.Progress != nil {
			r.Progress(json.RawMessage(`{"progressToken":1,"progress":1,"message":"` + mark + `"}`))
		}
		if gjson.GetBytes(r.Params, "arguments.long").Bool() {
			return long(mark), nil
		}
		return text(mark), nil
	})
}

// connect connects a client of the SDK, of its own agent.
func (s *site) connect(version, agent string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	transport := &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: as(agent)}}
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
		Connect(context.Background(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// as adds the header that names an agent.
type as string

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Rlmproxy-Agent", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// TestRevisions: the SDK's client of every revision lists, calls, hears of
// progress and reads what was cut.
func TestRevisions(t *testing.T) {
	s := serve(t, echo(), Options{}, auth.Options{})
	for _, version := range mcp.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			heard := make(chan string, 4)
			c, err := s.connect(version, version, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					heard <- r.Params.Message
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got := c.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("revision %s", got)
			}
			list, err := c.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 4 {
				t.Fatalf("%v, %v", list, err)
			}
			params := &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"mark": "m-" + version}}
			params.SetProgressToken("p")
			result, err := c.CallTool(t.Context(), params)
			if err != nil || result.Content[0].(*mcp.TextContent).Text != "m-"+version {
				t.Fatalf("%v, %v", result, err)
			}
			select {
			case got := <-heard:
				if got != "m-"+version {
					t.Errorf("progress %q", got)
				}
			case <-time.After(5 * time.Second):
				t.Error("no progress")
			}
			if err := readBack(t.Context(), c, "m-"+version); err != nil {
				t.Error(err)
			}
		})
	}
}

// readBack has a result cut and searches in it.
func readBack(ctx context.Context, c *mcp.ClientSession, mark string) error {
	result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"mark": mark, "long": true}})
	if err != nil {
		return err
	}
	cut := result.Content[0].(*mcp.TextContent).Text
	_, id, ok := strings.Cut(cut, "cache_id=")
	if !ok {
		return fmt.Errorf("not cut: %.100s", cut)
	}
	result, err = c.CallTool(ctx, &mcp.CallToolParams{Name: "proxy_search", Arguments: map[string]any{"cache_id": id[:16], "pattern": mark + "$"}})
	if err != nil {
		return err
	}
	if found := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(found, "line of "+mark) {
		return fmt.Errorf("%s: found %.200s", mark, found)
	}
	return nil
}

// TestNothingLeft: sessions that end, by either side, and the end of it all leave
// no goroutine.
func TestNothingLeft(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := settled()
	s := serve(t, echo(), Options{MaxSessions: 300}, auth.Options{})
	var ids []string
	for i := range 200 {
		id := s.session()
		ids = append(ids, id)
		body(t, s.do("POST", callT(1, fmt.Sprintf(`{"long":%t,"mark":"x"}`, i%10 == 0)), "Mcp-Session-Id", id))
	}
	for range 20 {
		body(t, s.do("POST", alone(callT(1, "{}"), ""), aloneHeader...))
	}
	open := s.do("GET", "", "Mcp-Session-Id", ids[0])
	listen := s.do("POST", alone(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, ""),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if got := events(t, listen.Body, 1); !strings.Contains(got[0], "acknowledged") {
		t.Errorf("listen: %q", got)
	}
	for _, id := range ids[100:] {
		body(t, s.do("DELETE", "", "Mcp-Session-Id", id))
	}
	if n := len(s.h.places.all()); n != 100 {
		t.Errorf("%d sessions, want 100", n)
	}
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v, and nothing ran", took)
	}
	events(t, open.Body, -1)
	events(t, listen.Body, -1)
	http.DefaultClient.CloseIdleConnections()
	if after := settled(); after > before+3 {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", after, before, buf[:runtime.Stack(buf, true)])
	}
}

// settled is how many goroutines there are once they have had time to end.
func settled() int {
	n := runtime.NumGoroutine()
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		if now := runtime.NumGoroutine(); now < n {
			n = now
		}
	}
	return n
}

// BenchmarkCall is one call of a session, by the size of its result.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			big := text(strings.Repeat("x", size))
			f := withT(func(context.Context, upstream.Request) (json.RawMessage, error) { return big, nil })
			off := false
			s := serveShaped(b, f, &off, Options{}, auth.Options{})
			id := s.session()
			b.SetBytes(int64(len(big)))
			b.ReportAllocs()
			for b.Loop() {
				resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", id)
				if n := len(body(b, resp)); n < size {
					b.Fatal(n)
				}
				resp.Body.Close()
			}
		})
	}
}

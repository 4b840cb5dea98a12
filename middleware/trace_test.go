package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/upstream"
)

// numbered is a tracer whose spans have the numbers of calls.
type numbered struct {
	mu    sync.Mutex
	ended []string
}

type numberedSpan struct {
	all    *numbered
	number int64
	parent observe.TraceContext
}

func (n *numbered) Begin(c *observe.Call, parent observe.TraceContext) observe.Span {
	return numberedSpan{n, c.Number, parent}
}

func (s numberedSpan) Context() observe.TraceContext {
	return observe.TraceContext{Parent: fmt.Sprintf("00-%032d-%016d-01", 7, s.number), State: s.parent.State}
}

func (s numberedSpan) End(c *observe.Call) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.ended = append(s.all.ended, fmt.Sprint(s.number, " ", strings.TrimLeft(s.parent.Parent, "0-"), " ", c.Name, " ", c.Outcome, " ", c.Trace))
}

// TestTraceContext: where a request belongs in a trace reaches the server as it is where
// nobody traces, and else as the child of the call's span; _meta keeps all else.
func TestTraceContext(t *testing.T) {
	const meta = `"_meta":{"a":1.0,"traceparent":"00-client","tracestate":"x=y","baggage":"b=1"}`
	const seven = "00000000000000000000000000000007"
	for _, tt := range []struct{ name, method, params, plain, traced, spans string }{
		{"call", "tools/call", `{"name":"get",` + meta + `}`,
			`{"name":"get",` + meta + `}`,
			`{"name":"get","_meta":{"a":1.0,"baggage":"b=1","traceparent":"00-` + seven + `-0000000000000001-01","tracestate":"x=y"}}`,
			"1 client get ok " + seven},
		{"no _meta", "tools/call", `{"name":"get"}`, `{"name":"get"}`,
			`{"name":"get","_meta":{"traceparent":"00-` + seven + `-0000000000000001-01"}}`, "1  get ok " + seven},
		{"fresh", "tools/call", `{"name":"proxy_filter","arguments":{"tool":"get","jq":"."},` + meta + `}`,
			`{"name":"get","_meta":{"traceparent":"00-client","tracestate":"x=y","baggage":"b=1"}}`,
			`{"name":"get","_meta":{"baggage":"b=1","traceparent":"00-` + seven + `-0000000000000002-01","tracestate":"x=y"}}`,
			"2 " + seven + "-0000000000000001-01 get ok " + seven + "\n1 client proxy_filter ok " + seven},
		{"unknown method", "future/x", `{"b":2.0}`, `{"b":2.0}`,
			`{"b":2.0,"_meta":{"traceparent":"00-` + seven + `-0000000000000001-01"}}`, "1   ok " + seven},
	} {
		for _, tracer := range []*numbered{nil, {}} {
			var got string
			f := offering(nil)
			f.tools = server(nil, "get").tools
			f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
				got = string(r.Params)
				return textResult("done"), nil
			}
			f.answer = f.raw
			opts, want := Options{FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Conn: f}}}, tt.plain
			if tracer != nil {
				opts.Tracer, want = tracer, tt.traced
			}
			_, conn := dial(t, opts)
			ask(t, conn, tt.method, tt.params)
			if got != want {
				t.Errorf("%s, traced %v:\ngot  %s\nwant %s", tt.name, tracer != nil, got, want)
			}
			if tracer == nil {
				continue
			}
			tracer.mu.Lock()
			spans := strings.Join(tracer.ended, "\n")
			tracer.mu.Unlock()
			want = strings.ReplaceAll(tt.spans, "2 "+seven, "2 7") // without the zeros in front
			if diff := cmp.Diff(want, spans); diff != "" {
				t.Errorf("%s: -want +got\n%s", tt.name, diff)
			}
		}
	}
}

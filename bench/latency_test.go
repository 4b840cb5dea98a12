package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
)

var sizes = []struct {
	name  string
	bytes int
}{{"1KB", 1 << 10}, {"1MB", 1 << 20}}

// A path is one way for an agent to ask about the same result.
type path struct {
	name string
	role string
	// tool and args of the call. Of the verbs in args the first is cache_id if
	// cached is set, or else the size of the result and the number of the call:
	// the proxy cuts a result anew when the arguments are new.
	tool, args string
	cached     bool
}

var paths = []path{
	{"direct", roleUpstream, "records", `{"bytes":%d,"call":%d}`, false},
	{"proxy", rolePass, "records", `{"bytes":%d,"call":%d}`, false},
	{"proxy-cut", roleShape, "records", `{"bytes":%d,"call":%d}`, false},
	{"proxy-filter", roleShape, "proxy_filter", `{"cache_id":%q,"fields":["origin","delay"],"limit":20}`, true},
	{"proxy-search", roleShape, "proxy_search", `{"cache_id":%q,"pattern":"LAS","max_results":10}`, true},
}

// A caller makes the same call again and again.
type caller struct {
	conn  *rpc.Conn
	path  path
	bytes int
	id    string // of the cached result
	calls int
}

// A hostCaller makes the call of path direct or proxy with the SDK's client.
type hostCaller struct {
	session *mcp.ClientSession
	bytes   int
	calls   int
}

func (c *hostCaller) call() (*mcp.CallToolResult, error) {
	c.calls++
	r, err := c.session.CallTool(context.Background(), &mcp.CallToolParams{
		Name: paths[0].tool, Arguments: json.RawMessage(fmt.Sprintf(paths[0].args, c.bytes, c.calls)),
	})
	if err == nil && r.IsError {
		err = errors.New("the tool failed")
	}
	return r, err
}

// newCaller starts the processes of p.
func newCaller(tb testing.TB, p path, size int) *caller {
	tb.Helper()
	c := &caller{conn: spawn(tb, p.role), path: p, bytes: size}
	if !p.cached {
		return c
	}
	raw, err := call(c.conn, "proxy_filter", fmt.Sprintf(`{"tool":"records","arguments":{"bytes":%d},"limit":1}`, size))
	if err != nil {
		tb.Fatal(err)
	}
	a, err := read(raw)
	if err != nil || a.id == "" {
		tb.Fatalf("no cache_id in %s: %v", raw, err)
	}
	c.id = a.id
	return c
}

func (c *caller) call() (json.RawMessage, error) {
	if c.path.cached {
		return call(c.conn, c.path.tool, fmt.Sprintf(c.path.args, c.id))
	}
	c.calls++
	return call(c.conn, c.path.tool, fmt.Sprintf(c.path.args, c.bytes, c.calls))
}

func call(conn *rpc.Conn, tool, args string) (json.RawMessage, error) {
	return conn.Call(context.Background(), "tools/call", fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, args), nil)
}

// An answer is what an agent reads of a result, and what the proxy says of it.
type answer struct {
	text string
	id   string
}

// read decodes a result of text blocks. One that reports an error is an error.
func read(raw json.RawMessage) (answer, error) {
	var r struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Result struct {
				CacheID string `json:"cache_id"`
			} `json:"rlmproxy/result"`
		} `json:"_meta"`
	}
	err := json.Unmarshal(raw, &r)
	a := answer{id: r.Meta.Result.CacheID}
	for _, block := range r.Content {
		a.text += block.Text
	}
	if err == nil && r.IsError {
		err = fmt.Errorf("the tool failed: %s", a.text)
	}
	return a, err
}

// TestPaths holds down that the paths of BenchmarkCall do what they are named
// after.
func TestPaths(t *testing.T) {
	for _, size := range sizes {
		text, err := records(size.bytes)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := textResult(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			t.Run("path="+p.name+"/size="+size.name, func(t *testing.T) {
				raw, err := newCaller(t, p, size.bytes).call()
				if err != nil {
					t.Fatal(err)
				}
				a, err := read(raw)
				if err != nil {
					t.Fatal(err)
				}
				same := bytes.Equal(raw, whole)
				wantSame := p.name == "direct" || p.name == "proxy" || p.name == "proxy-cut" && size.name == "1KB"
				if same != wantSame {
					t.Errorf("%d bytes came back of %d; the same: %t, want %t", len(raw), len(whole), same, wantSame)
				}
				if !wantSame && (len(raw) > 10_000 || a.text == "") {
					t.Errorf("%d bytes came back, no part: %.200s", len(raw), a.text)
				}
			})
		}
	}
}

// TestHostCaller: what the SDK's client decodes is what the server sends.
func TestHostCaller(t *testing.T) {
	for _, size := range sizes {
		text, err := records(size.bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{roleUpstream, rolePass} {
			c := &hostCaller{session: host(t, role), bytes: size.bytes}
			r, err := c.call()
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != text {
				t.Errorf("%s, %s: %d blocks, not the text that was sent", role, size.name, len(r.Content))
			}
		}
	}
}

// BenchmarkCall is one tools/call over pipes. x-direct is the ratio of its
// median to that of the same result fetched from the server itself by the same
// client; for path=direct, a second server, it is the noise of the measurement.
// client=bare reads a line, checks it and decodes nothing; client=sdk is that of
// the Go SDK. Bytes are those of the server's result; allocations those of the
// client.
func BenchmarkCall(b *testing.B) {
	for _, p := range paths[:2] {
		for _, size := range sizes {
			b.Run("path="+p.name+"/client=sdk/size="+size.name, func(b *testing.B) {
				base := &hostCaller{session: host(b, paths[0].role), bytes: size.bytes}
				run := &hostCaller{session: host(b, p.role), bytes: size.bytes}
				b.SetBytes(int64(size.bytes))
				turns(b, "x-direct",
					func() error { _, err := run.call(); return err },
					func() error { _, err := base.call(); return err })
			})
		}
	}
	for _, p := range paths {
		for _, size := range sizes {
			b.Run("path="+p.name+"/client=bare/size="+size.name, func(b *testing.B) {
				base := newCaller(b, paths[0], size.bytes)
				run := newCaller(b, p, size.bytes)
				b.SetBytes(int64(size.bytes))
				turns(b, "x-direct",
					func() error { _, err := run.call(); return err },
					func() error { _, err := base.call(); return err })
			})
		}
	}
}

package upstream

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/rpc"
)

// TestSSEBadEvents: what is no message, or too long, costs the call that it was to
// answer and no other, and never the session.
func TestSSEBadEvents(t *testing.T) {
	s := newRawSSE(t)
	u := New(Options{Name: "sse", Dial: Remote(s.URL, "sse", nil), MaxLineBytes: 64 << 10})
	defer u.Close()
	u.Settled(t.Context())
	receive(t, "initialized", s.told)
	type result struct {
		raw string
		err error
	}
	for _, tt := range []struct{ event, want, wantErr string }{
		{"hello", "5", ""},
		{`{"jsonrpc":"2.0","id":"rlm-99","result":}`, "5", ""},
		{"null\n\nevent: ping\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}", "5", ""},
		{`{"jsonrpc":"2.0","method":"x","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "5", ""},
		{`{"jsonrpc":"2.0","method":"x","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`, "5", ""},
		{`{"method":"x","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`, "5", ""},
		{`{"jsonrpc":"2.0",` + "\ndata: " + `"method":"x","params":{"x":"` + strings.Repeat("x", 165<<10) + `"}}`, "5", ""},
		{`{"jsonrpc":"2.0","id":"rlm-99","result":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`, "5", ""},
		{`{"jsonrpc":"2.0","id":ID,"result":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`, "", "nested deeper"},
		{`{"jsonrpc":"2.0","id":ID,"result":{"x":tru}}`, "", "sent a malformed answer: not JSON"},
		{"\ufeff" + `{"jsonrpc":"2.0","id":ID,"result":{"m":1}}`, `{"m":1}`, ""},
		{`{"jsonrpc":"2.0","id":ID,"result":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`, "", "more than 65536 bytes"},
		{`[{"jsonrpc":"2.0"},{"jsonrpc":"2.0","id":ID,"result":{"n":1.0}}]`, `{"n":1.0}`, ""},
	} {
		done := make(chan result, 1)
		go func() {
			raw, err := u.Call(t.Context(), toolCall("hang", "{}"))
			done <- result{string(raw), err}
		}()
		id := string(receive(t, "the call", s.told).ID)
		s.out <- strings.ReplaceAll(tt.event, "ID", id)
		if tt.want == "5" {
			s.out <- `{"jsonrpc":"2.0","id":` + id + `,"result":{"v":5}}`
			tt.want = `{"v":5}`
		}
		got := receive(t, "its end", done)
		if got.raw != tt.want || (got.err == nil) != (tt.wantErr == "") || got.err != nil && !strings.Contains(got.err.Error(), tt.wantErr) {
			t.Errorf("after %.60s: %s, %v", tt.event, got.raw, got.err)
		}
	}
	// An error is the server's own, to the byte.
	done := make(chan result, 1)
	go func() {
		_, err := u.Call(t.Context(), toolCall("hang", "{}"))
		done <- result{"", err}
	}()
	id := string(receive(t, "the call", s.told).ID)
	const own = `{"code":-32001,"x":1.0,"message":"no","data":{"n":9007199254740993,"s":"<"}}`
	s.out <- `{"jsonrpc":"2.0","id":` + id + `,"error":` + own + `}`
	checkFailure(t, receive(t, "its end", done).err, own)
	if got, err := call(t, u, "x", "7"); err != nil || got != `{"z":7}` {
		t.Errorf("after it: %s, %v", got, err)
	}
	if len(s.told) > 0 {
		t.Errorf("told %s: another session", (<-s.told).Method)
	}
}

// checkFailure wants the error object to be passed on as it is.
func checkFailure(t *testing.T, err error, want string) {
	t.Helper()
	var f *rpc.Failure
	var rpc *jsonrpc.Error
	if !errors.As(err, &f) || string(f.Raw) != want || !errors.As(err, &rpc) || rpc.Code != -32001 {
		t.Errorf("%v, want %s", err, want)
	}
}

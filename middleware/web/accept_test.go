package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// TestAccept: a client that names streams first gets one, whatever its revision,
// unless HTTP has a status to say; all others get one message for one message.
func TestAccept(t *testing.T) {
	s := serve(t, withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "no/such" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "?"}
		}
		return text("ok"), nil
	}), Options{}, auth.Options{})
	id := s.session()
	old, current := []string{"Mcp-Session-Id", id}, []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25"}
	call := callT(1, "{}")
	unknown := alone(strings.Replace(call, "tools/call", "no/such", 1), "")
	unknownHeader := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "no/such", "Mcp-Name", "t"}
	const streams, jsons = "text/event-stream", "application/json"
	for _, tt := range []struct {
		accept, body string
		header       []string
		kind, begins string
	}{
		{jsons + ", " + streams, call, current, jsons, `{"jsonrpc"`},
		{"*/*", call, current, jsons, `{"jsonrpc"`},
		{"*/*, " + streams + ";q=0.1", call, current, streams, ": \n\nid: "},
		{streams + ";q=0.5, " + jsons, call, current, jsons, `{"jsonrpc"`},
		{jsons + ";q=0.5, " + streams, call, current, streams, ": \n\nid: "},
		{streams + ";q=high, " + jsons, call, current, streams, ": \n\nid: "},
		{streams + ", " + jsons, call, old, streams, ": \n\nid: "},
		{streams + ", " + jsons, alone(call, ""), aloneHeader, streams, ": \n\ndata: {"},
		{streams + ", " + jsons, unknown, unknownHeader, jsons, `{"jsonrpc"`},
		{jsons + ", " + streams, alone(call, ""), aloneHeader, jsons, `{"jsonrpc"`},
	} {
		resp := s.do("POST", tt.body, append([]string{"Accept", tt.accept}, tt.header...)...)
		got := body(t, resp)
		if kind := resp.Header.Get("Content-Type"); kind != tt.kind || !strings.HasPrefix(got, tt.begins) || (resp.StatusCode == 404) != (tt.body == unknown) {
			t.Errorf("%s: %s %s %q", tt.accept, resp.Status, kind, got)
		}
	}
	// Its first event is that by which it is resumed.
	got := body(t, s.do("POST", call, append([]string{"Accept", streams + ", " + jsons}, current...)...))
	if parts := strings.SplitAfter(got, "\n\n"); len(parts) != 4 || !strings.HasSuffix(parts[1], "_0\nretry: 1000\ndata: \n\n") || !strings.Contains(parts[2], `"ok"`) {
		t.Errorf("%q", got)
	}
}

// TestRetry: whoever may have to resume is told when, while there is time. It
// used to be left to the client.
func TestRetry(t *testing.T) {
	for resume, want := range map[time.Duration]string{0: "retry: 1000\n", time.Minute: "retry: 1000\n", time.Second: "retry: 250\n"} {
		done := make(chan bool)
		s := serve(t, withT(func(context.Context, upstream.Request) (json.RawMessage, error) {
			<-done
			return text("ok"), nil
		}), Options{ResumeTime: resume}, auth.Options{})
		for _, version := range []string{"2025-11-25", "2025-06-18"} {
			id := s.session()
			time.AfterFunc(3*primeTime, func() { done <- true })
			resp := s.do("POST", callT(1, "{}"), "Mcp-Session-Id", id, "Mcp-Protocol-Version", version)
			if got := body(t, resp); resp.StatusCode != http.StatusOK || strings.Contains(got, want) != (version == "2025-11-25") {
				t.Errorf("%v, %s: %q", resume, version, got)
			}
		}
	}
}

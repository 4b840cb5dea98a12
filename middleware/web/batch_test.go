package web

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// TestTwiceInBatch: a batch in which an id stands twice is answered. Only one of
// the two was, and the response waited for the other.
func TestTwiceInBatch(t *testing.T) {
	s := serve(t, withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		return text("ok"), nil
	}), Options{}, auth.Options{})
	id := s.session()
	answered := make(chan int, 1)
	go func() {
		resp := s.do("POST", "["+callT(1, "{}")+","+callT(1, "{}")+"]", "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-03-26")
		body(t, resp)
		answered <- resp.StatusCode
	}()
	select {
	case status := <-answered:
		if status != 200 {
			t.Error(status)
		}
	case <-time.After(5 * time.Second):
		t.Error("no answer")
	}
}

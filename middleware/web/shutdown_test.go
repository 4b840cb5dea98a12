package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// TestManyEndTogether: sessions that are slow to end, here since a server does not
// answer that they unsubscribe, end together. Each used to wait for the one before:
// two seconds each, for up to a thousand.
func TestManyEndTogether(t *testing.T) {
	s := serve(t, withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "resources/unsubscribe" {
			<-ctx.Done()
		}
		return json.RawMessage("{}"), ctx.Err()
	}), Options{}, auth.Options{})
	for i := range 5 {
		resp := s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:%d"}}`, i), "Mcp-Session-Id", s.session())
		if got := body(t, resp); !strings.Contains(got, `"result"`) {
			t.Fatal(got)
		}
	}
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("it took %v", took)
	}
}

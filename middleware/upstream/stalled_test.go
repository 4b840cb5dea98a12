package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// TestStalledAnswers: a server that takes no answers holds up neither the call that
// it asks about nor its stream.
func TestStalledAnswers(t *testing.T) {
	s := newRawServer(t)
	leave := make(chan bool)
	defer close(leave)
	asked := 0
	s.first = func(w http.ResponseWriter, r *http.Request, m rawMessage) bool {
		if r.Method == http.MethodPost && m.Method == "" {
			<-leave
		}
		return r.Method == http.MethodPost && m.Method == ""
	}
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		send := stream(w)
		for i := range asked {
			send("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}\n\n", i, []string{"ping", "roots/list"}[min(i, 1)])
		}
		send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
	}
	u := s.connect(Options{Request: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	for _, asked = range []int{1, maxServerRequests + 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := u.Call(ctx, toolCall("x", "{}")); err != nil {
			t.Errorf("with %d requests: %v", asked, err)
		}
		cancel()
	}
}

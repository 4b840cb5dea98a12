package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSubscribeWithoutSession: a server without sessions answers resources/subscribe
// of an older revision and can never tell of a change. Where it knows the newest
// revision, it is asked to in that one.
func TestSubscribeWithoutSession(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "r", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, nil)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	defer web.CloseClientConnections()
	told := make(chan string, 10)
	u := New(Options{Name: "r", Dial: Remote(web.URL, "http", nil), Notify: func(_ context.Context, method string, params json.RawMessage) {
		if method == "notifications/resources/updated" {
			told <- string(params)
		}
	}})
	defer u.Close()
	u.Settled(t.Context())
	uri := json.RawMessage(`{"uri":"file:///a"}`)
	if _, err := u.Call(t.Context(), Request{Method: "resources/subscribe", Params: uri}); err != nil {
		t.Fatal(err)
	}
	if err := server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "file:///a"}); err != nil {
		t.Fatal(err)
	}
	receive(t, "the update", told)
	if _, err := u.Call(t.Context(), Request{Method: "resources/unsubscribe", Params: uri}); err != nil {
		t.Fatal(err)
	}
	u.mu.Lock()
	subs := &u.active.beside.subscriptions
	u.mu.Unlock()
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if len(subs.open) > 0 {
		t.Errorf("%d streams are left", len(subs.open))
	}
}

package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/upstream"
)

// TestSubscriptionsAreBounded: in number, however they are spelled, and in length;
// what has ended or failed leaves room.
func TestSubscriptionsAreBounded(t *testing.T) {
	f := offering(nil)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if strings.HasSuffix(gjson.GetBytes(r.Params, "uri").String(), "none") {
			return nil, &jsonrpc.Error{Code: -32002, Message: "Resource not found"}
		}
		return json.RawMessage(`{}`), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: f}, {Name: "two", Prefix: "two", Conn: offering(nil)}}})
	send := func(method, uri string) string { return ask(t, conn, method, fmt.Sprintf(`{"uri":%q}`, uri)) }
	if got := send("resources/subscribe", "x:"+strings.Repeat("a", maxURIBytes)); !strings.Contains(got, "more than") {
		t.Errorf("a long one: %s", got)
	}
	uri := func(i int) string {
		scheme := []string{"s-one", "S-one", "s-ONE", "S-ONE"}[i%4]
		return fmt.Sprintf("%s+x:%d", scheme, i/4)
	}
	for i := range maxWatching {
		if i%10 == 0 {
			send("resources/subscribe", fmt.Sprint("s-one+", i, "none"))
		}
		if got := send("resources/subscribe", uri(i)); got != "{}" {
			t.Fatalf("%d: %s", i, got)
		}
	}
	for _, tt := range []struct{ method, uri, want string }{
		{"resources/subscribe", uri(maxWatching), "more than 1000 subscriptions"},
		{"resources/subscribe", uri(3), "{}"},
		{"resources/unsubscribe", uri(3), "{}"},
		{"resources/subscribe", uri(maxWatching), "{}"},
		{"resources/subscribe", uri(3), "more than 1000 subscriptions"},
	} {
		if got := send(tt.method, tt.uri); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s", tt.method, tt.uri, got)
		}
	}
}

package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	if got := send("resources/subscribe", "x:"+strings.Repeat("a", 16<<10)); !strings.Contains(got, "more than") {
		t.Errorf("a long one: %s", got)
	}
	uri := func(i int) string {
		scheme := []string{"s-one", "S-one", "s-ONE", "S-ONE"}[i%4]
		return fmt.Sprintf("%s+x:%d", scheme, i/4)
	}
	for i := range 1000 {
		if i%10 == 0 {
			send("resources/subscribe", fmt.Sprint("s-one+", i, "none"))
		}
		if got := send("resources/subscribe", uri(i)); got != "{}" {
			t.Fatalf("%d: %s", i, got)
		}
	}
	for _, tt := range []struct{ method, uri, want string }{
		{"resources/subscribe", uri(1000), "has 1000 subscriptions open"},
		{"resources/subscribe", uri(3), "{}"},
		{"resources/unsubscribe", uri(3), "{}"},
		{"resources/subscribe", uri(1000), "{}"},
		{"resources/subscribe", uri(3), "has 1000 subscriptions open"},
	} {
		if got := send(tt.method, tt.uri); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s", tt.method, tt.uri, got)
		}
	}
}

// TestSubscribedAsAsked: a stream of news of the stateless revision is asked for as a
// request of that: for others another process may be started, which was told nothing
// of the subscription when the first change came.
func TestSubscribedAsAsked(t *testing.T) {
	seen := make(chan upstream.Request, 1)
	f := offering(nil)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		seen <- r
		return json.RawMessage(`{}`), nil
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	older := clientOf(t, s, nil, clientOptions{})
	ask(t, older, "resources/subscribe", `{"uri":"a:b"}`)
	if r := <-seen; r.Method != "resources/subscribe" || r.Stateless {
		t.Errorf("older: %+v", r)
	}
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	newest := newClient(r2, w1, clientOptions{})
	defer func() { newest.Close(); <-served }()
	go newest.Call(t.Context(), "subscriptions/listen", json.RawMessage(`{"notifications":{"resourceSubscriptions":["a:b"]},`+newestMeta+`}`))
	if r := <-seen; r.Method != "resources/subscribe" || !r.Stateless {
		t.Errorf("newest: %+v", r)
	}
}

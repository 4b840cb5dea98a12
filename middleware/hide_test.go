package middleware

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/upstream"
)

// TestHide: what an operator hides is in no reply, however it is asked for.
func TestHide(t *testing.T) {
	const secret = "s3cr3t"
	var rows []string
	for i := range 400 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"token":"%s","user":{"name":"row %d","email":"%s"}}`, i, secret, i, secret))
	}
	many := "[" + strings.Join(rows, ",") + "]"
	results := map[string]string{
		"small":      string(textResult(rows[0])),
		"big":        string(textResult(many)),
		"pair":       fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":{"result":%s}}`, many, many),
		"resource":   fmt.Sprintf(`{"content":[{"type":"resource","resource":{"uri":"x:y","text":%q}}]}`, rows[0]),
		"odd":        fmt.Sprintf(`{"content":[{"type":"card","data":%s}]}`, rows[0]),
		"no content": fmt.Sprintf(`{"toolResult":%s}`, rows[0]),
		"error":      fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, rows[0]),
		"lines":      string(textResult(strings.Join(rows, "\n"))),
		"csv":        string(textResult("id,token\n1," + secret + "\n2," + secret + "\n")),
		"beside":     fmt.Sprintf(`{"content":[{"type":"text","text":"x"}],"more":%s,"_meta":%s}`, rows[0], rows[0]),
		"file":       fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":{"content":%q}}`, "id,token\n1,"+secret+"\n2,"+secret+"\n", "id,token\n1,"+secret+"\n2,"+secret+"\n"),
		"blob":       fmt.Sprintf(`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":%q}}]}`, base64.StdEncoding.EncodeToString([]byte(rows[0]))),
		"link":       fmt.Sprintf(`{"content":[{"type":"resource_link","uri":"x:y","name":"token","description":%q}]}`, rows[0]),
		"no text":    fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, rows[0]),
		"plain":      `{"content":[{"type":"text","text":"nothing to hide"}],  "n": 1.0}`,
	}
	var names []string
	for name := range results {
		names = append(names, strings.ReplaceAll(name, " ", "_"))
		results[strings.ReplaceAll(name, " ", "_")] = results[name]
	}
	up := Upstream{Name: "s", Conn: server(results, names...), Policy: Policy{Hide: []string{"token"}},
		Tools: map[string]Policy{"*": {Hide: []string{"user.email"}}}}
	for _, shape := range []bool{true, false} {
		up.Policy.Shape = &shape
		_, conn := dial(t, Options{Upstreams: []Upstream{up}, FreshCalls: FreshAll})
		for _, name := range names {
			raw := call(t, conn, name, `{}`)
			if strings.Contains(raw, secret) || strings.Contains(raw, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("%s, shape %v: %.300s", name, shape, raw)
			}
			if strings.HasPrefix(name, "no_text") {
				continue
			}
			if name == "plain" && raw != results[name] {
				t.Errorf("a result without hidden fields changed: %s", raw)
			}
			replies := []string{call(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":%q,"arguments":{},"limit":2}`, name))}
			if id := decode(t, raw).Meta.Result.CacheID; id != "" {
				for _, args := range []string{`"jq":".. | .token?"`, `"limit":3`, `"fields":["[].user"]`} {
					replies = append(replies, call(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,%s}`, id, args)))
				}
				replies = append(replies, call(t, conn, "proxy_search", fmt.Sprintf(`{"cache_id":%q,"pattern":"s3c"}`, id)))
			}
			for _, r := range replies {
				if strings.Contains(r, secret) {
					t.Errorf("%s, asked again: %.300s", name, r)
				}
			}
		}
	}
	// A longer glob does not show what a shorter one hides.
	up.Tools = map[string]Policy{"*": {Hide: []string{"user.email"}}, "sma*": {MaxTokens: 3000}}
	_, conn := dial(t, Options{Upstreams: []Upstream{up}})
	if raw := call(t, conn, "small", `{}`); strings.Contains(raw, secret) {
		t.Errorf("with a longer glob: %s", raw)
	}
	f := server(nil, "fails")
	f.call = func(context.Context, toolCall) (json.RawMessage, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: "no: token=" + secret, Data: json.RawMessage(rows[0])}
	}
	_, conn = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Policy: Policy{Hide: []string{"token", "user.email"}}}}})
	_, err := conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"fails","arguments":{}}`))
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || strings.Contains(rpc.Message+string(rpc.Data), secret) || rpc.Code != -32000 {
		t.Errorf("an error shows %v", err)
	}
	bad := Upstream{Name: "s", Conn: server(nil), Policy: Policy{Hide: []string{"a..b"}}}
	if err := bad.Check(); err == nil {
		t.Error("a path that cannot be read is accepted")
	}
}

// TestHideDropsOutputSchema: a strict client would miss the field.
func TestHideDropsOutputSchema(t *testing.T) {
	f := server(nil, "a")
	f.tools[0].Raw = json.RawMessage(`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["token"]}}`)
	no := false
	for _, p := range []Policy{{Shape: &no}, {Shape: &no, Hide: []string{"token"}}} {
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Policy: p}}})
		list, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(list), "outputSchema"); has == (len(p.Hide) > 0) {
			t.Errorf("hide %q: outputSchema %v", p.Hide, has)
		}
	}
}

// TestHideInNotifications: nor is it in what a server tells, or in why it refuses
// a subscription.
func TestHideInNotifications(t *testing.T) {
	const secret = "s3cr3t"
	f := offering(nil)
	f.answer = func(context.Context, upstream.Request) (json.RawMessage, error) {
		return nil, &jsonrpc.Error{Code: -32002, Message: "not with token: " + secret, Data: json.RawMessage(`{"token":"` + secret + `"}`)}
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f,
		Tools: map[string]Policy{"some": {Hide: []string{"token", "level"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard := make(chan string, 10)
	conn := clientOf(t, s, nil, hears(heard, "client"))
	for _, tt := range []struct{ method, params, want string }{
		{"notifications/message", `{"level":"info","logger":"l","data":{"token":"` + secret + `","n":1.0}}`, `{"level":"info","logger":"l","data":{"n":1.0}}`},
		{"notifications/message", `{"level":"info","data":"{\"token\":\"` + secret + `\",\"n\":1}"}`, `{"level":"info","data":"{\"n\":1}"}`},
		{"notifications/future", `{"a":{"token":"` + secret + `"},"z":1.0}`, `{"a":{},"z":1.0}`},
		{"notifications/bare", ``, ``},
		{"notifications/plain", `{"z":  1.0}`, `{"z":  1.0}`},
	} {
		var params json.RawMessage
		if tt.params != "" {
			params = json.RawMessage(tt.params)
		}
		s.Tell(context.Background(), "s", tt.method, params)
		if got, want := <-heard, "client "+tt.method+" "+tt.want; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	_, err = conn.Call(t.Context(), "resources/subscribe", json.RawMessage(`{"uri":"a:b"}`))
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != -32002 || strings.Contains(rpc.Message+string(rpc.Data), secret) {
		t.Errorf("subscribe: %v", err)
	}
}

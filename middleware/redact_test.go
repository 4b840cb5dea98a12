//lint:file-ignore SA1019 clients of the older revisions still use sampling

package middleware

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/upstream"
)

// Secrets are put together here, so that scanners do not take them for some.
const (
	aPAT  = "ghp_" + "x7Kq2mZp9LsVb4TnRw8Yc3Hd6Jf1Ga5Ue0Qi"
	aGUID = "e72e16c7e42f292c" + "6912e7710c838347ae178b4a"
	aKey  = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDKx1L3qmVt0a8Y\nq9dGZ3m7Wq0bS1hM2n5pR8xYcV4kT6uJ0eLf\n-----END RSA PRIVATE " + "KEY-----"
)

// leaks says which secret text has, however it is escaped, or "".
func leaks(text string) string {
	for _, secret := range []string{aPAT, aGUID, "MIIEvQIBADANBgkqhkiG9w0", "q9dGZ3m7Wq0bS1hM2n5pR8", base64.StdEncoding.EncodeToString([]byte(aPAT + " x"))[:40]} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// secretResults are results with secrets, by the tool that gives them.
func secretResults() map[string]string {
	quote := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	row := fmt.Sprintf(`{"id":1,"access_token":%q,"note":"with %s","key":%s}`, aGUID, aPAT, quote(aKey))
	var rows []string
	for i := range 300 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","access_token":%q,"key":%s}`, i, i, aGUID, quote(aKey)))
	}
	many := "[" + strings.Join(rows, ",") + "]"
	return map[string]string{
		"text":     string(textResult("the token is " + aPAT)),
		"env":      string(textResult("A=1\nAPI_TOKEN=" + aGUID + "\n" + aKey + "\n")),
		"json":     string(textResult(row)),
		"nested":   string(textResult(fmt.Sprintf(`{"body":%s}`, quote(row)))),
		"pair":     fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, quote(row), row),
		"big":      string(textResult(many)),
		"big_pair": fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":{"result":%s}}`, quote(many), many),
		"big_text": string(textResult(strings.Repeat("a line of a log with "+aPAT+" in it\n", 2000))),
		"resource": fmt.Sprintf(`{"content":[{"type":"resource","resource":{"uri":"x:y","text":%s}}]}`, quote(row)),
		"blob":     fmt.Sprintf(`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":%q}}]}`, base64.StdEncoding.EncodeToString([]byte(aPAT+" x"))),
		"error":    fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"isError":true}`, quote("401: token="+aPAT)),
		"meta":     fmt.Sprintf(`{"content":[],"_meta":%s,"more":%s}`, row, row),
		"plain":    `{"content":[{"type":"text","text":"no secret, but a token, a key and access"}],  "n": 1.0}`,
	}
}

// TestRedact: no agent reads a secret, however it asks; what has none keeps its bytes.
func TestRedact(t *testing.T) {
	results := secretResults()
	names := slices.Sorted(maps.Keys(results))
	for _, passThrough := range []bool{false, true} {
		s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(results, names...), Redact: RedactOn}}, FreshCalls: FreshAll, PassThrough: passThrough})
		for _, name := range names {
			raw := call(t, conn, name, `{}`)
			replies := []string{raw, call(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":%q,"arguments":{}}`, name))}
			if id := decode(t, raw).Meta.Result.CacheID; id != "" {
				for _, args := range []string{`"jq":".. | strings"`, `"jq":"."`, `"limit":3`, `"offset":299`, `"fields":["[].access_token"]`} {
					replies = append(replies, call(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,%s}`, id, args)))
				}
				for _, args := range []string{`"pattern":"e72e|ghp_|MII"`, `"pattern":"token","mode":"bm25"`} {
					replies = append(replies, call(t, conn, "proxy_search", fmt.Sprintf(`{"cache_id":%q,%s}`, id, args)))
				}
				replies = append(replies, call(t, conn, "proxy_explore", fmt.Sprintf(`{"cache_id":%q}`, id)))
			} else if strings.HasPrefix(name, "big") && !passThrough {
				t.Errorf("%s is not cached: %.300s", name, raw)
			}
			for _, reply := range replies {
				if secret := leaks(reply); secret != "" || !json.Valid([]byte(reply)) {
					t.Errorf("%s shows %q: %.500s", name, secret, reply)
				}
			}
			if name == "plain" && raw != results[name] {
				t.Errorf("a result without a secret changed: %s", raw)
			}
			if name == "json" && !strings.Contains(raw, `{\"id\":1,\"access_token\":\"[redacted: generic-api-key]\",\"note\":\"with [redacted: github-pat]\",\"key\":\"[redacted: private-key]\"}`) {
				t.Errorf("more than secrets is masked: %s", raw)
			}
		}
		if n := s.Redactions().All()[Redacted{"s", "github-pat", true}]; n < 2000 {
			t.Errorf("%d were counted", n)
		}
	}
}

// TestRedactReport: nothing is masked; a line of the log says what would be.
func TestRedactReport(t *testing.T) {
	results := secretResults()
	var log bytes.Buffer
	s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(results, slices.Sorted(maps.Keys(results))...), Redact: RedactReport}},
		PassThrough: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for name, want := range results {
		log.Reset()
		if raw := call(t, conn, name, `{}`); raw != want {
			t.Errorf("%s changed: %.300s", name, raw)
		}
		if lines := strings.Count(log.String(), "redact: secrets found, not masked"); name != "plain" && lines != 1 || name == "plain" && lines != 0 || leaks(log.String()) != "" {
			t.Errorf("%s is logged: %s", name, log.String())
		}
		if want := `server=s request=json secrets=3 rules="generic-api-key, github-pat, private-key"`; name == "json" && !strings.Contains(log.String(), want) {
			t.Errorf("logged: %s, want %s", log.String(), want)
		}
	}
	if all := s.Redactions().All(); all[Redacted{"s", "github-pat", false}] < 2000 || all[Redacted{"s", "github-pat", true}] != 0 {
		t.Errorf("counted: %v", all)
	}
}

// TestRedactOff: nothing is looked for.
func TestRedactOff(t *testing.T) {
	for _, mode := range []Redact{"", RedactOff} {
		s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(secretResults(), "json"), Redact: mode}}})
		if raw := call(t, conn, "json", `{}`); raw != secretResults()["json"] || len(s.Redactions().All()) > 0 || s.hider(&s.opts.Upstreams[0], nil, "") != nil {
			t.Errorf("%q: %s", mode, raw)
		}
	}
	bad := Upstream{Name: "s", Conn: server(nil), Redact: "yes"}
	if err := bad.Check(); err == nil {
		t.Error(`redact "yes" is accepted`)
	}
}

// TestRedactErrors: nor is a secret in why something failed, or in the log of that.
func TestRedactErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"the server's own", &jsonrpc.Error{Code: -32000, Message: "no: " + aPAT, Data: json.RawMessage(`{"access_token":"` + aGUID + `","n":1.0}`)},
			`no: [redacted: github-pat]{"access_token":"[redacted: generic-api-key]","n":1.0}`},
		{"it is gone", &upstream.UnavailableError{Server: "s", Lost: true, Err: errors.New("exit status 1: " + aPAT)}, "exit status 1: [redacted: github-pat]"},
		{"ours", fmt.Errorf("odd: %s", aPAT), "internal"},
	} {
		f := offering(nil)
		f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
		f.call = func(context.Context, toolCall) (json.RawMessage, error) { return nil, tt.err }
		f.answer = func(context.Context, upstream.Request) (json.RawMessage, error) { return nil, tt.err }
		var log bytes.Buffer
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Redact: RedactOn}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for _, request := range []struct{ method, params string }{
			{"tools/call", `{"name":"x","arguments":{}}`},
			{"resources/read", `{"uri":"a:b"}`},
			{"prompts/get", `{"name":"p"}`},
			{"resources/subscribe", `{"uri":"a:b"}`},
			{"odd/method", `{}`},
		} {
			raw, err := conn.Call(t.Context(), request.method, json.RawMessage(request.params))
			got := string(raw)
			var rpc *jsonrpc.Error
			if errors.As(err, &rpc) {
				got += rpc.Message + string(rpc.Data)
			}
			if leaks(got) != "" || !strings.Contains(got, tt.want) && !strings.Contains(got, "odd: [redacted: github-pat]") {
				t.Errorf("%s, %s: %s", tt.name, request.method, got)
			}
		}
		if leaks(log.String()) != "" {
			t.Errorf("%s: the log shows %s", tt.name, log.String())
		}
	}
}

// TestRedactUnavailable: nor in why a server is not there.
func TestRedactUnavailable(t *testing.T) {
	down := server(nil)
	down.state, down.err = upstream.Failed, errors.New("exit status 1: token "+aPAT)
	for _, ups := range [][]Upstream{
		{{Name: "s", Prefix: "s", Conn: down, Redact: RedactOn}},
		{{Name: "s", Prefix: "s", Conn: down, Redact: RedactOn}, {Name: "t", Prefix: "t", Conn: server(nil, "x")}},
	} {
		_, conn := dial(t, Options{Upstreams: ups})
		for _, name := range []string{"s_x", "y"} {
			if got := call(t, conn, name, `{}`); leaks(got) != "" || !strings.Contains(got, "token [redacted: github-pat]") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// TestRedactElsewhere: nor in what is no tool's result: resources, prompts, what the
// proxy does not know, progress, log messages, what a server asks.
func TestRedactElsewhere(t *testing.T) {
	row, _ := json.Marshal(fmt.Sprintf(`{"access_token":%q,"note":"with %s","key":%q}`, aGUID, aPAT, aKey))
	f := offering(map[string]string{
		"resources/read": `{"contents":[{"uri":"a:b","text":` + string(row) + `}]}`,
		"prompts/get":    `{"messages":[{"role":"user","content":{"type":"text","text":` + string(row) + `}}]}`,
		"odd/method":     `{"x":` + string(row) + `}`,
	})
	f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		c.Progress(json.RawMessage(`{"progressToken":1,"progress":1.0,"message":"with ` + aPAT + `"}`))
		return textResult("done"), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f, Redact: RedactOn}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard := make(chan string, 10)
	opts := hears(heard, "client")
	opts.Handle = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"asked":` + string(params) + `}`), nil
	}
	conn := clientOf(t, s, &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}, opts)
	for _, request := range []struct{ method, params string }{
		{"resources/read", `{"uri":"a:b"}`}, {"prompts/get", `{"name":"p"}`}, {"odd/method", `{}`},
	} {
		if got := ask(t, conn, request.method, request.params); leaks(got) != "" || strings.Count(got, "[redacted: ") != 3 {
			t.Errorf("%s: %s", request.method, got)
		}
	}
	for _, tt := range []struct{ method, params, want string }{
		{"notifications/message", `{"level":"info","data":"with ` + aPAT + `", "n":1.0}`, `{"level":"info","data":"with [redacted: github-pat]", "n":1.0}`},
		{"notifications/message", `{"level":"info","data":{"access_token":"` + aGUID + `"}}`, `{"level":"info","data":{"access_token":"[redacted: generic-api-key]"}}`},
		{"notifications/future", `{"z":  1.0}`, `{"z":  1.0}`},
	} {
		s.Tell(context.Background(), "s", tt.method, json.RawMessage(tt.params))
		if got, want := <-heard, "client "+tt.method+" "+tt.want; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	if _, err := conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x","arguments":{},"_meta":{"progressToken":"t"}}`)); err != nil {
		t.Fatal(err)
	}
	if got, want := <-heard, `client notifications/progress {"progressToken":"t","progress":1.0,"message":"with [redacted: github-pat]"}`; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	asked, err := s.Ask(t.Context(), "s", "sampling/createMessage", json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"with `+aPAT+`"}}]}`))
	if err != nil || leaks(string(asked)) != "" || !strings.Contains(string(asked), "[redacted: github-pat]") {
		t.Errorf("asked %s, %v", asked, err)
	}
}

// TestRedactHandles: what clients only send back reaches servers as it was.
func TestRedactHandles(t *testing.T) {
	f := server(nil, "x")
	result := `{"content":[],"resultType":"complete","requestState":"api_key=` + aGUID + `","taskId":"` + aPAT + `"}`
	f.call = func(context.Context, toolCall) (json.RawMessage, error) { return json.RawMessage(result), nil }
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Redact: RedactOn}}})
	if got := call(t, conn, "x", `{}`); got != result {
		t.Errorf("%s, want %s", got, result)
	}
}

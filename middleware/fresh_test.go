package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// actor is a server with tools that act, and say nothing of it, and one that declares that
// it only reads; called counts the calls.
func actor() (f *fake, called map[string]int) {
	f, called = server(nil, "read", "delete_all", "listed"), map[string]int{}
	for i, name := range []string{"delete_all", "listed"} {
		f.tools[i+1].Raw = json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	var mu sync.Mutex
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		called[c.Name]++
		return textResult("[1,2,3]"), nil
	}
	return f, called
}

// TestFreshCalls: what proxy_* call without a word from the person, and what they say of
// themselves.
func TestFreshCalls(t *testing.T) {
	globs := []string{"lis*"}
	for _, tt := range []struct {
		name     string
		mode     FreshCalls
		fresh    []string
		hints    bool
		can      *mcp.ClientCapabilities
		called   string // tools, each asked for
		offered  bool   // tool and arguments in the schemas
		readOnly bool
	}{
		{"nothing is trusted", FreshAsk, nil, false, nil, "", false, true},
		{"hints", FreshAsk, nil, true, nil, "read", true, true},
		{"globs", FreshAsk, globs, false, nil, "listed", true, false},
		{"both", FreshReadOnly, globs, true, nil, "read listed", true, false},
		{"all", FreshAll, nil, false, nil, "read delete_all listed", true, false},
		{"none", FreshNone, globs, true, nil, "", false, true},
		{"a person can be asked", FreshAsk, nil, true, canElicit, "read", true, false},
		{"is not", FreshReadOnly, nil, true, canElicit, "read", true, true},
		{"cannot fill in forms", FreshAsk, nil, true, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}, "read", true, true},
	} {
		f, called := actor()
		s, _ := dial(t, Options{FreshCalls: tt.mode, Upstreams: []Upstream{{Name: "s", Conn: f, Fresh: tt.fresh, TrustHints: tt.hints}}})
		conn := clientOf(t, s, tt.can, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"action":"decline"}`), nil
		}})
		var got []string
		for _, tool := range []string{"read", "delete_all", "listed"} {
			d := decode(t, call(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":%q,"arguments":{},"jq":"length"}`, tool)))
			if called[tool] == 1 {
				got = append(got, tool)
			} else if !d.IsError || !strings.Contains(d.Content[0].Text, "hint: call "+tool+" directly and use the cache_id of its reply") {
				t.Errorf("%s: %s: %+v", tt.name, tool, d)
			}
		}
		if got := strings.Join(got, " "); got != tt.called {
			t.Errorf("%s: called %q, want %q", tt.name, got, tt.called)
		}
		list := ask(t, conn, "tools/list", `{}`)
		for _, def := range gjson.Get(list, `tools.#(name%"proxy_*")#`).Array() {
			offered := def.Get("inputSchema.properties.tool").Exists() && def.Get("inputSchema.properties.arguments").Exists()
			if readOnly := def.Get("annotations.readOnlyHint").Bool(); offered != tt.offered || readOnly != tt.readOnly {
				t.Errorf("%s: %s offers %t, read-only %t", tt.name, def.Get("name"), offered, readOnly)
			}
		}
		if again := ask(t, conn, "tools/list", `{}`); again != list {
			t.Errorf("%s: another list", tt.name)
		}
	}
}

// asked is what a person reads before delete_all is called.
const asked = `The agent wants proxy_filter to call delete_all. This tool of the server "s" may change something. The arguments:
{"path":"/","x":"\u{202E}"}
If you accept, the agent may call it this way, with any arguments, until UNTIL.`

const deleteAll = "{\"tool\":\"delete_all\",\"arguments\":{\"path\":\"/\",\"x\":\"\u202e\"},\"jq\":\"length\"}"

// TestConsent: a person agrees, or does not, once in a session; in every revision.
func TestConsent(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		for _, tt := range []struct {
			name    string
			answers []string // to questions; an error for ""
			reads   []string // what each of three calls reads
		}{
			{"accept", []string{"accept"}, []string{"\n3", "\n3", "\n3"}},
			{"decline", []string{"decline"}, []string{"declined", "declined", "declined"}},
			{"cancel", []string{"cancel", "cancel"}, []string{"did not answer", "declined", "declined"}},
			{"cancel, then accept", []string{"cancel", "accept"}, []string{"did not answer", "\n3", "\n3"}},
		} {
			f, called := actor()
			s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
			var questions []string
			answer := func(params json.RawMessage) string {
				questions = append(questions, gjson.GetBytes(params, "message").String())
				if schema := gjson.GetBytes(params, "requestedSchema").Raw; schema != `{"type":"object","properties":{}}` {
					t.Error(schema)
				}
				return `{"action":"` + tt.answers[len(questions)-1] + `"}`
			}
			connect := func() client {
				return clientOf(t, s, canElicit, clientOptions{Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(answer(params)), nil
				}})
			}
			conn := connect()
			send := func() string {
				if !stateless {
					return ask(t, conn, "tools/call", `{"name":"proxy_filter","arguments":`+deleteAll+`}`)
				}
				request := `"name":"proxy_filter","arguments":` + deleteAll + `,` + statelessMeta("")
				got := ask(t, conn, "tools/call", `{`+request+`}`)
				if q := gjson.Get(got, "inputRequests.consent"); q.Exists() && gjson.Get(got, "resultType").String() == "input_required" && q.Get("method").String() == "elicitation/create" {
					got = ask(t, conn, "tools/call", `{`+request+`,"requestState":`+gjson.Get(got, "requestState").Raw+`,"inputResponses":{"consent":`+answer(json.RawMessage(q.Get("params").Raw))+`}}`)
				}
				return got
			}
			for i, want := range tt.reads {
				if got := gjson.Get(send(), "content.0.text").String(); !strings.Contains(got, want) {
					t.Errorf("%s, stateless %t, call %d: %s", tt.name, stateless, i, got)
				}
			}
			until := "the session ends"
			if stateless {
				until = "it has not been called for 30 minutes"
			}
			if len(questions) != len(tt.answers) || questions[0] != strings.ReplaceAll(asked, "UNTIL", until) {
				t.Errorf("%s, stateless %t: asked %q", tt.name, stateless, questions)
			}
			if strings.Contains(tt.name, "accept") == (called["delete_all"] == 0) {
				t.Errorf("%s, stateless %t: called %v", tt.name, stateless, called)
			}
			// Another session, or client, knows nothing of it.
			questions, conn = nil, connect()
			if send(); len(questions) != 1 {
				t.Errorf("%s, stateless %t: another session was asked %d times", tt.name, stateless, len(questions))
			}
		}
	}
}

// TestConsentIsAskedOnce: calls that come together wait for one answer, and an answer to
// another question, or to none, lets nothing through.
func TestConsentIsAskedOnce(t *testing.T) {
	f, called := actor()
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	var mu sync.Mutex
	questions := 0
	here, answer := make(chan struct{}), make(chan struct{})
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		if questions++; questions == 1 {
			close(here)
		}
		<-answer
		return json.RawMessage(`{"action":"accept"}`), nil
	}})
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if got := ask(t, conn, "tools/call", `{"name":"proxy_filter","arguments":`+deleteAll+`}`); !strings.Contains(got, `\n3`) {
				t.Error(got)
			}
		})
	}
	<-here
	close(answer)
	calls.Wait()
	if questions != 1 || called["delete_all"] != 5 {
		t.Errorf("%d questions, %v calls", questions, called)
	}

	other := clientOf(t, s, canElicit, clientOptions{})
	for _, forged := range []string{
		`"inputResponses":{"consent":{"action":"accept"}}`,
		`"inputResponses":{"consent":{"action":"accept"}},"requestState":"rlmproxy-consent:x"`,
		`"inputResponses":{"consent":{"action":"accept"}},"requestState":""`,
	} {
		if got := ask(t, other, "tools/call", `{"name":"proxy_filter","arguments":`+deleteAll+`,`+forged+`,`+statelessMeta("")+`}`); !strings.Contains(got, "input_required") {
			t.Errorf("%s: %s", forged, got)
		}
	}
	if called["delete_all"] != 5 {
		t.Error("a forged answer let it through")
	}
}

// TestConsentRefusedByClient: a client that cannot ask after all is no consent.
func TestConsentRefusedByClient(t *testing.T) {
	f, called := actor()
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("no")
	}})
	if got := text(t, conn, "proxy_filter", deleteAll); !strings.Contains(got, "not known to be read-only") || len(called) != 0 {
		t.Errorf("%s, %v", got, called)
	}
}

// TestNothingToCall: tool and arguments are no parameters where they would always fail.
func TestNothingToCall(t *testing.T) {
	f, _ := actor()
	f.tools = f.tools[1:] // those that say nothing of themselves
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}})
	raw, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "tool to call first") {
		t.Errorf("%s", raw)
	}
}

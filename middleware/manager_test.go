package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
)

// A fakeManager notes what is made.
type fakeManager struct {
	mu      sync.Mutex
	entries []Entry
	made    []string
}

func (m *fakeManager) Entries() []Entry { return m.entries }

func (m *fakeManager) Plan(changes []tools.Change) (*Plan, error) {
	p := &Plan{ByHand: "have the person write it"}
	for _, c := range changes {
		p.Does = append(p.Does, strings.TrimSpace(c.Action+" "+c.Name+" "+string(c.Server)))
		if c.Action == "add" || c.Action == "update" {
			p.Asks, p.Review = append(p.Asks, c.Name), append(p.Review, "rlmproxy trust review "+c.Name)
		}
		if c.Name == "wrong" {
			return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: it is wrong"}
		}
	}
	p.Make = func(agent string, asked bool) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.made = append(m.made, fmt.Sprint(strings.Join(p.Does, ", "), " asked ", asked))
		return nil
	}
	return p, nil
}

// take returns what was made since it was called last.
func (m *fakeManager) take() (made string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made, m.made = strings.Join(m.made, "; "), nil
	return made
}

const (
	addX = `{"changes":[{"action":"add","name":"x","server":{"command":"` + "evil\u202e" + `"}},{"action":"remove","name":"down"}]}`
	// askedAddX is what a person reads of that.
	askedAddX = `The agent wants to change the servers of this proxy:
- add x {"command":"evil\u{202E}"}
- remove down
A server in quarantine is started at once. Its tools are held back until you have looked at them:
  rlmproxy trust review x`
)

// managed is a proxy whose client may change servers.
func managed(t *testing.T, opts Options) (*Server, *fakeManager) {
	t.Helper()
	opts.Upstreams = []Upstream{
		{Name: "files", Prefix: "files", Conn: server(nil, "read")},
		{Name: "down", Prefix: "down", Conn: &fake{state: upstream.Failed, err: fmt.Errorf("no such\nprogram\x1b")}},
	}
	s, _ := dial(t, opts)
	m := &fakeManager{entries: []Entry{{"files", "stdio; env KEY", false}, {"down", "http", false}, {"off", "stdio", true}, {"soon", "stdio", false}}}
	s.Manage(m)
	return s, m
}

// answering is a client whose person gives these answers, and then none any more.
func answering(t *testing.T, s *Server, answers ...string) (client, *[]string) {
	questions := &[]string{}
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		*questions = append(*questions, gjson.GetBytes(params, "message").String())
		return json.RawMessage(`{"action":"` + answers[len(*questions)-1] + `"}`), nil
	}})
	return conn, questions
}

// TestUpstreamsTool: which servers there are, and what is no change.
func TestUpstreamsTool(t *testing.T) {
	s, m := managed(t, Options{})
	conn := connect(t, s)
	if list := ask(t, conn, "tools/list", `{}`); !strings.Contains(list, `"proxy_upstreams"`) {
		t.Error("it is not listed")
	}
	list := "files: ready, 1 tool (stdio; env KEY)\ndown: failed: no such\\nprogram\\u{001B}, 0 tools (http)\noff: disabled (stdio)\nsoon: connecting (stdio)"
	for _, tt := range []struct{ args, want string }{
		{`{}`, list},
		{`{"changes":[]}`, list},
		{`{"changes":null}`, list},
		{`{"changes":"[]"}`, list},
		{`{"changes":{}}`, `bad_arguments: proxy_upstreams: "changes" must be an array, not {}` + "\nhint: a right call: proxy_upstreams " + `{"changes":[{"action":"add","name":"…","server":{"command":"…"}}]}`},
		{`{"changes":[1]}`, "bad_arguments: proxy_upstreams: changes[0]: it must be an object\n"},
		{`{"changes":[{"action":"remove","name":"a"},{"action":"drop","name":"a"}]}`, `bad_arguments: proxy_upstreams: changes[1]: action must be one of add, remove, enable, disable, update, not "drop"`},
		{`{"changes":[{"name":"a"}]}`, `bad_arguments: proxy_upstreams: changes[0]: action must be one of`},
		{`{"changes":[{"action":"list"}]}`, `bad_arguments: proxy_upstreams: changes[0]: to list the servers, leave changes out`},
		{`{"changes":[{"action":"remove"}]}`, `bad_arguments: proxy_upstreams: changes[0]: name is missing`},
		{`{"changes":[{"action":"remove","name":1}]}`, `bad_arguments: proxy_upstreams: changes[0]: name must be a string`},
		{`{"changes":[{"action":"remove","name":"a","name":"b"}]}`, `bad_arguments: proxy_upstreams: changes[0]: "name" stands twice`},
		{`{"changes":[{"action":"add","name":"a","server":"x"}]}`, `bad_arguments: proxy_upstreams: changes[0]: server must be an object`},
		{`{"changes":[{"action":"add","name":"a","config":{}}]}`, `bad_arguments: proxy_upstreams: changes[0]: no member "config"; there are action, name and server`},
		{`{"servers":[]}`, `bad_arguments: proxy_upstreams: no parameter "servers"`},
		{`{"changes":[{"action":"remove","name":"wrong"}]}`, `bad_arguments: nothing is changed: it is wrong`},
		{`{"changes":[{"action":"disable","name":"` + strings.Repeat("x", 4000) + `"}]}`, `bad_arguments: a person who is asked would have to read 4`},
		// Nobody can be asked.
		{addX, "bad_arguments: nothing is changed: a person must agree to what becomes of x, and this client cannot ask them\nhint: have the person write it"},
	} {
		if got := text(t, conn, "proxy_upstreams", tt.args); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.100s: got  %q\nwant %q", tt.args, got, tt.want)
		}
		if made := m.take(); made != "" {
			t.Errorf("%.100s: made %s", tt.args, made)
		}
	}
	if got := text(t, conn, "proxy_upstreams", `{"changes":[{"action":"disable","name":"off"},{"action":"remove","name":"gone"}]}`); got != "off: disabled (stdio)\ngone: removed" || m.take() != "disable off, remove gone asked false" {
		t.Errorf("got %s", got)
	}
}

// TestUpstreamsAreAsked: a person agrees to each change anew, in every revision, and to what
// they were shown.
func TestUpstreamsAreAsked(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		s, m := managed(t, Options{})
		answers := []string{"accept", "decline", "accept", "cancel", "decline", "decline"}
		conn, questions := answering(t, s, answers...)
		reads := []string{"x: removed\ndown: failed: ", "does not want it", "x: removed", "did not say", "does not want it", "does not want it", "refused several times, and is not asked any more"}
		for i, want := range reads {
			var got string
			if stateless {
				request := `"name":"proxy_upstreams","arguments":` + addX + `,` + statelessMeta("")
				first := ask(t, conn, "tools/call", `{`+request+`}`)
				if q := gjson.Get(first, "inputRequests.consent"); q.Exists() {
					*questions = append(*questions, q.Get("params.message").String())
					answer := `"requestState":` + gjson.Get(first, "requestState").Raw + `,"inputResponses":{"consent":{"action":"` + answers[i] + `"}}`
					// The answer to another question counts for nothing.
					other := strings.Replace(request, "evil", "good", 1)
					if i == 0 {
						forged := ask(t, conn, "tools/call", `{`+other+`,`+answer+`}`)
						if gjson.Get(forged, "resultType").String() != "input_required" || m.take() != "" {
							t.Fatalf("the answer to another question counts: %s", forged)
						}
						first = ask(t, conn, "tools/call", `{`+request+`,`+answer+`}`) // whose question was replaced
						if gjson.Get(first, "resultType").String() != "input_required" || m.take() != "" {
							t.Fatalf("an old question counts: %s", first)
						}
						answer = `"requestState":` + gjson.Get(first, "requestState").Raw + `,"inputResponses":{"consent":{"action":"` + answers[i] + `"}}`
					}
					got = gjson.Get(ask(t, conn, "tools/call", `{`+request+`,`+answer+`}`), "content.0.text").String()
					if i == 0 && gjson.Get(ask(t, conn, "tools/call", `{`+request+`,`+answer+`}`), "resultType").String() != "input_required" {
						t.Fatal("an answer counts twice")
					}
				} else {
					got = gjson.Get(first, "content.0.text").String()
				}
			} else {
				got = text(t, conn, "proxy_upstreams", addX)
			}
			if !strings.Contains(got, want) {
				t.Errorf("stateless %t, call %d: %s", stateless, i, got)
			}
			made := m.take()
			if agreed := i < len(answers) && answers[i] == "accept"; agreed != (made != "") || agreed && !strings.HasSuffix(made, "asked true") {
				t.Errorf("stateless %t, call %d: made %q", stateless, i, made)
			}
		}
		for _, q := range *questions {
			if q != askedAddX {
				t.Errorf("stateless %t: asked %s", stateless, q)
			}
		}
		if len(*questions) != len(answers) {
			t.Errorf("stateless %t: %d questions", stateless, len(*questions))
		}
	}
}

// TestOneQuestion: a person has one question at a time.
func TestOneQuestion(t *testing.T) {
	s, m := managed(t, Options{})
	asked, answer := make(chan bool), make(chan bool)
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		asked <- true
		<-answer
		return json.RawMessage(`{"action":"accept"}`), nil
	}})
	first := make(chan string)
	go func() { first <- text(t, conn, "proxy_upstreams", addX) }()
	<-asked
	if got := text(t, conn, "proxy_upstreams", addX); !strings.Contains(got, "the person has not answered the last question yet") {
		t.Error(got)
	}
	close(answer)
	if got := <-first; strings.HasPrefix(got, "bad_arguments") || m.take() == "" {
		t.Error(got)
	}
}

// TestUpstreamsAreTheOperators: the tool is for who may use everything, where it is switched on.
func TestUpstreamsAreTheOperators(t *testing.T) {
	s, m := managed(t, Options{})
	conn := clientOf(t, s, &mcp.ClientCapabilities{}, clientOptions{})
	s.SetRights(&rights.Rules{Agents: map[string]rights.Entry{"*": {Allow: []string{"files_*"}}}})
	off := "unknown_tool: proxy_upstreams is switched off\nhint: the operator can set \"enableUpstreamTool\" in proxySettings"
	remove := `{"changes":[{"action":"remove","name":"files"}]}`
	if got := text(t, conn, "proxy_upstreams", remove); got != off || m.take() != "" {
		t.Error(got)
	}
	if list := ask(t, conn, "tools/list", `{}`); strings.Contains(list, "proxy_upstreams") {
		t.Error("who may not use everything is told of it")
	}
	_, other := dial(t, Options{})
	if got := text(t, other, "proxy_upstreams", remove); got != off {
		t.Error(got)
	}
	// No other tool reaches it.
	s.SetRights(nil)
	for tool, args := range map[string]string{
		"proxy_call_tool": `{"name":"proxy_upstreams","arguments":` + remove + `}`,
		"proxy_filter":    `{"tool":"proxy_upstreams","arguments":` + remove + `,"jq":"."}`,
	} {
		if got := text(t, conn, tool, args); m.take() != "" {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/judge"
	"rlmproxy/middleware/observe"
	"rlmproxy/registry"
)

// TestMadeToolAsksAPerson: a tool that was made at run time calls what a person has to agree to, by
// each way that it is called, for clients of either lifecycle. Its client comes back to the call
// that it made, which then goes on.
func TestMadeToolAsksAPerson(t *testing.T) {
	for name, tt := range map[string]struct{ tool, arguments, want string }{
		"itself":          {"erase", `{}`, "[1,2,3]"},
		"proxy_filter":    {"proxy_filter", `{"tool":"erase","arguments":{},"jq":"add"}`, "6"},
		"proxy_call_tool": {"proxy_call_tool", `{"name":"erase","arguments":{}}`, "[1,2,3]"},
		"proxy_ask":       {"proxy_ask", `{"tool":"erase","arguments":{},"question":"is it?","labels":["yes","no"]}`, "yes: 3 (100.0%)\nno: 0 (0.0%)"},
	} {
		for _, stateless := range []bool{false, true} {
			f, called := actor()
			h := &heard{}
			store, err := registry.OpenFolder(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s, maker := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}, Programs: scripts(t), Made: &Made{Store: store}, Observers: []observe.Observer{h},
				SubModel: &SubModel{Judge: judge.New(judge.Options{}), Model: &listener{}}})
			t.Cleanup(s.Close)
			if got := text(t, maker, "proxy_tools", `{"action":"create","name":"erase","description":"Erases.","program":"const got = call('delete_all'); call('delete_all'); return got"}`); !strings.HasPrefix(got, "erase: ") {
				t.Fatal(got)
			}
			questions := 0
			conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				questions++
				return json.RawMessage(`{"action":"accept"}`), nil
			}})
			request := `"name":"` + tt.tool + `","arguments":` + tt.arguments
			if stateless {
				request += "," + statelessMeta("")
			}
			got := ask(t, conn, "tools/call", `{`+request+`}`)
			for round := 0; stateless && gjson.Get(got, "resultType").String() == "input_required" && round < 4; round++ {
				answers := []string{}
				for name, q := range gjson.Get(got, "inputRequests").Map() {
					if m := q.Get("params.message").String(); !strings.Contains(m, "delete_all") && !strings.Contains(m, "erase") {
						t.Errorf("%s: asked %s", name, m)
					}
					questions++
					answers = append(answers, `"`+name+`":{"action":"accept"}`)
				}
				got = ask(t, conn, "tools/call", `{`+request+`,"requestState":`+gjson.Get(got, "requestState").Raw+`,"inputResponses":{`+strings.Join(answers, ",")+`}}`)
			}
			if text := gjson.Get(got, "content.0.text").String(); !strings.HasSuffix(text, tt.want) || questions == 0 || called["delete_all"] != 2 {
				t.Errorf("%s, stateless %t: %.300s, %d questions, called %v", name, stateless, got, questions, called)
			}
			fresh := 0
			for _, c := range h.take() {
				if c.For > 0 && c.Name == "delete_all" && c.Outcome == observe.OK {
					fresh++
				}
			}
			if fresh != 2 {
				t.Errorf("%s, stateless %t: %d calls were observed", name, stateless, fresh)
			}
			if n := s.relay.Deferred().Len(); n > 0 {
				t.Errorf("%s, stateless %t: %d requests wait", name, stateless, n)
			}
		}
	}
}

package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/observe"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/worker"
)

// scripts is a pool for programs of agents that ends with t.
func scripts(t *testing.T) *script.Pool {
	t.Helper()
	p := script.NewPool(script.Options{Worker: worker.Options{Command: testWorker("script")}})
	t.Cleanup(p.Close)
	return p
}

// runs is the arguments of a proxy_run.
func runs(code string) string { return string(jsonscan.Object("code", jsonscan.Quote(code))) }

func TestRun(t *testing.T) {
	f := server(map[string]string{
		"rows": string(textResult(records(300))), "bad": `{"content":[{"type":"text","text":"no such row"}],"isError":true}`,
		"both": `{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":1}}`, "log": string(textResult("one\ntwo: bad\nthree\n")),
	}, "rows", "bad", "both", "log", "echo")
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	rows := decode(t, call(t, conn, "rows", `{}`)).Meta.Result.CacheID
	log := decode(t, call(t, conn, "proxy_filter", `{"tool":"log","jq":"."}`)).Content[0].Text
	log = log[strings.Index(log, "cache_id=")+len("cache_id="):][:len(rows)]
	for _, tt := range []struct{ code, want string }{
		{fmt.Sprintf("return result(%q).filter(r => r.id %% 100 === 0).map(r => r.big)", rows), `["9007199254740993","9007199254740993","9007199254740993"]`},
		{fmt.Sprintf("return lines(%q)", log), `["one","two: bad","three"]`},
		{fmt.Sprintf("return search(%q, 'bad')", log), `[{"line":2,"text":"two: bad"}]`},
		{fmt.Sprintf("return search(%q, 'row 29[0-1]', {max_results: 1})", rows), `[{"path":".[290].name","text":"\"name\": \"row 290\""}]`},
		{"return call('both').n", "1"},
		{"return call('rows').length", "300"},
		{"return call('echo', {a: 1})", `echo{"a":1}`},
		{"return callAll([['both'], ['bad', {}], ['echo', {b: 2}]])", `[{"n":1},{"error":"bad: no such row"},"echo{\"b\":2}"]`},
		{"try { call('bad') } catch (e) { return e.code + ' ' + e.message }", "tool_error bad: no such row"},
		{"try { call('nope') } catch (e) { return e.code }", "unknown_tool"},
		{"try { call('proxy_filter', {}) } catch (e) { return e.message }", "proxy_filter is the proxy's own: programs call tools of servers, and have result, lines, search, jq and ask"},
		{"try { result('k3') } catch (e) { return e.code }", "unknown_cache_id"},
		{"try { search(call('log'), 'bad') } catch (e) { return e.message }", "id must be the cache_id of a result, not its text: that is searched with regular expressions"},
		{"try { ask('x', ['a'], ['b', 'c']) } catch (e) { return e.message }", `ask(question, items, options): options must be an object, not ["b","c"]`},
		{fmt.Sprintf("try { search(%q, 'bad', 5) } catch (e) { return e.message }", log), "search(id, pattern, options): options must be an object, not 5"},
		{"try { ask('x', ['a']) } catch (e) { return e.message }", "the sub-model is switched off (the operator can set \"subModel\" in proxySettings)"},
		{"print('a'); print({b: 1}); return {c: 2}", "[printed 2 lines]\na\n{\"b\":1}\n[returned]\n{\"c\":2}"},
		{"print('[cut: all]'); return 1", "[printed 1 line]\n> [cut: all]\n[returned]\n1"},
		{"print('only')", "only"},
		{"", "the program returned nothing: end it with return, as in return main()"},
		{"const", "bad_program: program: SyntaxError"},
		{"print('before')\nnope()", "(line 2, column 5)\n    nope()\n        ^\nprinted before:\nbefore"},
	} {
		if tt.code == "" {
			tt.code = ";"
		}
		if got := decode(t, call(t, conn, "proxy_run", runs(tt.code))).Content[0].Text; got != tt.want && !(strings.Contains(tt.want, "bad_program") || strings.Contains(tt.want, "before:")) || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.code, got, tt.want)
		}
	}
	// What it returns is cut and kept as anything is.
	cut := decode(t, call(t, conn, "proxy_run", runs("return call('rows')")))
	if !strings.HasPrefix(cut.Content[0].Text, "[cut:") {
		t.Errorf("%.300s", cut.Content[0].Text)
	}
	if got := text(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"length"}`, cut.Meta.Result.CacheID)); got != "300" {
		t.Error(got)
	}
	// So is what it prints.
	printed := text(t, conn, "proxy_run", runs("for (let i = 0; i < 3000; i++) print('line', i); return 1"))
	if !strings.Contains(printed, "[printed 3,000 lines, the first ") || !strings.HasSuffix(printed, "[returned]\n1") {
		t.Errorf("%.300s", printed)
	}
}

func TestRunState(t *testing.T) {
	s, conn := dial(t, Options{Programs: scripts(t), Code: true})
	count := runs("state.n = (state.n ?? 0) + 1; return state.n")
	for want := range 3 {
		if got := text(t, conn, "proxy_run", count); got != fmt.Sprint(want+1) {
			t.Error(got)
		}
	}
	if got := text(t, connect(t, s), "proxy_run", count); got != "1" {
		t.Errorf("another agent: %s", got)
	}
	if got := text(t, conn, "proxy_run", runs("state.n = 'x'.repeat(300000)")); !strings.Contains(got, "262,144 are allowed") {
		t.Error(got)
	}
	if got := text(t, conn, "proxy_run", count); got != "4" {
		t.Errorf("after one that is too large: %s", got)
	}
}

func TestRunOff(t *testing.T) {
	_, conn := dial(t, Options{Programs: scripts(t)})
	if got := decode(t, call(t, conn, "proxy_run", runs("return 1"))); !got.IsError || !strings.HasPrefix(got.Content[0].Text, "unknown_tool") {
		t.Errorf("%+v", got)
	}
	if list := ask(t, conn, "tools/list", `{}`); strings.Contains(list, "proxy_run") {
		t.Error(list)
	}
}

// TestRunTrust: a program calls what a person agrees to, in either lifecycle; each call is
// observed, also those after the client came back with the answer.
func TestRunTrust(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		f, called := actor()
		h := &heard{}
		s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}, Programs: scripts(t), Code: true, Observers: []observe.Observer{h}})
		questions := 0
		conn := clientOf(t, s, canElicit, clientOptions{Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			questions++
			return json.RawMessage(`{"action":"accept"}`), nil
		}})
		request := `"name":"proxy_run","arguments":` + runs("return [call('delete_all').length, call('delete_all').length, call('delete_all').length]")
		if stateless {
			request += `,` + statelessMeta("")
		}
		got := ask(t, conn, "tools/call", `{`+request+`}`)
		if stateless {
			one := gjson.Get(got, "inputRequests").Map()
			if len(one) != 1 {
				t.Fatal(got)
			}
			for name, q := range one {
				if m := q.Get("params.message").String(); !strings.Contains(m, "The agent wants proxy_run to call delete_all") {
					t.Error(m)
				}
				questions++
				got = ask(t, conn, "tools/call", `{`+request+`,"requestState":`+gjson.Get(got, "requestState").Raw+`,"inputResponses":{"`+name+`":{"action":"accept"}}}`)
			}
		}
		if text := gjson.Get(got, "content.0.text").String(); text != "[3,3,3]" || questions != 1 || called["delete_all"] != 3 {
			t.Errorf("stateless %t: %s, %d questions, called %v", stateless, got, questions, called)
		}
		fresh := 0
		for _, c := range h.take() {
			if c.For > 0 && c.Name == "delete_all" && c.Outcome == observe.OK {
				fresh++
			}
		}
		if fresh != 3 {
			t.Errorf("stateless %t: %d calls were observed", stateless, fresh)
		}
	}
}

// TestRunServerAsks: a server of 2026-07-28 that wants to know something first is answered.
func TestRunServerAsks(t *testing.T) {
	f := rounder(func(p gjson.Result) string {
		if p.Get("requestState").String() != "s1" {
			return `{"resultType":"input_required","requestState":"s1","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"who?"}}}}`
		}
		return `{"resultType":"complete","content":[{"type":"text","text":` + mustQuote(p.Get("inputResponses.who").Raw) + `}]}`
	})
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	conn := clientOf(t, s, canElicit, clientOptions{})
	request := `"name":"proxy_run","arguments":` + runs("return call('x').who") + `,` + statelessMeta("")
	got := ask(t, conn, "tools/call", `{`+request+`}`)
	if m := gjson.Get(got, "inputRequests.q1.params.message").String(); m != "who?" {
		t.Fatal(got)
	}
	got = ask(t, conn, "tools/call", `{`+request+`,"requestState":`+gjson.Get(got, "requestState").Raw+`,"inputResponses":{"q1":{"action":"accept","who":"me"}}}`)
	if text := gjson.Get(got, "content.0.text").String(); text != "me" {
		t.Error(got)
	}
}

// TestRunLimits: calls of programs count as the agent's.
func TestRunLimits(t *testing.T) {
	f := server(nil, "read")
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true, Limits: Limits{CallsPerMinute: 6}})
	got := text(t, conn, "proxy_run", runs("let n = 0; try { for (;;) { call('read', {}); n++ } } catch (e) { return n + ' ' + e.code }"))
	if got != "5 rate_limited" {
		t.Error(got)
	}
}

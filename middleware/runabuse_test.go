package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"rlmproxy/judge"
	"rlmproxy/judge/judgetest"
	"rlmproxy/judge/openai"
	"rlmproxy/middleware/observe"
)

// TestRunPanic: a fault of ours in what a program asks for costs that one call, and no worker.
func TestRunPanic(t *testing.T) {
	f := server(nil, "boom", "echo")
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if c.Name == "boom" {
			panic("secret")
		}
		return textResult("here"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	for range 5 { // there are four workers, two for an agent
		if got := text(t, conn, "proxy_run", runs("try { call('boom') } catch (e) { return e.code + ' ' + call('echo') }")); got != "internal here" {
			t.Error(got)
		}
		if got := text(t, conn, "proxy_run", runs("return callAll([['boom'], ['echo']])")); !strings.HasPrefix(got, `[{"error":"internal error (ref `) || !strings.HasSuffix(got, `"here"]`) || strings.Contains(got, "secret") {
			t.Error(got)
		}
	}
}

// TestRunCallAllIsBounded: what many calls return is not held beyond what their program gets.
func TestRunCallAllIsBounded(t *testing.T) {
	large := textResult(strings.Repeat("x", 8<<20))
	var calls atomic.Int32
	f := server(nil, "large")
	f.call = func(context.Context, toolCall) (json.RawMessage, error) { calls.Add(1); return large, nil }
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	got := text(t, conn, "proxy_run", runs("try { callAll(Array(40).fill(['large'])) } catch (e) { return e.code + ' ' + e.message }"))
	if n := calls.Load(); n > 16 || !strings.HasPrefix(got, "limit_memory callAll: the results have more than 67,108,864 bytes together") || !strings.Contains(got, fmt.Sprintf("the first %d of 40 are made", n)) {
		t.Errorf("%d calls: %s", n, got)
	}
}

// kept is the id under which the short result of a tool is kept.
func kept(t *testing.T, conn client, tool string) string {
	t.Helper()
	_, id, _ := strings.Cut(text(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":%q,"jq":"."}`, tool)), "cache_id=")
	return id[:16]
}

// TestRunObserved: the observers hear of a program's calls as they go, with the handles of each, so
// that not all of their arguments are held until it ends.
func TestRunObserved(t *testing.T) {
	h := &heard{}
	so := []observe.Call{}
	f := server(nil, "first", "echo", "look")
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if c.Name == "look" {
			so = h.take()
		}
		return textResult("some"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true, Observers: []observe.Observer{h}})
	id := kept(t, conn, "first")
	h.take()
	if got := text(t, conn, "proxy_run", runs(fmt.Sprintf("for (let i = 0; i < 5; i++) callAll(Array(8).fill(['echo', {a: 'rlmproxy://cache/%s'}])); return call('look')", id))); got != "some" {
		t.Fatal(got)
	}
	if len(so) != 40 {
		t.Errorf("before the last call, %d of 40 were told of", len(so))
	}
	for _, c := range so {
		if c.Name != "echo" || len(c.Handles) != 1 || c.Outcome != observe.OK {
			t.Fatalf("%s, %d handles", line(c), len(c.Handles))
		}
	}
	if rest := h.take(); len(rest) != 2 || len(rest[0].Handles) > 0 {
		t.Errorf("%d calls later", len(rest))
	}
}

// TestRunAsks: a program asks a model behind HTTP about items, each once however often it asks, and
// hears what cannot be judged; items of which the model says nothing are null.
func TestRunAsks(t *testing.T) {
	served := judgetest.Start(t, byWords)
	model, err := openai.New(openai.Options{URL: served.URL, Model: "small", Key: served.Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	result, _, counts := complaints(600)
	s, conn := dial(t, Options{SubModel: &SubModel{Judge: judge.New(judge.Options{PerHour: judge.Budget{Calls: 40}}), Model: model}, Programs: scripts(t), Code: true,
		Upstreams: []Upstream{{Name: "shop", Conn: server(map[string]string{"list": result}, "list"), TrustHints: true}}})
	served.Fault = func(request int) judgetest.Fault {
		return map[int]judgetest.Fault{2: judgetest.Missing, 3: judgetest.Prose, 5: judgetest.Limited}[request]
	}
	const judged = `const rows = call('list'), about = ask('What is it about?', rows.map(r => r.text), {labels: ['delivery', 'price', 'quality', 'other']})
`
	var got map[string]int
	raw := text(t, conn, "proxy_run", runs(judged+`const n = {}
rows.forEach((r, i) => { const k = r.date.slice(0, 7) + ' ' + about[i]; n[k] = (n[k] ?? 0) + 1 })
return n`))
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatalf("%v in %.300s", err, raw)
	}
	sameCounts(t, got, counts)
	before := served.Requests()
	if got := text(t, conn, "proxy_run", runs(judged+"return about.length")); got != "600" || served.Requests() != before {
		t.Errorf("again: %s, %d requests more", got, served.Requests()-before)
	}
	for code, want := range map[string]string{
		`return ask('x', [])`: "[]",
		`try { ask('x', ['a'], {labels: ['one']}) } catch (e) { return e.code + ' ' + e.message }`:                                       "bad_arguments ask: there is one label",
		`try { ask('x', ['a'], {labls: []}) } catch (e) { return e.code + ' ' + e.message }`:                                             "bad_arguments ask",
		`try { ask('x', 'a') } catch (e) { return e.code + ' ' + e.message }`:                                                            "bad_arguments ask(question, items, options): items must be an array",
		`try { ask('x', Array(2000).fill(0).map((_, i) => 'item ' + i), {type: 'text'}) } catch (e) { return e.code + ' ' + e.message }`: "model_unavailable ",
	} {
		if got := text(t, conn, "proxy_run", runs(code)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.300s", code, got)
		}
	}
	// Another agent has an hour of its own, and knows nothing of what was judged.
	before = served.Requests()
	if got := text(t, connect(t, s), "proxy_run", runs(judged+"return about.length")); got != "600" || served.Requests() < before+20 {
		t.Errorf("another agent: %s, %d requests", got, served.Requests()-before)
	}
}

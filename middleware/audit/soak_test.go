package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// faulty is a server whose tools are ways to end.
type faulty struct{ tools []upstream.Tool }

func newFaulty() *faulty {
	f := &faulty{}
	for _, name := range []string{"small", "big", "fails", "breaks", "hangs", "slow", "dies", "limited"} {
		f.tools = append(f.tools, upstream.Tool{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`)})
	}
	return f
}

func (f *faulty) Tools() []upstream.Tool                                { return f.tools }
func (f *faulty) Prompts() []upstream.Tool                              { return nil }
func (f *faulty) Info() *upstream.Info                                  { return nil }
func (f *faulty) Notify(context.Context, string, json.RawMessage) error { return nil }
func (f *faulty) State() (upstream.State, error)                        { return upstream.Ready, nil }
func (f *faulty) Settled(context.Context)                               {}

func (f *faulty) Call(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	switch gjson.GetBytes(r.Params, "name").String() {
	case "big":
		return json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("a word or two ", 2000) + `"}]}`), nil
	case "fails":
		return json.RawMessage(`{"content":[{"type":"text","text":"no"}],"isError":true}`), nil
	case "breaks":
		return nil, &jsonrpc.Error{Code: -32000, Message: "broken"}
	case "hangs":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "slow":
		time.Sleep(time.Duration(rand.IntN(2)) * time.Millisecond)
	case "dies":
		return nil, &upstream.UnavailableError{Server: "s", Err: errors.New("it ended"), Lost: true}
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), nil
}

// A reader is a client's end, which hears answers.
type reader struct {
	mu      sync.Mutex
	answers map[string]rpc.Message
	lastID  string // a cache_id
}

func (r *reader) Send(_ context.Context, m rpc.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Method == "" {
		r.answers[string(m.ID)] = m
		if id := gjson.GetBytes(m.Result, "_meta.rlmproxy/result.cache_id").String(); id != "" {
			r.lastID = id
		}
	}
	return nil
}

func (r *reader) Try(context.Context, rpc.Message) {}

// TestSoak: clients with all kinds of calls and faults come and go, the file rotates, and
// the log has each call exactly once: with what the client was answered, if it was.
func TestSoak(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	key := []byte("a key")
	log, err := New(Options{File: path, MaxBytes: 256 << 10, Files: 1000, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := middleware.New(middleware.Options{
		Store: store, Observers: []observe.Observer{log}, CallTimeout: 50 * time.Millisecond, FreshCalls: middleware.FreshAll,
		Limits: middleware.Limits{Calls: 20},
		Upstreams: []middleware.Upstream{{Name: "s", Conn: newFaulty(), Tools: map[string]middleware.Policy{
			"limited": {RateLimit: 1, Concurrency: 1},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// What was sent, by the hash of its arguments, which differ; and how it was answered.
	type sent struct {
		name     string
		answer   rpc.Message
		answered bool
	}
	var mu sync.Mutex
	all := map[string]sent{}
	fresh := map[string]bool{} // names of tools behind the hashes of what proxy_* calls
	const agents, perAgent = 40, 100
	var wg sync.WaitGroup
	for a := range agents {
		wg.Go(func() {
			end := &reader{answers: map[string]rpc.Message{}}
			c := s.Attach(end, middleware.Identity{Subject: fmt.Sprint("agent", a)}, rpc.Options{MaxRequests: 30})
			receive := func(id, method, params string) {
				m := rpc.Message{Method: method, Params: json.RawMessage(params)}
				if id != "" {
					m.ID = json.RawMessage(id)
				}
				if err := c.Receive(t.Context(), m); err != nil {
					_ = end.Send(t.Context(), rpc.Refused(m.ID, err))
				}
			}
			receive("0", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}`)
			for !c.Initialized() {
				time.Sleep(time.Millisecond)
			}
			mine := map[string]string{} // hashes by id
			for i := range perAgent {
				id := fmt.Sprint(i + 1)
				args, name := fmt.Sprintf(`{"n":"%d/%d"}`, a, i), []string{
					"small", "big", "fails", "breaks", "hangs", "slow", "dies", "limited", "nothing", "proxy_filter", "proxy_explore", "proxy_search", "fresh",
				}[rand.IntN(13)]
				switch name {
				case "proxy_filter", "proxy_explore", "proxy_search":
					end.mu.Lock()
					id, query := end.lastID, map[string]string{"proxy_search": `,"pattern":"word"`}[name]
					end.mu.Unlock()
					if rand.IntN(3) == 0 || id == "" {
						id = "aaaaaaaaaaaaaaaa"
					}
					args = fmt.Sprintf(`{"cache_id":%q%s%s}`, id, query, strings.Repeat(" ", a*perAgent+i))
				case "fresh":
					tool := []string{"small", "big", "fails", "hangs", "dies", "nothing"}[rand.IntN(6)]
					args = fmt.Sprintf(`{"tool":%q,"arguments":%s,"jq":"."}`, tool, args)
					name = "proxy_filter"
					mu.Lock()
					fresh[log.hash(json.RawMessage(gjson.Get(args, "arguments").Raw))] = tool != "nothing"
					mu.Unlock()
				}
				h := log.hash(json.RawMessage(args))
				mine[id] = h
				mu.Lock()
				all[h] = sent{name: name}
				mu.Unlock()
				receive(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
				switch rand.IntN(8) {
				case 0:
					receive("", "notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, id))
				case 1, 2:
					time.Sleep(time.Millisecond)
				}
			}
			if a%2 == 0 { // the others go away
				for c.Serving() > 0 {
					time.Sleep(time.Millisecond)
				}
			}
			c.End()
			end.mu.Lock()
			defer end.mu.Unlock()
			for id, h := range mine {
				mu.Lock()
				one := all[h]
				one.answer, one.answered = end.answers[id]
				all[h] = one
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s.Close()
	log.Close()
	store.Close()

	outcomes := map[string]int{}
	seen, freshSeen, ids := map[string]bool{}, map[string]bool{}, map[string]gjson.Result{}
	for _, line := range replay(t, path) {
		id, hash := line.Get("id").String(), line.Get("args_hash").String()
		if ids[id].Exists() {
			t.Errorf("id %s is there twice", id)
		}
		ids[id] = line
		code := line.Get("outcome").String() + " " + line.Get("error").String()
		outcomes[code]++
		if line.Get("for").Exists() {
			if freshSeen[hash] || !fresh[hash] {
				t.Errorf("a fresh call that nobody made, or twice: %s", line)
			}
			freshSeen[hash] = true
			continue
		}
		one, ok := all[hash]
		if !ok || seen[hash] {
			t.Fatalf("a call that nobody made, or twice: %s", line)
		}
		seen[hash] = true
		got := "ok "
		switch {
		case !one.answered:
			got = "cancelled "
		case one.answer.Error != nil:
			got = "error " + gjson.GetBytes(one.answer.Error, "code").Raw
			if strings.Contains(string(one.answer.Error), "too_busy") {
				got = "error too_busy"
			}
		case gjson.GetBytes(one.answer.Result, "isError").Bool():
			got = "error tool_error"
			if ours := gjson.GetBytes(one.answer.Result, "_meta.rlmproxy/error.code").String(); ours != "" {
				got = "error " + ours
			}
		}
		// A call may have ended before it was cancelled, while its answer was not sent yet.
		if one.name != line.Get("tool").String() || got != code && one.answered {
			t.Errorf("%s was answered with %s: %s", one.name, got, line)
		}
	}
	if len(seen) != agents*perAgent || len(ids) != agents*perAgent+len(freshSeen) {
		t.Errorf("%d of %d calls are in the log, %d lines, %d fresh", len(seen), agents*perAgent, len(ids), len(freshSeen))
	}
	for n := range len(ids) { // the ids are numbered without a gap
		if !ids[fmt.Sprintf("%s-%d", log.process, n+1)].Exists() {
			t.Errorf("no line has the number %d", n+1)
		}
	}
	for _, line := range ids {
		if f := line.Get("for"); f.Exists() && !strings.HasPrefix(ids[f.String()].Get("tool").String(), "proxy_") {
			t.Errorf("for no call: %s", line)
		}
	}
	for _, want := range []string{"ok ", "cancelled ", "error tool_error", "error -32000", "error upstream_timeout", "error upstream_unavailable",
		"error rate_limited", "error too_busy", "error unknown_tool", "error unknown_cache_id"} {
		if outcomes[want] == 0 {
			t.Errorf("no call ended with %q: %v", want, outcomes)
		}
	}
	t.Log(outcomes)
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

// replay reads the lines of a log and its renamed files.
func replay(t *testing.T, path string) (lines []gjson.Result) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			if !json.Valid(sc.Bytes()) {
				t.Errorf("%s: no JSON: %s", name, sc.Text())
			}
			lines = append(lines, gjson.Parse(sc.Text()))
		}
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return lines
}

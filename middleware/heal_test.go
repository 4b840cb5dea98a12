package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// anID is an id of ours, wherever it stands.
var anID = regexp.MustCompile(`\b[a-z2-7]{16}\b`)

// healingServer is one whose results are kept for a minute; answers are those of the calls of
// its tools, the last one of all later ones.
func healingServer(t *testing.T, opts Options, answers ...string) (conn client, calls *[]string) {
	t.Helper()
	store, err := cache.New(cache.Options{TTL: time.Minute, MaxEntriesPerAgent: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	f := server(nil, "read", "write")
	f.tools[1].Raw = json.RawMessage(`{"name":"write","inputSchema":{"type":"object"}}`)
	calls = new([]string)
	var mu sync.Mutex
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		*calls = append(*calls, c.Name+string(c.Arguments))
		switch a := answers[min(len(*calls), len(answers))-1]; {
		case a == "down":
			return nil, &upstream.UnavailableError{Server: "s", Err: errors.New("no such file")}
		case strings.HasPrefix(a, "{"):
			return json.RawMessage(a), nil
		default:
			return textResult(a), nil
		}
	}
	opts.Store = store
	opts.Upstreams = append(opts.Upstreams, Upstream{Name: "s", Conn: f, TrustHints: true})
	_, conn = dial(t, opts)
	return conn, calls
}

// cutID calls a tool and returns the id of its result.
func cutID(t *testing.T, conn client, tool, args string) string {
	t.Helper()
	d := decode(t, call(t, conn, tool, args))
	if d.Meta.Result.CacheID == "" {
		t.Fatalf("nothing is kept: %+v", d)
	}
	return string(d.Meta.Result.CacheID)
}

// TestHealing: what the first lines say where the result that is asked for has expired.
func TestHealing(t *testing.T) {
	long, other := records(400), records(401)
	const gone = "expired_cache_id: cache_id ID has expired: it was not read for 1 minute"
	for _, tt := range []struct {
		name    string
		opts    Options
		call    string // what was called, with its arguments
		answers []string
		query   string
		want    string
		calls   int
	}{
		{"filter", Options{}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`, "[cache_id ID had expired: read was called again]\n400", 2},
		{"search", Options{}, `read {"n":1}`, []string{long}, `proxy_search {"cache_id":"ID","pattern":"row 399"}`, "[cache_id ID had expired: read was called again]\n", 2},
		{"explore", Options{}, `read {"n":1}`, []string{long}, `proxy_explore {"cache_id":"ID"}`, "[cache_id ID had expired: read was called again]\n", 2},
		{"without arguments", Options{}, `read`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`, "[cache_id ID had expired: read was called again]\n400", 2},
		{"a page", Options{}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","limit":2,"fields":["id"]}`, "[2 of 400 items · next offset 2]\n[cache_id ID had expired: read was called again]\n", 2},
		{"joined", Options{}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_ids":["ID","ID"],"jq":"map(length)"}`, "[2 results joined]\n[cache_id ID had expired: read was called again]\n[400,400]", 2},
		{"a wrong query", Options{}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":".["}`, "bad_jq: ", 2},
		{"it has changed", Options{}, `read {"n":1}`, []string{long, other}, `proxy_filter {"cache_id":"ID","jq":"length"}`, "[cache_id ID had expired: read was called again · cache_id=ID]\n401", 2},
		{"it is short now", Options{}, `read {"n":1}`, []string{long, "[]"}, `proxy_filter {"cache_id":"ID","jq":"length"}`, "[cache_id ID had expired: read was called again · cache_id=ID]\n0", 2},
		{"a reply of ours", Options{}, `proxy_filter {"tool":"read","arguments":{},"jq":".,."}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`,
			"[cache_id ID had expired: read, then proxy_filter was called again]\n", 2},
		{"a selection that was kept", Options{}, `proxy_filter {"tool":"read","arguments":{},"jq":"map(.id)","limit":2,"keep":true}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`,
			"[cache_id ID had expired: read, then proxy_filter was called again]\n400", 2},
		{"it fails", Options{}, `read {"n":1}`, []string{long, "down"}, `proxy_filter {"cache_id":"ID","jq":"length"}`,
			gone + "; read was called again, and failed: upstream_unavailable: server \"s\" is not available: no such file\nhint: the proxy restarts it; try again", 2},
		{"it gives an error", Options{}, `read {"n":1}`, []string{long, `{"content":[{"type":"text","text":"no\nsuch"}],"isError":true}`}, `proxy_filter {"cache_id":"ID","jq":"length"}`,
			gone + "; read was called again, and failed: no\\nsuch\nhint: call read {\"n\":1} to get it back", 2},
		{"a tool that may act", Options{FreshCalls: FreshAll}, `write {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`,
			gone + "; it was the result of write {\"n\":1}\nhint: its tool is not declared read-only: another call would act again", 1},
		{"no fresh calls", Options{FreshCalls: FreshNone}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`, gone + "\nhint: call read", 1},
		{"switched off", Options{NoHealing: true}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`, gone + "\nhint: call read", 1},
		{"arguments that are not kept", Options{}, `read {"n":"` + strings.Repeat("x", 3000) + `"}`, []string{long}, `proxy_filter {"cache_id":"ID","jq":"length"}`, gone + "\nhint: call read with the same arguments", 1},
		{"an id of nobody", Options{}, `read {"n":1}`, []string{long}, `proxy_filter {"cache_id":"aaaaaaaaaaaaaaaa"}`, "unknown_cache_id: ", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, calls := healingServer(t, tt.opts, tt.answers...)
				tool, args, with := strings.Cut(tt.call, " ")
				var id string
				if with {
					id = cutID(t, conn, tool, args)
				} else {
					id = gjson.Get(ask(t, conn, "tools/call", `{"name":"read"}`), "_meta.rlmproxy/result.cache_id").String()
				}
				time.Sleep(2 * time.Minute)
				tool, args, _ = strings.Cut(strings.ReplaceAll(tt.query, "ID", id), " ")
				got := anID.ReplaceAllString(text(t, conn, tool, args), "ID")
				if !strings.HasPrefix(got, tt.want) {
					t.Errorf("got  %.400s\nwant %s", got, tt.want)
				}
				if len(*calls) != tt.calls || tt.calls == 2 && with && (*calls)[0] != (*calls)[1] {
					t.Errorf("calls %.100q", *calls)
				}
			})
		})
	}
}

// TestHealingIsAskedAnew: a call is not made again by whoever may not make it any more.
func TestHealingIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		f := server(map[string]string{"read": string(textResult(records(400)))}, "read")
		s, conn := dial(t, Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}})
		id := cutID(t, conn, "read", `{}`)
		time.Sleep(2 * time.Minute)
		f.raw = func(context.Context, upstream.Request) (json.RawMessage, error) {
			t.Error("a call is made again")
			return textResult(records(400)), nil
		}
		query := func() {
			t.Helper()
			if got := text(t, conn, "proxy_filter", `{"cache_id":"`+id+`","jq":"length"}`); !strings.HasPrefix(got, "expired_cache_id: ") {
				t.Error(got)
			}
		}
		if err := s.SetUpstreams([]Upstream{{Name: "other", Conn: f, TrustHints: true}}); err != nil { // which has a tool of the name
			t.Fatal(err)
		}
		query()
		if err := s.SetUpstreams([]Upstream{{Name: "s", Conn: f, TrustHints: true}}); err != nil {
			t.Fatal(err)
		}
		s.SetRights(&rights.Rules{Agents: map[string]rights.Entry{}}) // nobody may do anything
		query()
	})
}

// TestHealedBlock: a block of an expired result is read again, under the same URI.
func TestHealedBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, calls := healingServer(t, Options{}, records(400))
		id := cutID(t, conn, "read", `{"n":1}`)
		time.Sleep(2 * time.Minute)
		got := ask(t, conn, "resources/read", `{"uri":"rlmproxy://cache/`+id+`/0"}`)
		if gjson.Get(got, "contents.0.text").String() != records(400) || gjson.Get(got, "_meta.rlmproxy/healed").String() != "cache_id "+id+" had expired: read was called again" {
			t.Errorf("%.300s", got)
		}
		if len(*calls) != 2 {
			t.Error(*calls)
		}
	})
}

// TestHealingIsShared: agents that ask for one result at one time share a call; observers
// hear of it, with the call that it was for.
func TestHealingIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log heard
		conn, calls := healingServer(t, Options{Observers: []observe.Observer{&log}}, records(400))
		id := cutID(t, conn, "read", `{"n":1}`)
		time.Sleep(2 * time.Minute)
		log.take()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got := text(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"length"}`, id)); !strings.HasSuffix(got, "400") {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		if len(*calls) != 2 {
			t.Errorf("calls %q", *calls)
		}
		var made []string
		for _, c := range log.take() {
			if c.For > 0 {
				made = append(made, line(c))
			}
		}
		if diff := cmp.Diff([]string{"tools/call s/read ok fresh keeps in"}, made); diff != "" {
			t.Error(diff)
		}
	})
}

// TestHealingOfHandles: arguments of a call that is made again may be handles of what is gone
// as well, and so on: all that counts as calls of the one request.
func TestHealingOfHandles(t *testing.T) {
	for _, tt := range []struct {
		handles, made int
		want          string
	}{
		{3, 4, "[cache_id ID had expired: read, then read, then read, then read was called again]\n400"},
		{maxHeals, 0, "expired_cache_id: cache_id ID has expired: it was not read for 1 minute; read was called again, and failed: expired_cache_id: arguments.h: cache_id ID has "},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn, calls := healingServer(t, Options{NoDifferences: true}, records(400))
			id := cutID(t, conn, "read", `{}`)
			for range tt.handles {
				id = cutID(t, conn, "read", `{"h":"rlmproxy://cache/`+id+`?jq=length"}`)
			}
			time.Sleep(2 * time.Minute)
			*calls = nil
			got := anID.ReplaceAllString(text(t, conn, "proxy_filter", `{"cache_id":"`+id+`","jq":"length"}`), "ID")
			if !strings.HasPrefix(got, tt.want) || len(*calls) != tt.made {
				t.Errorf("%d handles: %d calls, %.300s", tt.handles, len(*calls), got)
			}
		})
	}
}

// TestHealingHides: a field is hidden while a call of its tool runs. What the call gives is
// not kept for queries: they answer by the new rules, as does what one has begun that runs.
func TestHealingHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{Terms: "none"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		f := server(nil, "read")
		f.call = func(context.Context, toolCall) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return textResult(records(400)), nil
		}
		s, conn := dial(t, Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true, Terms: "none"}}})
		later := make(chan string, 2)
		go func() { later <- cutID(t, conn, "read", `{"n":1}`) }()
		go func() {
			later <- cutID(t, conn, "proxy_filter", `{"tool":"read","arguments":{"n":2},"jq":".,.,."}`)
		}()
		time.Sleep(time.Second / 2)
		store.SetTerms("name")
		if err := s.SetUpstreams([]Upstream{{Name: "s", Conn: f, TrustHints: true, Policy: Policy{Hide: []string{"name"}}, Terms: "name"}}); err != nil {
			t.Fatal(err)
		}
		for range cap(later) {
			d := decode(t, call(t, conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"[..|objects|has(\"name\")]|unique"}`, <-later)))
			if first, text, _ := strings.Cut(d.Content[0].Text, "\n"); !strings.Contains(first, "had expired: read") || text != "[false]" {
				t.Errorf("%s\n%s", first, text)
			}
		}
	})
}

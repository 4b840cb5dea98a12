package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
)

// newDesk returns a desk at store that is closed with the test.
func newDesk(t *testing.T, store *cache.Store) *cache.Desk {
	t.Helper()
	d, err := cache.NewDesk(store, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// look is a Look that answers.
func look(t *testing.T, s *Server, shelf, tool, args string) string {
	t.Helper()
	raw, err := s.Look(t.Context(), shelf, tool, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A called counts calls.
type called struct {
	mu sync.Mutex
	n  int
}

func (c *called) Called(*observe.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// TestLook: the operator reads what the agent would, to the byte, and neither the agent nor
// the cache nor an observer notices.
func TestLook(t *testing.T) {
	store, calls := newStore(t), &called{}
	s, conn := dial(t, Options{
		Store: store, Desk: newDesk(t, store), Observers: []observe.Observer{calls}, Limits: Limits{CallsPerMinute: 20},
		Upstreams: []Upstream{{Name: "s", Conn: server(map[string]string{"rows": string(textResult(records(3000)))}, "rows")}},
	})
	id := decode(t, call(t, conn, "rows", `{}`)).Meta.Result.CacheID
	list, all := store.List(9)
	if all != 1 || list[0].ID != id {
		t.Fatalf("%d %+v", all, list)
	}
	shelf, ends, before := list[0].Shelf, list[0].Ends, store.Stats()
	queries := []string{
		`proxy_explore {"cache_id":%q}`,
		`proxy_filter {"cache_id":%q}`,
		`proxy_filter {"cache_id":%q,"jq":"map(.name)"}`,
		`proxy_filter {"cache_id":%q,"fields":["[].user"],"offset":20}`,
		`proxy_search {"cache_id":%q,"pattern":"row 77"}`,
		`proxy_filter {"cache_id":%q,"jq":".[] |"}`,
		`proxy_filter {"cache_id":%q,"page":2}`,
		`proxy_filter {"cache_id":%q,"jq":"[.[] | {id, name, big}]","whole":true}`,
		`proxy_filter {"cache_id":%q,"jq":"map(.name) | join(\" \")"}`,
	}
	var seen []string
	for range 3 { // more than the agent may call in a minute
		seen = nil
		for _, q := range queries {
			tool, args, _ := strings.Cut(fmt.Sprintf(q, id), " ")
			seen = append(seen, look(t, s, shelf, tool, args))
		}
	}
	if list, _ = store.List(9); len(list) != 1 || !list[0].Ends.Equal(ends) {
		t.Errorf("it was to end %v: %+v", ends, list)
	}
	if after := store.Stats(); after != before {
		t.Errorf("%+v, before %+v", after, before)
	}
	if calls.n != 1 {
		t.Errorf("%d calls observed", calls.n)
	}
	for i, q := range queries {
		tool, args, _ := strings.Cut(fmt.Sprintf(q, id), " ")
		if agent := call(t, conn, tool, args); agent != seen[i] {
			t.Errorf("%s: the agent reads\n%.400s\nand the operator\n%.400s", q, agent, seen[i])
		}
	}
	// What was cut of an answer can be looked at in turn.
	made := decode(t, seen[len(seen)-1]).Meta.Result.CacheID
	if got := look(t, s, shelf, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":".[0:5]"}`, made)); made == id || !strings.Contains(got, "row 0") {
		t.Errorf("%s: %.300s", made, got)
	}
	// To be told of a change, a session must have been shown the result before.
	if again := call(t, conn, "rows", `{}`); !strings.Contains(again, "the same as") {
		t.Errorf("%.300s", again)
	}
}

// TestLookRefuses: what is no query of a cached result is refused, and reaches no server.
func TestLookRefuses(t *testing.T) {
	store := newStore(t)
	f := server(map[string]string{"rows": string(textResult(records(3000)))}, "rows")
	s, conn := dial(t, Options{Store: store, Desk: newDesk(t, store), FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	id := decode(t, call(t, conn, "rows", `{}`)).Meta.Result.CacheID
	list, _ := store.List(1)
	f.call = func(context.Context, toolCall) (json.RawMessage, error) {
		t.Error("a tool is called")
		return textResult(""), nil
	}
	store.Forget("nobody")
	for _, tt := range []struct{ shelf, tool, args, want string }{
		{list[0].Shelf, "rows", `{}`, "unknown_tool"},
		{list[0].Shelf, "", `{}`, "unknown_tool"},
		{list[0].Shelf, "proxy_filter", `{"tool":"rows","arguments":{}}`, "bad_arguments"},
		{list[0].Shelf, "proxy_filter", `{}`, "bad_arguments"},
		{list[0].Shelf, "proxy_filter", `[]`, "bad_arguments"},
		{list[0].Shelf, "proxy_filter", `{"cache_id":"aaaaaaaaaaaaaaaa"}`, "unknown_cache_id"},
		{strings.Repeat("0", 64), "proxy_filter", `{"cache_id":"` + string(id) + `"}`, "unknown_cache_id"},
		{"connection-1", "proxy_filter", `{"cache_id":"` + string(id) + `"}`, "unknown_cache_id"},
	} {
		if got := look(t, s, tt.shelf, tt.tool, tt.args); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	store.SetTerms("others") // what could be fetched again is not
	if got := look(t, s, list[0].Shelf, "proxy_filter", fmt.Sprintf(`{"cache_id":%q}`, id)); !strings.Contains(got, "expired_cache_id") {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Look(ctx, list[0].Shelf, "proxy_filter", json.RawMessage(`{}`)); err != nil {
		t.Errorf("refused before it waits: %v", err)
	}
	var ends []func()
	for range maxLooks {
		end, err := s.looks.Begin(operator)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if got := look(t, s, list[0].Shelf, "proxy_filter", `{}`); !strings.Contains(got, "too_busy") {
		t.Error(got)
	}
	for _, end := range ends {
		end()
	}
	none, _ := dial(t, Options{})
	if _, err := none.Look(t.Context(), list[0].Shelf, "proxy_filter", nil); err == nil {
		t.Error("there is no desk, and it answers")
	}
}

// TestLookHides: what agents do not see of a result the operator does not either.
func TestLookHides(t *testing.T) {
	const secret = "s3cr3t"
	var rows []string
	for i := range 400 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"token":"%s","note":"with %s"}`, i, secret, aPAT))
	}
	store := newStore(t)
	s, conn := dial(t, Options{Store: store, Desk: newDesk(t, store), Upstreams: []Upstream{{
		Name: "s", Conn: server(map[string]string{"rows": string(textResult("[" + strings.Join(rows, ",") + "]"))}, "rows"),
		Policy: Policy{Hide: []string{"token"}}, Redact: RedactOn,
	}}})
	id := decode(t, call(t, conn, "rows", `{}`)).Meta.Result.CacheID
	list, _ := store.List(1)
	for _, q := range []string{
		`proxy_explore {"cache_id":%q}`, `proxy_filter {"cache_id":%q,"jq":".[0]"}`, `proxy_filter {"cache_id":%q,"jq":".. | .token?"}`,
		`proxy_search {"cache_id":%q,"pattern":"s3c"}`, `proxy_search {"cache_id":%q,"pattern":"ghp_"}`, `proxy_filter {"cache_id":%q,"limit":3}`,
	} {
		tool, args, _ := strings.Cut(fmt.Sprintf(q, id), " ")
		got := look(t, s, list[0].Shelf, tool, args)
		if strings.Contains(got, secret) || leaks(got) != "" {
			t.Errorf("%s: %.500s", q, got)
		}
	}
}

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/roster"
)

const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`

// TestAnyReplica: a session that one replica began goes on at each of the others, as the same
// agent, and what it sets at one counts at all.
func TestAnyReplica(t *testing.T) {
	c := gather(t, 3, Options{}, auth.Options{})
	one, two, three := c.replicas[0], c.replicas[1], c.replicas[2]
	id := one.session()
	if code, got := two.status("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id); code != 202 {
		t.Fatalf("initialized on another: %d %s", code, got)
	}
	code, got := two.status("POST", doing(1, "long"), id)
	_, cached, cut := strings.Cut(got, "cache_id=")
	if code != 200 || !cut {
		t.Fatalf("a call on another: %d %s", code, got)
	}
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"proxy_search","arguments":{"cache_id":%q,"pattern":"kept"}}}`, cached[:16])
	for i, r := range c.replicas {
		if code, got := r.status("POST", ask, id); code != 200 || !strings.Contains(got, "what is kept") {
			t.Errorf("what was kept, on %d: %d %s", i+1, code, got)
		}
	}

	listens, hangUp := one.stream(id)
	if code, got := two.status("POST", `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"warning"}}`, id); code != 200 {
		t.Fatalf("setLevel: %d %s", code, got)
	}
	if code, got := three.status("POST", `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file:///ä"}}`, id); code != 200 {
		t.Fatalf("subscribe: %d %s", code, got)
	}
	for _, r := range c.replicas {
		c.until("logging/setLevel warning", func() bool { return r.up.asked.has("logging/setLevel warning") })
		c.until("resources/subscribe file:///ä", func() bool { return r.up.asked.has("resources/subscribe file:///ä") })
	}
	for i, r := range c.replicas {
		tell := func(method, params string) { r.server.Tell(t.Context(), "s", method, json.RawMessage(params)) }
		tell("notifications/message", fmt.Sprintf(`{"level":"info","data":"quiet %d"}`, i))
		tell("notifications/message", fmt.Sprintf(`{"level":"error","data":"loud %d","n":1.0}`, i))
		c.hears(listens, fmt.Sprintf(`"loud %d","n":1.0`, i))
		tell("notifications/resources/updated", `{"uri":"file:///ä"}`)
		c.until("the client hears of the resource", func() bool {
			listens.mu.Lock()
			defer listens.mu.Unlock()
			n := 0
			for _, e := range listens.all {
				if strings.Contains(e, `"notifications/resources/updated","params":{"uri":"file:///ä"}`) {
					n++
				}
			}
			return n == i+1
		})
	}
	if e := listens.find("quiet"); e != "" {
		t.Errorf("the client heard %s", e)
	}
	// A replica that comes late knows it all.
	four := c.add(Options{}, auth.Options{})
	four.status("POST", ping, id)
	c.until("logging/setLevel warning", func() bool { return four.up.asked.has("logging/setLevel warning") })
	c.until("resources/subscribe file:///ä", func() bool { return four.up.asked.has("resources/subscribe file:///ä") })
	if code, got := one.status("POST", `{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"file:///ä"}}`, id); code != 200 {
		t.Fatalf("unsubscribe: %d %s", code, got)
	}
	for _, r := range c.replicas {
		c.until("resources/unsubscribe file:///ä", func() bool { return r.up.asked.has("resources/unsubscribe file:///ä") })
	}
	// What is told while nobody listens waits for the client, wherever it comes next.
	hangUp()
	c.until("one knows that the client has gone", func() bool { return !one.h.shared.of(roster.KeyOf(id)).streams.listening.reachable() })
	for i, r := range c.replicas {
		r.server.Tell(t.Context(), "s", "notifications/message", json.RawMessage(fmt.Sprintf(`{"level":"error","data":"before %d"}`, i)))
	}
	next, _ := two.stream(id)
	for i := range c.replicas {
		c.hears(next, fmt.Sprintf(`"before %d"`, i))
	}
	three.server.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"error","data":"after"}`))
	c.hears(next, `"after"`)
	// Servers behind all replicas hear that the client's roots have changed.
	for range len(one.up.told) {
		<-one.up.told
	}
	three.status("POST", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, id)
	for _, r := range c.replicas {
		c.has(r.up.told, "notifications/roots/list_changed")
	}
}

// TestAcross: what a client says about a request reaches the replica that works on it, or has
// asked it.
func TestAcross(t *testing.T) {
	c := gather(t, 3, Options{}, auth.Options{})
	one, two, three := c.replicas[0], c.replicas[1], c.replicas[2]
	id := one.session()
	call := func(r *replica, body string) *heard {
		out := new(heard)
		go func() {
			out.read(r.do("POST", body, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25").Body)
		}()
		return out
	}
	// Cancelled at three, where it does not run.
	out := call(one, doing(7, "wait"))
	c.has(one.calls, "wait7")
	if code, got := three.status("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, id); code != 202 {
		t.Fatalf("cancelled: %d %s", code, got)
	}
	c.until("the end of a cancelled call", func() bool { out.mu.Lock(); defer out.mu.Unlock(); return out.ended })
	if e := out.find(`"id":7`); e != "" {
		t.Errorf("a cancelled call was answered: %s", e)
	}
	// Asked by one, answered to two, in the bytes that the client wrote.
	other := one.session()
	asked := func(out *heard, on *replica) string {
		t.Helper()
		e := c.hears(out, "sampling/createMessage")
		_, data, _ := strings.Cut(e, " ")
		question := gjson.Get(data, "id").String()
		if !strings.HasPrefix(question, "rlm-"+on.store.Replica()+"-") || !strings.Contains(data, "90071992547409") {
			t.Fatalf("the question: %s", e)
		}
		return question
	}
	out = call(one, doing(8, "ask"))
	question := asked(out, one)
	answer := `{"jsonrpc":"2.0","id":"` + question + `","result":{"content":[{"type":"text","text":"é 1"}], "big" : 9007199254740993}}`
	// Another session must not answer it, wherever it comes.
	for _, r := range c.replicas {
		forged := strings.Replace(answer, "é 1", "forged", 1)
		if code, _ := r.status("POST", forged, other); code != 202 {
			t.Errorf("an answer of another session: %d", code)
		}
	}
	two.status("POST", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"`+question+`","progress":1}}`, id)
	c.has(one.up.told, "notifications/progress")
	if code, got := two.status("POST", answer, id); code != 202 {
		t.Fatalf("an answer to another replica: %d %s", code, got)
	}
	if e := c.hears(out, `"id":8`); !strings.Contains(e, `\"text\":\"é 1\"}], \"big\" : 9007199254740993`) {
		t.Errorf("answered %s", e)
	}
	// One that is too long fails the question, and says why.
	out = call(one, doing(9, "ask"))
	question = asked(out, one)
	code, got := three.status("POST", `{"jsonrpc":"2.0","id":"`+question+`","result":{"x":"`+strings.Repeat("x", maxPassed)+`"}}`, id)
	if code != 202 {
		t.Fatalf("a long answer: %d %s", code, got)
	}
	if e := c.hears(out, `"id":9`); !strings.Contains(e, "replicas of the proxy tell each other") {
		t.Errorf("answered %s", e)
	}
	// A question that is about no call goes to the stream that is open, at another replica.
	listens, _ := three.stream(id)
	c.until("two knows where the client listens", func() bool {
		s := two.h.shared.of(roster.KeyOf(id))
		return s != nil && s.sharing.listensAt() == three.store.Replica()
	})
	two.status("DELETE", "", other) // or nobody could tell whose question it is
	c.until("the other session has ended", func() bool { return len(one.h.places.all()) == 1 })
	answers := make(chan string, 1)
	go func() {
		raw, err := two.server.Ask(context.Background(), "s", "elicitation/create", json.RawMessage(`{"message":"?"}`))
		answers <- fmt.Sprint(string(raw), err)
	}()
	_, data, _ := strings.Cut(c.hears(listens, "elicitation/create"), " ")
	one.status("POST", `{"jsonrpc":"2.0","id":"`+gjson.Get(data, "id").String()+`","result":{"action":"accept"}}`, id)
	if got := <-answers; got != `{"action":"accept"}<nil>` {
		t.Errorf("two's question: %s", got)
	}
}

// TestEnds: what ends a session for all, and what does not.
func TestEnds(t *testing.T) {
	c := gather(t, 3, Options{}, auth.Options{})
	one, two, three := c.replicas[0], c.replicas[1], c.replicas[2]
	begin := func() (id, cached string) {
		t.Helper()
		id = one.session()
		two.status("POST", ping, id)
		_, got := three.status("POST", doing(1, "long"), id)
		_, cached, _ = strings.Cut(got, "cache_id=")
		return id, cached[:16]
	}
	kept := func(r *replica, id, cached string) bool {
		t.Helper()
		code, got := r.status("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"proxy_search","arguments":{"cache_id":%q,"pattern":"kept"}}}`, cached), id)
		return code == 200 && strings.Contains(got, "what is kept")
	}
	id, cached := begin()
	// Idle at one replica.
	s := one.h.shared.of(roster.KeyOf(id))
	c.until("the session rests", func() bool {
		one.h.places.mu.Lock()
		defer one.h.places.mu.Unlock()
		s.since = time.Now().Add(-time.Hour)
		return s.active == 0
	})
	one.h.places.expire(s)
	if one.h.places.has(id) || !two.h.places.has(id) || !kept(two, id, cached) || !kept(one, id, cached) {
		t.Error("a session that is idle at one replica has ended")
	}
	// Its place is needed.
	small := c.add(Options{MaxSessions: 1}, auth.Options{})
	small.status("POST", ping, id)
	rests := small.h.places.all()[0]
	c.until("the session rests", func() bool {
		small.h.places.mu.Lock()
		defer small.h.places.mu.Unlock()
		rests.since = time.Now().Add(-2 * restTime)
		return rests.active == 0
	})
	if other := small.session(); small.h.places.has(id) || !kept(two, id, cached) {
		t.Error("a session has ended with its place")
	} else if code, got := small.status("POST", ping, id); code != 503 || !strings.Contains(got, "too many sessions") {
		t.Errorf("without a place for it: %d %s", code, got)
	} else if code, _ := two.status("DELETE", "", other); code != 204 {
		t.Errorf("DELETE: %d", code)
	}
	// Shut down.
	three.stop()
	if !kept(two, id, cached) || !kept(one, id, cached) {
		t.Error("a session has ended with a replica")
	}
	// Deleted.
	if code, got := two.status("DELETE", "", id); code != 204 {
		t.Fatalf("DELETE: %d %s", code, got)
	}
	c.until("it has ended at one", func() bool { return !one.h.places.has(id) })
	for _, r := range []*replica{one, two} {
		if code, got := r.status("POST", ping, id); code != 404 || !strings.Contains(got, "initialize") {
			t.Errorf("after DELETE: %d %s", code, got)
		}
	}
	if n := c.cache.Stats().Entries; n != 0 {
		t.Errorf("%d results are kept of a session that has ended", n)
	}
}

// TestForeignSessions: who may take a session over.
func TestForeignSessions(t *testing.T) {
	const a, b = "0123456789abcdef-alice", "0123456789abcdef-bob"
	c := gather(t, 2, Options{}, auth.Options{Tokens: []auth.Token{{Agent: "alice", Secret: a}, {Agent: "bob", Secret: b}}})
	one, two := c.replicas[0], c.replicas[1]
	alice, bob := []string{"Authorization", "Bearer " + a}, []string{"Authorization", "Bearer " + b}
	id := one.session(alice...)
	if code, got := two.status("POST", ping, id, bob...); code != 403 || len(two.h.places.all()) != 0 {
		t.Errorf("another's session: %d %s", code, got)
	}
	if code, _ := two.status("DELETE", "", id, bob...); code != 403 {
		t.Errorf("another's session is ended: %d", code)
	}
	if code, got := two.status("POST", ping, id, alice...); code != 200 {
		t.Errorf("her own: %d %s", code, got)
	}
	ops := two.store.Figures().Ops
	for _, forged := range []string{"x", strings.Repeat("A", 65), "../" + id, strings.ToLower(id), id + "A", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		if code, got := two.status("POST", ping, forged, alice...); code != 404 {
			t.Errorf("%s: %d %s", forged, code, got)
		}
	}
	if n := two.store.Figures().Ops - ops; n > 6 { // two, and what the replica says of itself
		t.Errorf("the store was asked %d times for forged ids", n)
	}
	// A record of another format is not ours.
	other := "BBBBBBBBBBBBBBBBBBBBBBBBBB"
	key := two.store.Key("session2", string(roster.KeyOf(other)))
	fields := map[string]string{"subject": "token:alice", "handshake": "{}", "more": "1"}
	if err := c.redis.Client.HSet(t.Context(), key, fields).Err(); err != nil {
		t.Fatal(err)
	}
	if code, _ := two.status("DELETE", "", other, alice...); code != 404 {
		t.Errorf("a session of another format: %d", code)
	}
	if got := c.redis.Client.HGetAll(t.Context(), key).Val(); !maps.Equal(got, fields) {
		t.Errorf("its record is now %v", got)
	}
	// One that nobody can read is none.
	bad := two.store.Key("session1", string(roster.KeyOf(other)))
	for _, handshake := range []string{"", "7", "{", `{"a":` + strings.Repeat("[", 100_000), `{"capabilities":[1]}`} {
		c.redis.Client.HSet(t.Context(), bad, "subject", "token:alice", "handshake", handshake, "level", "\x00", "watch:\xff", "1", "listener", "?")
		code, got := two.status("POST", doing(1, ""), other, alice...)
		if want := map[bool]int{true: 200, false: 404}[json.Valid([]byte(handshake)) && strings.HasPrefix(handshake, "{")]; code != want {
			t.Errorf("a handshake %.20q: %d %s", handshake, code, got)
		}
	}
	// What is in the store shows neither ids nor tokens.
	for _, key := range c.redis.Client.Keys(t.Context(), "*").Val() {
		all := key
		if c.redis.Client.Type(t.Context(), key).Val() == "hash" {
			all += fmt.Sprint(c.redis.Client.HGetAll(t.Context(), key).Val())
		}
		if strings.Contains(all, id) || strings.Contains(all, a) {
			t.Errorf("the store has a secret: %s", key)
		}
	}
}

// TestRevokedElsewhere: a session ends for all with the last token that was shown for it,
// wherever that was.
func TestRevokedElsewhere(t *testing.T) {
	tokens := []auth.Token{{Agent: "alice", Secret: oldToken}, {Agent: "alice", Secret: newToken}}
	c := gather(t, 2, Options{}, auth.Options{Tokens: tokens})
	one, two := c.replicas[0], c.replicas[1]
	by := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	first, both := one.session(by(oldToken)...), one.session(by(oldToken)...)
	two.status("POST", ping, first, by(oldToken)...)
	two.status("POST", ping, both, by(newToken)...)
	for _, r := range c.replicas {
		if _, err := r.h.opts.Guard.SetTokens(tokens[1:]); err != nil {
			t.Fatal(err)
		}
	}
	c.until("the old token's sessions end", func() bool { return len(one.h.places.all()) == 0 && len(two.h.places.all()) == 1 })
	for _, r := range c.replicas {
		if code, got := r.status("POST", ping, first, by(newToken)...); code != 404 {
			t.Errorf("the old token's: %d %s", code, got)
		}
		if code, got := r.status("POST", ping, both, by(newToken)...); code != 200 {
			t.Errorf("that of both: %d %s", code, got)
		}
	}
}

// TestStoreAway: without the store sessions go on where they are known, and nobody is told
// that one has ended. It is all right again when the store is back, its data lost.
func TestStoreAway(t *testing.T) {
	c := gather(t, 2, Options{}, auth.Options{})
	one, two := c.replicas[0], c.replicas[1]
	before, gone := one.session(), one.session()
	one.status("POST", `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}`, before)
	two.status("POST", ping, gone)
	c.redis.Kill()
	if code, got := one.status("POST", doing(1, ""), before); code != 200 {
		t.Errorf("a session that is known: %d %s", code, got)
	}
	resp := two.do("POST", ping, "Mcp-Session-Id", before)
	if got := body(t, resp); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "5" || !strings.Contains(got, "the shared store is away") || !gjson.Get(got, "error.code").Exists() {
		t.Errorf("one that is not: %s %s", resp.Status, got)
	}
	// An error would end the session of some clients that come back to listen.
	resp = two.do("GET", "", "Mcp-Session-Id", before, "Last-Event-ID", one.store.Replica()+"-1-0_4")
	if got := body(t, resp); resp.StatusCode != 200 || !strings.Contains(got, "retry: 5000\n") || !strings.Contains(got, "id: "+one.store.Replica()+"-1-0_4_1\n") {
		t.Errorf("one that listens: %s %q", resp.Status, got)
	}
	during := one.session()
	if code, got := one.status("POST", doing(2, ""), during); code != 200 {
		t.Errorf("a session that begins: %d %s", code, got)
	}
	if code, _ := one.status("DELETE", "", gone); code != 204 {
		t.Errorf("one that ends: %d", code)
	}
	c.redis.Restart()
	for name, id := range map[string]string{"known": before, "begun meanwhile": during} {
		c.until("two has the session: "+name, func() bool { code, _ := two.status("POST", ping, id); return code == 200 })
	}
	c.until("logging/setLevel error", func() bool { return two.up.asked.has("logging/setLevel error") })
	c.until("two knows which has ended", func() bool { code, _ := two.status("POST", ping, gone); return code == 404 })
}

// TestNoOps: a request of a session that is known costs the store nothing.
func TestNoOps(t *testing.T) {
	c := gather(t, 2, Options{}, auth.Options{})
	ids := make([]string, 2)
	for i := range ids {
		ids[i] = c.replicas[0].session()
		for _, r := range c.replicas {
			r.status("POST", ping, ids[i])
		}
	}
	const each = 100
	before := c.replicas[0].store.Figures().Ops + c.replicas[1].store.Figures().Ops
	for range each {
		for _, id := range ids {
			for _, r := range c.replicas {
				if code, got := r.status("POST", doing(1, ""), id); code != 200 {
					t.Fatal(code, got)
				}
				<-r.calls
			}
		}
	}
	asked := c.replicas[0].store.Figures().Ops + c.replicas[1].store.Figures().Ops - before
	t.Logf("%d operations for %d requests", asked, each*4)
	if asked > 20 { // what replicas say of themselves every two seconds
		t.Errorf("the store was asked %d times for %d requests", asked, each*4)
	}
}

// TestAtOnce: of many requests that come at once to a replica one takes the session over; a
// DELETE meanwhile ends it everywhere.
func TestAtOnce(t *testing.T) {
	c := gather(t, 3, Options{}, auth.Options{})
	attached := func() (n int) {
		for _, r := range c.replicas {
			r.h.shared.mu.Lock()
			n += r.h.shared.number
			r.h.shared.mu.Unlock()
		}
		return n
	}
	id := c.replicas[0].session()
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			if code, got := c.replicas[i%3].status("POST", doing(i, ""), id); code != 200 {
				t.Errorf("%d: %d %s", i, code, got)
			}
		})
	}
	wg.Wait()
	if n := attached(); n != 3 {
		t.Errorf("it was attached %d times", n)
	}
	for range 20 {
		id := c.replicas[0].session()
		for i := range 12 {
			wg.Go(func() {
				r, method, body := c.replicas[i%3], "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
				if i == 6 {
					method, body = "DELETE", ""
				}
				if code, got := r.status(method, body, id); code != 200 && code != 204 && code != 404 && code != 503 {
					t.Errorf("%s: %d %s", method, code, got)
				}
			})
		}
		wg.Wait()
		for _, r := range c.replicas {
			c.until("it has ended", func() bool { code, _ := r.status("POST", ping, id); return code == 404 })
		}
	}
}

// TestForgedTelling: whoever can write to the store may tell replicas anything.
func TestForgedTelling(t *testing.T) {
	c := gather(t, 2, Options{}, auth.Options{})
	one, two := c.replicas[0], c.replicas[1]
	id := one.session()
	two.status("POST", ping, id)
	key := roster.KeyOf(id)
	bodies := []any{nil, 1, "x", []int{1}, map[string]any{}, map[string]any{"kind": 1}, map[string]any{"session": strings.Repeat("x", 1<<20), "kind": "ended"}}
	for _, kind := range []toldKind{toldHeard, toldChanged, toldListens, toldTold, "other"} {
		for _, m := range []string{"", "{", "[]", "7", `{}`, `{"id":1}`, `{"method":""}`, `{"id":{},"method":"x"}`, `{"id":null,"result":1}`, `{"method":"notifications/cancelled","params":7}`,
			`{"method":"notifications/progress","params":{"progressToken":[]}}`, `{"method":"tools/call","id":1,"params":{"name":"t"}}`, `{"id":"rlm-1","error":7}`} {
			bodies = append(bodies, told{Kind: kind, Session: key, Message: []byte(m), Gone: m})
		}
	}
	for _, b := range bodies {
		if err := one.store.Tell(t.Context(), two.store.Replica(), busKind, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range c.replicas {
		if code, got := r.status("POST", doing(1, ""), id); code != 200 {
			t.Errorf("after that: %d %s", code, got)
		}
	}
	if len(two.calls) > 1 {
		t.Error("a request that was told was made")
	}
}

// TestBackOften: a store that comes and goes does not have more and more wait to look again.
func TestBackOften(t *testing.T) {
	c := gather(t, 1, Options{}, auth.Options{})
	before := runtime.NumGoroutine()
	for range 100 {
		c.replicas[0].h.shared.back()
	}
	if n := runtime.NumGoroutine() - before; n > 10 {
		t.Errorf("%d goroutines more", n)
	}
}

// TestPeersOfMachines: programs of one name are one agent at replicas on one machine, and not
// those of two persons on two.
func TestPeersOfMachines(t *testing.T) {
	c := gather(t, 3, Options{}, auth.Options{})
	c.replicas[2].h.machine = "another"
	var peers []string
	for _, r := range c.replicas {
		req := httptest.NewRequest("POST", "/mcp", nil)
		req.RemoteAddr = "127.0.0.1:4000"
		peers = append(peers, r.h.identity(req, json.RawMessage(`{"`+metaClient+`":{"name":"editor"}}`)).Peer)
	}
	if peers[0] != peers[1] || peers[0] == peers[2] {
		t.Error(peers)
	}
}

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/roster"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// A logging server says that it logs, and notes what it is asked.
type logging struct {
	*fake
	info  *upstream.Info
	asked notes // method, and level or URI
}

// notes are what there was, in no order.
type notes struct {
	mu  sync.Mutex
	all map[string]int
}

func (n *notes) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]int{}
	}
	n.all[what]++
}

func (n *notes) has(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[what] > 0
}

func (l *logging) Info() *upstream.Info { return l.info }

func (l *logging) Call(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	if r.Method != "tools/call" {
		l.asked.add(r.Method + " " + gjson.GetBytes(r.Params, "level").String() + gjson.GetBytes(r.Params, "uri").String())
		return json.RawMessage("{}"), nil
	}
	return l.fake.Call(ctx, r)
}

// A replica is a site that shares its sessions.
type replica struct {
	*site
	store *fleet.Store
	up    *logging
	calls chan string // the tool's mark argument, when it is called; none is waited for
}

// A crowd is several replicas with one store and one cache.
type crowd struct {
	t        testing.TB
	redis    *fleettest.Server
	cache    *cache.Store
	replicas []*replica
	next     atomic.Int64
}

// gather starts n replicas. The tool t of their servers answers by its argument "do": see act.
func gather(t testing.TB, n int, opts Options, who auth.Options) *crowd {
	t.Helper()
	c := &crowd{t: t, redis: fleettest.Start(t)}
	store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	c.cache = store
	for range n {
		c.add(opts, who)
	}
	return c
}

func (c *crowd) add(opts Options, who auth.Options) *replica {
	t := c.t
	t.Helper()
	shared, err := fleet.Open(fleet.Options{URL: c.redis.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{store: shared, calls: make(chan string, 100)}
	r.up = &logging{
		fake: withT(r.act),
		info: &upstream.Info{Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{Subscribe: true},
			Logging: &mcp.LoggingCapabilities{}, //nolint:staticcheck // clients still use it
		}},
	}
	r.up.told = make(chan string, 1000)
	server, err := middleware.New(middleware.Options{
		Store: c.cache, MaxTokens: 200, SearchTimeout: time.Minute,
		Upstreams: []middleware.Upstream{{Name: "s", Conn: r.up}},
	})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.New(who)
	if err != nil {
		t.Fatal(err)
	}
	opts.Guard, opts.Attach, opts.InputSchema, opts.Accounts = guard, attach(server), server.InputSchema, server.Accounts()
	opts.Fleet = shared
	opts.Resume = func(t rpc.Transport, who middleware.Identity, o rpc.Options, past middleware.Past) Session {
		return server.Resume(t, who, o, past)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.site = &site{t: t, url: "http://" + l.Addr().String() + "/mcp", server: server, h: New(opts)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.h.Serve(ctx, l) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Close()
		shared.Close()
		if n := server.Accounts().Held(); n != 0 {
			t.Errorf("%d bytes are counted for clients that have gone", n)
		}
	})
	t.Cleanup(r.stop)
	c.replicas = append(c.replicas, r)
	c.until("they hear each other", func() bool {
		names, err := r.store.Replicas(t.Context())
		n, _ := c.redis.Client.PubSubNumSub(t.Context(), r.store.Key("to", r.store.Replica())).Result()
		return err == nil && len(names) >= len(c.replicas) && n[r.store.Key("to", r.store.Replica())] == 1
	})
	return r
}

// act is the tool of the server behind a replica. It does what its argument says.
func (r *replica) act(ctx context.Context, q upstream.Request) (json.RawMessage, error) {
	r.calls <- gjson.GetBytes(q.Params, "arguments.mark").String()
	switch gjson.GetBytes(q.Params, "arguments.do").String() {
	case "long":
		return long("what is kept"), nil
	case "wait":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "ask":
		raw, err := r.server.Ask(ctx, "s", "sampling/createMessage", json.RawMessage(`{"messages":[],"maxTokens":90071992547409,"_meta":{"progressToken":"mine"}}`))
		return text(string(raw)), err
	}
	return text("ok"), nil
}

func (c *crowd) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("not within 20 seconds: " + what)
		}
	}
}

// has waits until a message of that kind has come to a channel, and drops others.
func (c *crowd) has(from chan string, want string) {
	c.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case got := <-from:
			if got == want {
				return
			}
		case <-late:
			c.t.Fatalf("no %q within 20 seconds", want)
		}
	}
}

// stream opens a stream on which a session listens, and returns what comes on it, and what
// ends it.
func (r *replica) stream(id string, header ...string) (*heard, func() error) {
	r.t.Helper()
	resp := r.do("GET", "", append(header, "Mcp-Session-Id", id)...)
	if resp.StatusCode != 200 {
		r.t.Fatalf("GET: %s", resp.Status)
	}
	out := new(heard)
	go out.read(resp.Body)
	return out, resp.Body.Close
}

// A heard is the events of a stream, each as its id, a blank and its data.
type heard struct {
	mu    sync.Mutex
	all   []string
	ended bool
}

// read reads events until the stream ends.
func (h *heard) read(body io.Reader) {
	id, data, line := "", "", []byte{}
	buf := make([]byte, 1)
	for {
		if n, err := body.Read(buf); n == 0 && err != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended = true
			return
		}
		if buf[0] != '\n' {
			line = append(line, buf[0])
			continue
		}
		key, value, _ := strings.Cut(string(line), ": ")
		switch {
		case len(line) == 0 && id+data != "":
			h.mu.Lock()
			h.all = append(h.all, id+" "+data)
			h.mu.Unlock()
			id, data = "", ""
		case key == "id":
			id = value
		case key == "data":
			data = value
		}
		line = line[:0]
	}
}

// find returns the first event with this in it, or "".
func (h *heard) find(part string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.all {
		if strings.Contains(e, part) {
			return e
		}
	}
	return ""
}

// hears waits for an event with this in it, which it returns.
func (c *crowd) hears(stream *heard, part string) (e string) {
	c.t.Helper()
	c.until("an event with "+part, func() bool { e = stream.find(part); return e != "" })
	return e
}

func doing(id int, what string) string {
	return callT(id, `{"region":null,"do":"`+what+`","mark":"`+what+strconv.Itoa(id)+`"}`)
}

// status sends a request of a session and returns how it was answered, in short.
func (r *replica) status(method, body, id string, header ...string) (int, string) {
	r.t.Helper()
	resp := r.do(method, body, append(header, "Mcp-Session-Id", id)...)
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(text)
}

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
	s := one.h.places.use(id, "")
	one.h.places.release(s)
	one.h.places.mu.Lock()
	s.since = time.Now().Add(-time.Hour)
	one.h.places.mu.Unlock()
	one.h.places.expire(s)
	if one.h.places.has(id) || !two.h.places.has(id) || !kept(two, id, cached) || !kept(one, id, cached) {
		t.Error("a session that is idle at one replica has ended")
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
				r.status("POST", doing(1, ""), id)
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

// TestResumeElsewhere: a client that was cut off from its answer finds it, or hears that it
// is lost, by what all SDKs understand.
func TestResumeElsewhere(t *testing.T) {
	c := gather(t, 2, Options{ResumeTime: 2 * time.Second}, auth.Options{})
	one, two := c.replicas[0], c.replicas[1]
	id := one.session()
	resp := one.do("POST", doing(41, "wait"), "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	first, _, _ := strings.Cut(events(t, resp.Body, 1)[0], " ")
	c.has(one.calls, "wait41")
	get := func(r *replica, last string) (int, string, string) {
		t.Helper()
		resp := r.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", last)
		text := body(t, resp)
		event := ""
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, "id: "); ok {
				event = strings.TrimSpace(value)
			}
		}
		return resp.StatusCode, event, text
	}
	code, again, text := get(two, first)
	if code != 200 || again == first || !strings.Contains(text, "retry: 100\ndata: \n\n") || strings.Contains(text, "error") {
		t.Fatalf("while the replica is there: %d %q", code, text)
	}
	// It takes up where it was, by the id that two has given.
	resp.Body.Close()
	at := one.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", again)
	one.status("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":41}}`, id)
	if b := body(t, at); at.StatusCode != 200 || strings.Contains(b, "error") {
		t.Errorf("at the replica: %s %q", at.Status, b)
	}
	// To listen is to begin anew.
	listens, _ := two.stream(id, "Last-Event-ID", one.store.Replica()+"-1-0_17")
	two.server.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"error","data":"here"}`))
	c.hears(listens, `"here"`)
	// The client is not sent back for ever.
	event := again
	for n := 0; ; n++ {
		if code, event, text = get(two, event); strings.Contains(text, `"id":41,"error":{`) {
			break
		}
		if code != 200 || n > 30 {
			t.Fatalf("try %d: %d %q", n, code, text)
		}
	}
	if code, _, text := get(two, event); code != 204 {
		t.Errorf("after the last word: %d %q", code, text)
	}
	// The replica is lost.
	one.stop()
	if code, _, text := get(two, first); code != 200 || !strings.Contains(text, `"id":41,"error":{"code":`) || !strings.Contains(text, "may have been done") {
		t.Errorf("after it has gone: %d %q", code, text)
	}
	for _, odd := range []string{"x", "_", "a-b-c_1", "a-1-1-zz_1", "a-1-1-5b_1", "a-1-1-7b7d_1", "0-0-1_1_1", strings.Repeat("9", 600) + "-1-1_1", "a-1-1-5b315d_1_99999999999999999999"} {
		if code, _, text := get2(t, two, id, odd); code >= 500 {
			t.Errorf("%q: %d %q", odd, code, text)
		}
	}
}

// get2 asks for a stream by an odd id, and does not wait for one that listens.
func get2(t *testing.T, r *replica, id, last string) (int, string, string) {
	resp := r.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", last)
	defer resp.Body.Close()
	return resp.StatusCode, "", ""
}

// front is a balancer that takes one replica after the other, and cuts every third stream of
// events after its first event.
func (c *crowd) front(cuts bool) *http.Client {
	var n atomic.Int64
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		to := c.replicas[int(c.next.Add(1))%len(c.replicas)]
		r.URL.Host = strings.TrimSuffix(strings.TrimPrefix(to.url, "http://"), "/mcp")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && cuts && r.Method == http.MethodPost && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && n.Add(1)%3 == 1 {
			resp.Body = &cutBody{ReadCloser: resp.Body}
		}
		return resp, err
	})}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A cutBody breaks after the first event.
type cutBody struct {
	io.ReadCloser
	read string
}

func (b *cutBody) Read(p []byte) (int, error) {
	if strings.Contains(b.read, "data: \n\n") {
		b.ReadCloser.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:1])
	b.read += string(p[:n])
	return n, err
}

// TestSDK: the SDK's client finds nothing odd in a balancer that takes one replica after the
// other and cuts streams.
func TestSDK(t *testing.T) {
	c := gather(t, 3, Options{ResumeTime: 10 * time.Second}, auth.Options{})
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				CreateMessageHandler: func(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					// The stream of the call is cut meanwhile.
					timer := time.NewTimer(3 * primeTime)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
					}
					return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "asked"}, Model: "m", Role: "assistant"}, nil
				},
			})
			transport := &mcp.StreamableClientTransport{Endpoint: c.replicas[0].url, HTTPClient: c.front(version == "2025-11-25")}
			s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i := range 12 {
				do := []string{"", "ask", "long"}[i%3]
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"region": nil, "do": do}})
				cancel()
				if err != nil {
					t.Fatalf("call %d (%s): %v", i, do, err)
				}
				if b, _ := json.Marshal(result); do == "ask" && !strings.Contains(string(b), "asked") {
					t.Errorf("call %d: %s", i, b)
				}
			}
			if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "error"}); err != nil {
				t.Error(err)
			}
			if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"}); err != nil {
				t.Error(err)
			}
		})
	}
	if all := slices.Concat(c.replicas[0].h.places.all(), c.replicas[1].h.places.all(), c.replicas[2].h.places.all()); len(all) > 0 {
		c.until("closed sessions end everywhere", func() bool {
			n := 0
			for _, r := range c.replicas {
				n += len(r.h.places.all())
			}
			return n == 0
		})
	}
}

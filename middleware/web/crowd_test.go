//lint:file-ignore SA1019 clients and servers of the older revisions still use sampling and logging

package web

import (
	"context"
	"encoding/json"
	"io"
	"net"
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
			Logging: &mcp.LoggingCapabilities{},
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

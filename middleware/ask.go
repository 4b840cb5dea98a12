//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/wire"
)

// running is a request of a client that a server works on.
type running struct {
	up     *Upstream
	client *client
	ctx    context.Context // ends with the request
	timer  *callTimer
	held   *held // nil for clients that can be asked meanwhile
	number int   // in the order of their beginning
}

type runningKey struct{}

// begin notes that up works on a request of c. What the server asks meanwhile
// goes to c, if its transport tells which request that is for by ctx, or if
// nobody else's is running there.
func (s *Server) begin(ctx context.Context, up *Upstream, c *client, timer *callTimer, h *held) (context.Context, func()) {
	r := &running{up: up, client: c, timer: timer, held: h}
	ctx = context.WithValue(ctx, runningKey{}, r)
	r.ctx = ctx
	s.mu.Lock()
	s.begunCalls++
	r.number = s.begunCalls
	s.running[r] = struct{}{}
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		delete(s.running, r)
		s.mu.Unlock()
	}
}

// askedBy finds whose request made the server ask or tell something: the one of
// ctx, else that of the only client with requests running there, else the only
// client there is. The requests that wait meanwhile come with it. It is nil if
// there could be two: what is one client's must not reach another. Only clients of
// agent count, if that is not "".
func (s *Server) askedBy(ctx context.Context, up *Upstream, agent string) (*client, []*running) {
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		return r.client, []*running{r}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *client
	var waiting []*running
	for r := range s.running {
		if r.up.Name != up.Name || agent != "" && r.client.agent != agent {
			continue
		}
		if found != nil && found != r.client && (r.held == nil || found.agent != r.client.agent) {
			return nil, nil
		}
		found = r.client
		waiting = append(waiting, r)
	}
	// Each request of a stateless client comes by a connection of its own. Of
	// those of one agent, the newest is the likeliest to have made the server ask.
	slices.SortFunc(waiting, func(a, b *running) int { return cmp.Compare(b.number, a.number) })
	if len(waiting) > 0 {
		found = waiting[0].client
	}
	if found == nil {
		found = s.onlyClient(agent)
	}
	return found, waiting
}

// onlyClient is the only client of an agent or, if that is "", the only one there
// is; nil if there are more. s.mu must be held.
func (s *Server) onlyClient(agent string) (only *client) {
	for _, c := range s.clients {
		switch {
		case agent != "" && c.agent != agent:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

func (s *Server) upstream(name string) *Upstream {
	for i := range s.opts.Upstreams {
		if s.opts.Upstreams[i].Name == name {
			return &s.opts.Upstreams[i]
		}
	}
	return nil
}

// Ask passes on what a server asks of its client: sampling, elicitation, roots.
// The server is one of Options.Upstreams. Requests that wait for the answer do
// not run out of time meanwhile.
func (s *Server) Ask(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	up := s.upstream(server)
	if up == nil {
		return nil, fmt.Errorf("no server %q", server)
	}
	if up.PerAgent != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "there is no client here: each agent has a connection of its own"}
	}
	return s.ask(ctx, up, "", method, params)
}

// ask is Ask by the connection of one agent or, if that is "", of all.
func (s *Server) ask(ctx context.Context, up *Upstream, agent, method string, params json.RawMessage) (json.RawMessage, error) {
	c, waiting := s.askedBy(ctx, up, agent)
	if c == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
			Message: "the proxy cannot tell which of its clients this is for: several have requests running"}
	}
	able := c.can(method)
	if len(waiting) > 0 && waiting[0].held != nil {
		able = waiting[0].held.current().able(method)
	}
	if !able {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("the client does not support %s", clipped(method))}
	}
	params, err := s.hide(ctx, params, up.hidesAll())
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithCancel(about(ctx, waiting))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for _, r := range waiting {
		defer r.timer.pause()()
	}
	if len(waiting) == 1 || len(waiting) > 0 && waiting[0].held != nil {
		defer context.AfterFunc(waiting[0].ctx, cancel)()
	}
	if token := progressToken(params); token != nil {
		key := askedToken{c, string(token)}
		s.mu.Lock()
		s.progress[key] = up
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.progress, key)
			s.mu.Unlock()
		}()
	}
	if len(waiting) > 0 && waiting[0].held != nil {
		return waiting[0].held.ask(asking, method, params)
	}
	return c.ask(asking, method, params)
}

// about is a context that says which of a client's requests a message to it is
// about, one of those that wait, and that nothing but its user ends. A hold is
// for the answer to the request alone.
func about(ctx context.Context, waiting []*running) context.Context {
	if len(waiting) > 0 {
		ctx = waiting[0].ctx
	}
	return wire.WithHold(context.WithoutCancel(ctx), nil)
}

// askedToken is a progress token of a server in a request to a client.
type askedToken struct {
	client *client
	token  string
}

func progressToken(params json.RawMessage) (token json.RawMessage) {
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	_ = wire.Members(params, func(key string, value json.RawMessage) error {
		if key == "_meta" && value[0] == '{' {
			return wire.Members(value, func(key string, value json.RawMessage) error {
				if key == "progressToken" {
					token = value
				}
				return nil
			})
		}
		return nil
	})
	return token
}

// can reports whether the client has declared that it answers requests of this
// method.
func (c *client) can(method string) bool {
	params := c.session.InitializeParams()
	if params == nil || params.Capabilities == nil {
		return false
	}
	switch method {
	case "sampling/createMessage":
		return params.Capabilities.Sampling != nil
	case "elicitation/create":
		return params.Capabilities.Elicitation != nil
	case "roots/list":
		return params.Capabilities.RootsV2 != nil || params.Capabilities.Roots.ListChanged
	}
	return true // it may know what we do not
}

// able is can for a client that says so with each request.
func (r *request) able(method string) bool {
	capability, _, _ := strings.Cut(method, "/")
	return gjson.GetBytes(r.can, capability).Exists()
}

// ask sends a request to the client, on the stream of the request that ctx is of.
func (c *client) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if c.link == nil {
		return nil, wire.ErrClosed
	}
	return c.link.Call(ctx, method, params)
}

// Tell passes on what a server tells its client. Server is one of
// Options.Upstreams. It does not block.
func (s *Server) Tell(server, method string, params json.RawMessage) {
	up := s.upstream(server)
	if up == nil || up.PerAgent != nil { // no request was made there
		return
	}
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed":
		return // the upstream reads its lists again, then tells of it
	case "notifications/resources/list_changed":
		s.changed(resourcesChanged)
		return
	case "notifications/resources/updated":
		params = append(json.RawMessage(nil), params...)
		go s.updated(up, "", params)
		return
	}
	s.tell(up, "", method, params)
}

// tell passes on what is about requests that run: by the connection of one agent
// or, if that is "", of all.
func (s *Server) tell(up *Upstream, agent, method string, params json.RawMessage) {
	c, waiting := s.askedBy(context.Background(), up, agent)
	if c == nil {
		s.logger.Debug("a notification that could be for several clients", "server", up.Name, "method", method)
		return
	}
	if c.link != nil && (method != "notifications/message" || s.wants(c, params)) {
		c.link.TryNotify(about(context.Background(), waiting), method, params)
	}
}

// A callTimer ends a request that takes too long. Progress gives it all its time
// anew, up to maxCallTime, and it stands still while a person is asked.
type callTimer struct {
	limit time.Duration
	end   context.CancelCauseFunc
	cause error

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	last   time.Time // after which progress counts no more
	paused int
}

// maxCallTime bounds a request whose server goes on to report progress.
const maxCallTime = 24 * time.Hour

func newCallTimer(limit time.Duration, end context.CancelCauseFunc) *callTimer {
	t := &callTimer{limit: limit, end: end, cause: fmt.Errorf("%w after %v", errTimeout, limit), last: time.Now().Add(maxCallTime)}
	t.timer = time.AfterFunc(limit, t.expired)
	return t
}

func (t *callTimer) expired() {
	t.mu.Lock()
	paused := t.paused > 0
	t.mu.Unlock()
	if !paused {
		t.end(t.cause)
	}
}

// again begins anew.
func (t *callTimer) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused == 0 && time.Now().Before(t.last) {
		t.timer.Reset(t.limit)
	}
}

// pause stops the time until the function that it returns is called.
func (t *callTimer) pause() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused++
	t.timer.Stop()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 {
			t.timer.Reset(t.limit)
		}
	}
}

func (t *callTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.paused++ // for good
}

//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

func (s *Server) upstream(name string) *Upstream {
	for i := range s.opts.Upstreams {
		if s.opts.Upstreams[i].Name == name {
			return &s.opts.Upstreams[i]
		}
	}
	return nil
}

// survive keeps a fault of ours from ending the proxy where others call us; err,
// if not nil, is the error of what it cost.
func (s *Server) survive(err *error) {
	if v := recover(); v != nil {
		s.logger.Error("internal error", "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		if err != nil {
			*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeInternal + ": the proxy's log has it in full"}
		}
	}
}

// Ask passes on what a server asks of its client: sampling, elicitation, roots.
// The server is one of Options.Upstreams. Requests that wait for the answer do
// not run out of time meanwhile.
func (s *Server) Ask(ctx context.Context, server, method string, params json.RawMessage) (answer json.RawMessage, err error) {
	defer s.survive(&err)
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
	to := s.askedBy(ctx, up, agent)
	c, waiting := to.client, to.waiting
	if c == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: to.why}
	}
	if to.request != nil && !declares(to.request.can, method) || to.request == nil && !c.can(method) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("the client does not support %s", clipped(method))}
	}
	params, err := s.hide(ctx, params, up.hidesAll())
	if err != nil {
		return nil, err
	}
	if len(waiting) == 0 {
		if err := c.opening.wait(ctx); err != nil {
			return nil, err
		}
	}
	asking, cancel := context.WithCancel(to.about(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for _, r := range waiting {
		defer r.timer.pause()()
	}
	if len(waiting) == 1 || len(waiting) > 0 && waiting[0].held != nil {
		defer context.AfterFunc(waiting[0].ctx, cancel)()
	}
	if len(waiting) > 0 && waiting[0].held != nil {
		return waiting[0].held.ask(asking, method, params)
	}
	params, done, err := s.track(c, up, params)
	defer done()
	if err != nil {
		return nil, err
	}
	return c.ask(asking, method, params)
}

func progressToken(params json.RawMessage) (token json.RawMessage) {
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	_ = jsonscan.Members(params, func(key string, value json.RawMessage) error {
		if key == "_meta" && value[0] == '{' {
			return jsonscan.Members(value, func(key string, value json.RawMessage) error {
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

// says is what the client has declared that it can do, an object.
func (c *client) says() json.RawMessage {
	if can := c.stated.Load(); can != nil {
		return *can
	}
	can := json.RawMessage("{}")
	if c.link == nil || len(c.link.Handshake()) == 0 {
		return can
	}
	_ = jsonscan.Members(c.link.Handshake(), func(key string, value json.RawMessage) error {
		if key == "capabilities" && value[0] == '{' {
			can = value
		}
		return nil
	})
	return can
}

// states takes note of what a client of the newest revision says in a request.
func (c *client) states(can json.RawMessage) {
	if len(can) == 0 || can[0] != '{' {
		can = json.RawMessage("{}")
	}
	if last := c.stated.Load(); last == nil || !bytes.Equal(*last, can) {
		can = bytes.Clone(can)
		c.stated.Store(&can)
	}
}

// can reports whether the client answers requests of this method. It may know some
// that we do not.
func (c *client) can(method string) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return declares(c.says(), method)
	}
	return true
}

// declares reports whether one who can do this answers requests of this method.
func declares(can json.RawMessage, method string) bool {
	capability, _, _ := strings.Cut(method, "/")
	found := false
	if len(can) > 0 && can[0] == '{' {
		_ = jsonscan.Members(can, func(key string, value json.RawMessage) error {
			if key == capability {
				found = value[0] != 'n'
			}
			return nil
		})
	}
	return found
}

// ask sends a request to the client, on the stream of the request that ctx is of.
func (c *client) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if c.link == nil {
		return nil, wire.ErrClosed
	}
	return c.link.Call(ctx, method, params)
}

// Tell passes on what a server tells its client. Server is one of
// Options.Upstreams. It does not block and does not keep params.
func (s *Server) Tell(ctx context.Context, server, method string, params json.RawMessage) {
	defer s.survive(nil)
	up := s.upstream(server)
	if up == nil || up.PerAgent != nil { // no request was made there
		return
	}
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed":
		return // the upstream reads its lists again, then tells of it
	case "notifications/resources/list_changed":
		s.toClients[up.Name].add("resources", 0, func(context.Context) { s.changed(resourcesChanged) })
		return
	case "notifications/resources/updated":
		s.tellUpdated(up, "", s.toClients[up.Name], params)
		return
	}
	s.tell(ctx, up, "", s.toClients[up.Name], method, params)
}

// tellUpdated passes on that a resource has changed, by the connection of one
// agent or, if that is "", of all. It does not keep params.
func (s *Server) tellUpdated(up *Upstream, agent string, q *queue, params json.RawMessage) {
	uri := stringOf(params, "uri")
	s.mu.Lock()
	watches := s.watched[watched{place{up, uri}, agent}] > 0
	s.mu.Unlock()
	if watches {
		q.add("updated "+uri, len(uri), func(context.Context) { s.updated(up, agent, uri) })
	}
}

// tell passes on what is about requests that run, likewise.
func (s *Server) tell(ctx context.Context, up *Upstream, agent string, q *queue, method string, params json.RawMessage) {
	to := s.toldBy(ctx, up, agent)
	switch {
	case to.client == nil:
		s.logger.Debug("a notification that could be for several clients", "server", up.Name, "method", method)
	case to.client.link == nil || method == "notifications/message" && !s.wants(to, params):
	case !up.hides() && len(to.waiting) > 0:
		to.client.link.TryNotify(to.about(context.Background()), method, params)
	case !up.hides():
		params = append(json.RawMessage(nil), params...)
		to.client.opening.do(len(params), func() {
			to.client.link.TryNotify(to.about(context.Background()), method, params)
		})
	default:
		params = append(json.RawMessage(nil), params...)
		q.add("", len(params), func(ctx context.Context) {
			kept, err := s.hideTold(ctx, params, up.hidesAll())
			if err != nil {
				s.logger.Debug("notification not sent", "server", up.Name, "method", method, "error", err)
				return
			}
			to.client.opening.do(len(kept), func() {
				to.client.link.TryNotify(to.about(context.Background()), method, kept)
			})
		})
	}
}

// A callTimer ends a request that takes too long. Progress gives it all its time
// anew and it stands still while a person is asked, both up to maxCallTime.
type callTimer struct {
	limit time.Duration
	end   context.CancelCauseFunc
	cause error

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	last   time.Time // after which neither progress nor a question counts
	paused int
}

// maxCallTime bounds a request whose server goes on to report progress, or to wait
// for an answer.
const maxCallTime = 24 * time.Hour

func newCallTimer(limit time.Duration, end context.CancelCauseFunc) *callTimer {
	t := &callTimer{limit: limit, end: end, cause: fmt.Errorf("%w after %v", errTimeout, limit), last: time.Now().Add(maxCallTime)}
	t.timer = time.AfterFunc(limit, t.expired)
	return t
}

func (t *callTimer) expired() {
	t.mu.Lock()
	stands := t.paused > 0 && time.Now().Before(t.last)
	t.mu.Unlock()
	if !stands {
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
	if t.paused == 0 { // nor stopped
		t.timer.Reset(time.Until(t.last))
	}
	t.paused++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 {
			t.timer.Reset(max(0, min(t.limit, time.Until(t.last))))
		}
	}
}

func (t *callTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.paused++ // for good
}

//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

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
// if not nil, is the error of what it cost. The log has it with about.
func (s *Server) survive(err *error, about ...any) {
	if v := recover(); v != nil {
		s.logger.Error("internal error", append(about, "error", panicked(v))...)
		if err != nil {
			*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeInternal + ": the proxy's log has it in full"}
		}
	}
}

// panicked is what recover has returned, with the stack.
func panicked(v any) error { return fmt.Errorf("panic: %v\n%s", v, debug.Stack()) }

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
	if err := c.opening.wait(ctx); err != nil {
		return nil, err
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

func progressToken(params json.RawMessage) json.RawMessage {
	return jsonscan.Member(jsonscan.Member(params, "_meta"), "progressToken")
}

// says is what the client has declared that it can do, an object.
func (c *client) says() json.RawMessage {
	if can := c.stated.Load(); can != nil {
		return *can
	}
	if c.link != nil {
		if can := jsonscan.Member(c.link.Handshake(), "capabilities"); len(can) > 0 && can[0] == '{' {
			return can
		}
	}
	return json.RawMessage("{}")
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
	value := jsonscan.Member(can, capability)
	return value != nil && value[0] != 'n'
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
		to.notify(method, append(json.RawMessage(nil), params...))
	default:
		params = append(json.RawMessage(nil), params...)
		q.add("", len(params), func(ctx context.Context) {
			kept, err := s.hideTold(ctx, params, up.hidesAll())
			if err != nil {
				s.logger.Debug("notification not sent", "server", up.Name, "method", method, "error", err)
				return
			}
			to.notify(method, kept)
		})
	}
}

// notify tells the client, when it has come. It keeps params.
func (to recipient) notify(method string, params json.RawMessage) {
	to.client.opening.do(len(params), func() {
		to.client.link.TryNotify(to.about(context.Background()), method, params)
	})
}

package middleware

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
)

// A conn is what a request of a client goes to: a [Caller] or an [Own].
type conn interface {
	Info() *upstream.Info
	Call(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
}

// An Agent is whom a connection of its own serves. What the server asks and tells
// there goes through it, and reaches no other agent.
type Agent struct {
	// Number counts connections, for the log. Who the agent is may be a secret.
	Number int

	server *Server
	up     *Upstream
	name   string
	can    json.RawMessage
	newest bool

	toClients, toServer *queue // what each is told

	level toldLevel // guarded by Server.mu
}

// An agentConn is a connection and whom it serves.
type agentConn struct {
	Own
	agent *Agent
}

// Close implements [Own].
func (a agentConn) Close() {
	a.Own.Close()
	closeQueues(atOnce(), map[string]*queue{"clients": a.agent.toClients, "server": a.agent.toServer})
}

// connTo returns what a request of c to up goes to, and what is to be called when
// it has been answered. It starts a process for c's agent if need be.
func (s *Server) connTo(ctx context.Context, up *Upstream, c *client) (conn, func(), error) {
	if up.PerAgent == nil {
		return up.Conn, func() {}, nil
	}
	o, err := s.isolation.take(ctx, up, c, func(number int) Own {
		log := s.logger.With("server", up.Name, "connection", number)
		a := &Agent{Number: number, server: s, up: s.upstream(up.Name), name: c.agent, can: c.says(), newest: c.stated.Load() != nil, toClients: newQueue(log), toServer: newQueue(log)}
		if !c.ends {
			a.can = json.RawMessage(AnyClient)
		}
		return agentConn{up.PerAgent(a), a}
	})
	if err != nil {
		return nil, nil, err
	}
	return o.conn, func() { s.isolation.done(o) }, nil
}

// connOf is connTo for what is worth no process: it is nil if there is none.
func (s *Server) connOf(up *Upstream, agent string) conn {
	if up.PerAgent == nil {
		return up.Conn
	}
	if o := s.isolation.find(up.Name, agent); o != nil {
		return o
	}
	return nil
}

// ownerOf is the agent whose connection to up counts for c, "" if all have one.
func ownerOf(up *Upstream, c *client) string {
	if up.PerAgent == nil || c == nil {
		return ""
	}
	return c.agent
}

// AnyClient is all that a client may be able to do: what a server is told that
// more than one may use. Servers hear it once. One that asks a client which cannot
// is told so.
const AnyClient = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// Capabilities is what the client can do whose request made the connection. An
// agent that may come back, or have several clients, can do [AnyClient]: the next
// one may do more than this.
func (a *Agent) Capabilities(context.Context) json.RawMessage { return a.can }

// Newest reports whether that client speaks the newest revision.
func (a *Agent) Newest() bool { return a.newest }

// Ask passes on what the server asks of its client, as [Server.Ask] does.
func (a *Agent) Ask(ctx context.Context, method string, params json.RawMessage) (answer json.RawMessage, err error) {
	defer a.server.survive(&err)
	return a.server.ask(ctx, a.up, a.name, method, params)
}

// Tell passes on what the server tells its client, as [Server.Tell] does. Changes
// of its tools and prompts are dropped: what clients list is what the server
// offers at first, so they would read the same again.
func (a *Agent) Tell(ctx context.Context, method string, params json.RawMessage) {
	defer a.server.survive(nil)
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed":
	case "notifications/resources/list_changed":
		a.toClients.add("resources", 0, func(context.Context) { a.resourcesChanged() })
	case "notifications/resources/updated":
		a.server.tellUpdated(a.up, a.name, a.toClients, params)
	default:
		a.server.tell(ctx, a.up, a.name, a.toClients, method, params)
	}
}

// Connected brings a server that has started to where its agent's clients think
// it is: what they subscribed to, and the log messages that they want.
func (a *Agent) Connected() {
	a.toServer.add("watch", 0, func(ctx context.Context) { a.server.watchAgain(ctx, a.up, a.name) })
	a.server.tellLevel(a.up, a.name)
}

// clients are those of the agent that are here.
func (a *Agent) clients() []*client {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	var all []*client
	for _, c := range a.server.clients {
		if c.agent == a.name {
			all = append(all, c)
		}
	}
	return all
}

// resourcesChanged tells the agent's clients. The SDK can only tell all, and
// others would list what they have anew.
func (a *Agent) resourcesChanged() {
	const method = "notifications/resources/list_changed"
	for _, c := range a.clients() {
		a.server.mu.Lock()
		listens := c.listens
		a.server.mu.Unlock()
		switch params := c.session.InitializeParams(); {
		case c.link == nil || params == nil:
		case listens != nil:
			meta := jsonscan.Object(mcp.MetaKeySubscriptionID, listens)
			c.link.TryNotify(context.Background(), method, jsonscan.Object("_meta", meta))
		case params.ProtocolVersion < upstream.NewestVersion: // hears without having listened
			c.link.TryNotify(context.Background(), method, nil)
		}
	}
}

// onlyFor is a mark in the _meta of a notification that goes through the SDK:
// the agent for whose clients it is. It is taken off before it is sent.
const onlyFor = "rlmproxy/only-for"

// sends stands behind what the SDK sends of itself.
func (s *Server) sends(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		switch p := req.GetParams().(type) {
		case *mcp.ToolListChangedParams, *mcp.PromptListChangedParams, *mcp.ResourceListChangedParams:
			if s.clientOf(session).opening.holds() {
				return nil, nil // it has not listed anything yet
			}
		case *mcp.SubscriptionsAcknowledgedParams:
			s.listens(s.clientOf(session), p)
		case *mcp.ResourceUpdatedNotificationParams:
			agent, marked := p.Meta[onlyFor]
			if !marked {
				break
			}
			if s.clientOf(session).agent != agent {
				return nil, nil
			}
			kept := *p
			kept.Meta = maps.Clone(p.Meta)
			delete(kept.Meta, onlyFor)
			req = &mcp.ServerRequest[*mcp.ResourceUpdatedNotificationParams]{Session: session, Params: &kept}
		}
		return next(ctx, method, req)
	}
}

// listens notes that a client has a stream on which it hears when resources
// change.
func (s *Server) listens(c *client, p *mcp.SubscriptionsAcknowledgedParams) {
	id, err := json.Marshal(p.Meta[mcp.MetaKeySubscriptionID])
	if err != nil || !p.Notifications.ResourcesListChanged {
		return
	}
	s.mu.Lock()
	c.listens = id
	s.mu.Unlock()
}

package relay

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/queue"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// A Connection is one connection to a server: that of all agents, or of one. What the
// server asks and tells there goes through Ask and Tell.
type Connection struct {
	Conn
	server *Server
	agent  string // whose it is; "" if all use it
	log    *slog.Logger

	number       int             // of one agent's, for the log
	capabilities json.RawMessage // that one agent's server is told
	stateless    bool            // its client speaks the stateless revision

	toClients, toServer *queue.Queue // what each is told
	early               early        // that clients are told later

	turns *guard.Turns // of calls

	mu      sync.Mutex // guards the fields below
	running map[*running]struct{}
	begun   int // how many requests there ever were
	users   users
	party   string // that used it first
	several bool   // others have, too
	level   toldLevel
}

func newConnection(v *Server, agent string, log *slog.Logger) *Connection {
	return &Connection{
		server: v, agent: agent, log: log,
		toClients: queue.New(log), toServer: queue.New(log),
		turns:   guard.NewTurns(0),
		running: map[*running]struct{}{},
	}
}

// close ends what is told by the connection, and returns when nothing of it runs.
func (c *Connection) close() {
	c.toServer.Cancel()
	c.toClients.Cancel()
}

// Number counts the connections of single agents, for the log. Who the agent is may be a
// secret.
func (c *Connection) Number() int { return c.number }

// Capabilities is what the client of a single agent's connection can do whose request
// made it. An agent that may come back, or have several clients, can do [AnyClient]: the
// next one may do more than this.
func (c *Connection) Capabilities(context.Context) json.RawMessage { return c.capabilities }

// Stateless reports whether that client speaks the stateless revision.
func (c *Connection) Stateless() bool { return c.stateless }

// Connected brings a server that has started to where its clients think it is: what they
// subscribed to, and the log messages that they want.
func (c *Connection) Connected() {
	c.toServer.Add("watch", 0, func(ctx context.Context) { c.subscribeAgain(ctx) })
	c.tellLevel()
}

// bounded sends a request of no client's within the usual time.
func (c *Connection) bounded(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.relay.opts.CallTimeout)
	defer cancel()
	return c.Call(ctx, r)
}

// A running request is one of a client that the server works on.
type running struct {
	client   *session.Session
	ctx      context.Context // ends with the request
	timer    *callTimer
	turn     *guard.Turn     // rests while a client is asked
	deferred deferredRequest // nil for clients that can be asked meanwhile
	number   int             // in the order of their beginning
}

// A deferredRequest goes on while its client looks for answers. [deferred.Request] is
// one.
type deferredRequest interface {
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	Current() *session.Request
}

type runningKey struct{}

// begin waits for a turn and notes that the server works on a request. What it asks and
// tells by the ctx that is returned is about that request.
func (c *Connection) begin(ctx context.Context, s *session.Session, timer *callTimer, d deferredRequest) (context.Context, func(), error) {
	c.use(s)
	turn, err := c.turns.Take(ctx, s.Party)
	if err != nil {
		return nil, nil, err
	}
	r := &running{client: s, timer: timer, turn: turn, deferred: d}
	ctx = context.WithValue(ctx, runningKey{}, r)
	r.ctx = ctx
	c.mu.Lock()
	c.begun++
	r.number = c.begun
	c.running[r] = struct{}{}
	c.mu.Unlock()
	return ctx, func() {
		c.use(s) // the server may have been started again meanwhile
		c.mu.Lock()
		delete(c.running, r)
		c.mu.Unlock()
		turn.End()
	}, nil
}

// Running is how many requests of clients the server works on.
func (c *Connection) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running)
}

// users are the parties that have used a server since it started.
type users struct {
	life    *upstream.Info // what it said of itself when it did
	party   string
	several bool
}

// callsOfOne is how many calls of one party a server works on that several use. Most
// servers do one thing after another: more would only have others wait for them.
const callsOfOne = 8

// use notes that a client uses the server.
func (c *Connection) use(s *session.Session) {
	life := c.Info()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.party == "" {
		c.party = s.Party
	}
	c.several = c.several || c.party != s.Party
	switch {
	case c.users.party == "" || c.users.life != life:
		c.users = users{life: life, party: s.Party}
		c.turns.PerAgent(0)
	case c.users.party != s.Party && !c.users.several:
		c.users.several = true
		c.turns.PerAgent(callsOfOne)
	}
}

// Package relay stands between clients and the connections to servers.
//
//	session.Request ─► Server.Send ─► a Connection ─► the server ─► its raw result
//	what a server asks and tells ─► Connection.Ask, Tell ─► the client that it is for
//
// A server asks and tells by a connection that several clients may share. To whom a
// message goes is decided in one place, recipient.go: to the client whose request made
// the server send it, and to nobody where that cannot be told.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware/deferred"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/handle"
	"rlmproxy/middleware/isolation"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// ErrTimeout is in the cause of a request's end that took too long.
var ErrTimeout = errors.New("timeout")

// ErrRetired is in the error of a request that comes to a server after [Relay.Retire].
var ErrRetired = errors.New("the configuration has changed")

// A Conn is a connection to a server. [upstream.Upstream] is one. The errors of Call are
// those of package upstream.
type Conn interface {
	Info() *upstream.Info
	Call(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
}

// A Hider takes out of what servers send what their operator never shows. Nothing that
// it fails on is shown.
type Hider interface {
	// Result returns a result, or the params of a request, without that.
	Result(ctx context.Context, raw json.RawMessage) (json.RawMessage, error)
	// Notification returns the params of a notification without that.
	Notification(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	// Error returns a server's own error without that; others are as they are.
	Error(ctx context.Context, err error) error
}

// Options configures a [Relay]. Clients, Accounts and Logger are required.
type Options struct {
	Clients *session.Registry
	// Accounts count what is held for clients: subscriptions, deferred requests.
	Accounts *guard.Accounts
	// MaxSubscriptions is how many resources one party may subscribe to. Zero means any
	// number.
	MaxSubscriptions int
	// CallTimeout bounds a request where its own policy does not.
	CallTimeout time.Duration
	// AgentIdle is after how long without a client of its agent a connection of one
	// agent ends. Zero means 30 minutes.
	AgentIdle time.Duration
	// ResourcesChanged is called when a server says that its resources have changed, for
	// clients of one agent or, if that is "", for all.
	ResourcesChanged func(server, agent string)
	// Fleet is what replicas share. Nil: there is one.
	Fleet *fleet.Store
	// MaySee reports whether a client may hear of a server. Nil: all may.
	MaySee func(s *session.Session, server string) bool
	Logger *slog.Logger
}

// A Relay has what all servers share.
type Relay struct {
	opts     Options
	log      *slog.Logger
	deferred *deferred.List
	pool     *isolation.Pool[agentConnection]
	watches  watches
	handles  handle.Table
	givers   *handle.Givers // nil: there is one replica
	cursors  cursors

	mu      sync.Mutex      // guards the fields below
	servers []*Server       // without those that were retired
	ids     map[string]bool // that servers were ever given
}

// New returns a relay. Close ends it.
func New(opts Options) *Relay {
	return &Relay{
		opts:     opts,
		log:      opts.Logger,
		deferred: deferred.NewList(opts.Accounts, opts.Fleet),
		givers:   handle.NewGivers(opts.Fleet),
		cursors:  newCursors(opts.Fleet),
		ids:      map[string]bool{},
		pool:     isolation.New[agentConnection](opts.AgentIdle, opts.Logger),
		watches:  watches{accounts: opts.Accounts, count: guard.NewCalls("subscriptions", opts.MaxSubscriptions, 0), open: map[watched]map[*subscription]bool{}, clients: map[*session.Session]map[named]*subscription{}},
	}
}

// Close ends the connections of single agents, and what is told by all, and returns when
// nothing of it runs.
func (r *Relay) Close() {
	r.pool.Close()
	for _, v := range r.all() {
		v.shared.close()
	}
}

// all are the servers that were not retired.
func (r *Relay) all() []*Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.servers)
}

// Arrive notes a client that may send requests.
func (r *Relay) Arrive(s *session.Session) { r.pool.Arrive(s.Agent) }

// Leave ends what a client has begun that does not outlast it. It returns when that has
// ended, or ctx has. Connections of an agent that ends with it begin to end.
func (r *Relay) Leave(ctx context.Context, s *session.Session) {
	r.pool.Leave(s.Agent, s.Ends)
	r.unsubscribeAll(ctx, s)
	if s.Level() != "" {
		r.tellLevels(s)
	}
	if s.PartyEnds {
		r.handles.Forget(s.Party)
	}
	if s.Ends {
		r.deferred.Forget(ctx, s.Agent)
	}
}

// maySee reports whether a client may hear of a server.
func (r *Relay) maySee(s *session.Session, server string) bool {
	return r.opts.MaySee == nil || r.opts.MaySee(s, server)
}

// EndProcesses has the connections end that are an agent's own.
func (r *Relay) EndProcesses(agent, why string) { r.pool.EndAll(agent, why) }

// Deferred has the requests whose clients look for answers.
func (r *Relay) Deferred() *deferred.List { return r.deferred }

// A Server is a server and its connections.
type Server struct {
	relay  *Relay
	name   string
	id     string // the name, unless a server that was retired had it
	shared *Connection
	// start, if set, begins a connection for one agent. Agents' requests go there, and
	// none to shared.
	start  func(c *Connection) OwnConn
	policy atomic.Pointer[policy]
	remote atomic.Bool // other replicas have connections to the same server

	mu       sync.Mutex    // guards the fields below
	requests int           // that have taken a connection
	retired  chan struct{} // nil: it is not; closed when requests is zero
}

// A policy is what can change of a server while it runs.
type policy struct {
	hide Hider // of what the server tells and asks
	most int   // connections of single agents at one time
}

// An OwnConn is a connection to a server that serves one agent.
type OwnConn interface {
	Conn
	// Close returns when nothing of it is left. What runs ends with an error.
	Close()
}

// NewServer adds a server whose connection for all agents is conn. Start may be nil.
func (r *Relay) NewServer(name string, conn Conn, hide Hider, start func(c *Connection) OwnConn, most int) *Server {
	v := &Server{relay: r, name: name, id: name, start: start}
	v.SetPolicy(hide, most)
	v.shared = newConnection(v, "", r.log.With("server", name))
	v.shared.Conn = conn
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 2; r.ids[v.id]; n++ { // what the one before has handed out is not this one's
		v.id = fmt.Sprintf("%s@%d", name, n)
	}
	r.ids[v.id] = true
	r.servers = append(r.servers, v)
	return v
}

// SetPolicy changes what is hidden of what the server tells and asks, and how many agents
// may have a connection of their own.
func (v *Server) SetPolicy(hide Hider, most int) { v.policy.Store(&policy{hide, most}) }

// SetRemote says that the server runs elsewhere: what it has handed out by the connection of
// one replica can be asked for by that of another.
func (v *Server) SetRemote(remote bool) { v.remote.Store(remote) }

func (v *Server) hide() Hider { return v.policy.Load().hide }

// Retire takes a server out: requests that come now fail with [ErrRetired]. Those that run
// end first, then the connections of single agents; it returns when nothing of them is left,
// or at once when ctx ends.
func (r *Relay) Retire(ctx context.Context, v *Server) {
	r.mu.Lock()
	r.servers = slices.DeleteFunc(r.servers, func(other *Server) bool { return other == v })
	r.mu.Unlock()
	v.mu.Lock()
	v.retired = make(chan struct{})
	if v.requests == 0 {
		close(v.retired)
	}
	v.mu.Unlock()
	select {
	case <-v.retired:
	case <-ctx.Done():
	}
	r.pool.EndServer(v.id, ErrRetired.Error())
	v.shared.close()
}

// enter counts a request, until leave, unless the server is retired.
func (v *Server) enter() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.retired != nil {
		return &upstream.UnavailableError{Server: v.name, Err: ErrRetired}
	}
	v.requests++
	return nil
}

func (v *Server) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.requests--; v.requests == 0 && v.retired != nil {
		close(v.retired)
	}
}

// Shared is the server's connection for all agents.
func (v *Server) Shared() *Connection { return v.shared }

// PerAgent reports whether each agent has a connection of its own.
func (v *Server) PerAgent() bool { return v.start != nil }

// agentConnection is a [Connection] as the pool closes it.
type agentConnection struct{ *Connection }

// Close ends the connection and what is told by it.
func (c agentConnection) Close() {
	c.Conn.(OwnConn).Close()
	c.close()
}

// take returns the connection that a request of s goes to, which it starts if need be,
// and what is to be called when the request has been answered.
func (v *Server) take(ctx context.Context, s *session.Session) (*Connection, func(), error) {
	if err := v.enter(); err != nil {
		return nil, nil, err
	}
	if v.start == nil {
		return v.shared, v.leave, nil
	}
	lease, err := v.relay.pool.Take(ctx, v.id, s.Agent, v.policy.Load().most, func(number int) agentConnection {
		c := newConnection(v, s.Agent, v.relay.log.With("server", v.name, "connection", number))
		c.number, c.stateless, c.capabilities = number, s.IsStateless(), s.Capabilities()
		if !s.Ends {
			c.capabilities = json.RawMessage(AnyClient)
		}
		c.Conn = v.start(c)
		return agentConnection{c}
	})
	if err != nil {
		v.leave()
		if ctx.Err() == nil {
			err = &upstream.UnavailableError{Server: v.name, Err: err}
		}
		return nil, nil, err
	}
	return lease.Conn.Connection, func() {
		v.relay.pool.Done(lease)
		v.leave()
	}, nil
}

// existing returns the connection that requests of an agent go to, or nil; it never
// starts one.
func (v *Server) existing(agent string) *Connection {
	if v.start == nil {
		return v.shared
	}
	c, _ := v.relay.pool.Find(v.id, agent)
	return c.Connection
}

// owner is the agent whose connection counts for s, "" if all have one.
func (v *Server) owner(s *session.Session) string {
	if v.start == nil {
		return ""
	}
	return s.Agent
}

// AnyClient is all that a client may be able to do: what a server is told that more
// than one may use. Servers hear it once. One that asks a client which cannot is told
// so.
const AnyClient = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`

package middleware

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// A Link is the connection of one client. What the proxy itself sends to the
// client goes out on it undecoded, beside what the SDK sends.
//
// Where a connection is many streams, Origin of ctx says which request a message
// is about.
type Link interface {
	mcp.Transport
	// Call asks the client. An error that it answers is a *jsonrpc.Error.
	Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify tells the client; params may be nil.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// TryNotify is Notify that does not block, and loses what it would have to
	// wait for. It does not keep params.
	TryNotify(ctx context.Context, method string, params json.RawMessage)
	// Handshake returns the params of the client's initialize as they came, nil
	// before.
	Handshake() json.RawMessage
	// Splices is for the results that go out on it.
	Splices() *wire.Splices
}

type originKey struct{}

// Origin is what the link called the request that ctx is of: the origin of
// [wire.Forward].
func Origin(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

// A client is one connection and the agent behind it.
type client struct {
	agent   string
	ends    bool // the agent ends with the connection
	party   string
	session *mcp.ServerSession
	link    Link // nil in tests
	opening *opening
	// stated is what a client of the newest revision said last that it can do.
	stated atomic.Pointer[json.RawMessage]

	// Guarded by Server.mu:
	watching map[watched]bool
	uris     map[string]bool   // that it has subscribed to, or is about to, as it spells them
	queues   map[string]*queue // of what it tells, by server
	gone     bool              // it tells no more
	level    string            // of the log messages that it wants, or ""
	named    string            // the least severe that its requests named, or ""
	listens  json.RawMessage   // id of the stream on which it hears of resources, or nil

	here bool // guarded by isolation.mu: it may send requests
}

// A Session is a client that a transport serves.
type Session struct {
	server *Server
	client *client
}

// Attach begins the session of a client, which may send requests at once. The
// caller ends it.
func (s *Server) Attach(ctx context.Context, link Link, who Identity) (*Session, error) {
	// A request may be read before Connect returns; it waits for its client.
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.mcp.Connect(ctx, link, nil)
	if err != nil {
		return nil, err
	}
	s.serial++
	c := &client{session: session, link: link, opening: newOpening()}
	c.agent, c.ends = s.agentOf(who, s.serial)
	c.party, _ = partyOf(who, s.serial)
	s.clients[session] = c
	s.isolation.arrive(c)
	return &Session{s, c}, nil
}

// Initialized reports whether the client has shaken hands.
func (x *Session) Initialized() bool { return x.client.session.InitializeParams() != nil }

// Notification passes on what the client tells its server, and reports whether it
// was not for the SDK. It does not block and does not keep params.
func (x *Session) Notification(method string, params json.RawMessage) bool {
	return x.server.notification(x.client, method, params)
}

// Wait returns when the link has ended and nothing of the client's runs.
func (x *Session) Wait() { _ = x.client.session.Wait() }

// End returns when what the client asked has ended, and forgets the client: its
// subscriptions, and its results unless the agent may come back. The link is to
// be closed first: that cancels what runs.
func (x *Session) End() {
	x.client.session.Close()
	x.Wait()
	x.server.forget(x.client)
}

// streams is the link over a pair of streams.
type streams struct{ *wire.Conn }

// TryNotify implements [Link]. There is one stream for all requests.
func (l streams) TryNotify(_ context.Context, method string, params json.RawMessage) {
	l.Conn.TryNotify(method, params)
}

// Serve answers one client over a pair of streams, until the client ends them
// or ctx ends. It closes both.
func (s *Server) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	var c *client
	attached := make(chan struct{})
	conn := wire.NewConn(r, w, wire.Options{
		MaxLineBytes: s.opts.MaxLineBytes,
		Refuse:       true,
		Forward:      Forwards,
		Notify: func(method string, params json.RawMessage) bool {
			<-attached
			return c != nil && s.notification(c, method, params)
		},
		Fault: func(err error) { s.logger.Error("internal error", "error", err) },
		Junk: func(line []byte, err error) {
			s.logger.Warn("the client sent a line that is no message", "bytes", len(line), "error", err)
		},
	})
	session, err := s.Attach(ctx, streams{conn}, Identity{})
	if err == nil {
		c = session.client
	}
	close(attached)
	if err != nil {
		conn.Close()
		return err
	}
	defer session.End()
	ended := make(chan struct{})
	go func() { session.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	case <-conn.Done():
		// Nothing more is asked.
		settled(ctx, conn, w)
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
		case <-time.After(drainTime):
		}
	}
	// The connection first: the SDK waits for calls that still run.
	conn.Close()
	session.client.session.Close()
	<-ended
	return ctx.Err()
}

// drainTime is how long a client that has closed its end may take to read a line,
// and what ends then to end.
const drainTime = 2 * time.Second

// lastWait is how long calls go on for a client that has closed its end where it
// cannot be told whether it has gone.
const lastWait = 10 * time.Second

// settled returns when a client that has closed its end has its answers: at once
// if it has gone, which cancels what runs, or does not read.
func settled(ctx context.Context, conn *wire.Conn, w io.Writer) {
	begun := time.Now()
	look := time.NewTicker(drainTime / 4)
	defer look.Stop()
	for {
		gone, known := false, false
		if reader, ok := w.(interface{ Gone() (gone, known bool) }); ok {
			gone, known = reader.Gone()
		}
		if gone || conn.Stuck() >= drainTime || !known && time.Since(begun) >= lastWait {
			conn.Close()
			return
		}
		select {
		case <-conn.Settled():
			return
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

func (s *Server) forget(c *client) {
	c.opening.end()
	s.isolation.leave(c)
	s.mu.Lock()
	delete(s.clients, c.session)
	watching, queues := c.watching, c.queues
	c.watching, c.queues, c.gone = nil, nil, true
	quieter := slices.Contains(levels, c.level)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var told sync.WaitGroup
	told.Go(func() { closeQueues(ctx, queues) })
	defer told.Wait()
	for w := range watching {
		_ = s.unwatch(ctx, w) // a server that does not answer goes on to tell us
	}
	if quieter {
		s.tellLevels(c)
	}
	if !c.ends {
		return
	}
	s.parking.forget(ctx, c.agent)
	s.opts.Store.Forget(c.agent)
	if s.opts.JQ != nil {
		s.opts.JQ.Forget(c.agent)
	}
}

// clientOf returns the client whose session a request came from.
func (s *Server) clientOf(session *mcp.ServerSession) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[session]; c != nil {
		return c
	}
	// It has gone, and what it asked is about to end. Nothing is kept for it.
	return &client{session: session, agent: "nobody", party: "nobody"}
}

package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rlmproxy/middleware/forward"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// A Session is a client, an Identity what its transport knows of it, and a Past what it has
// said to another replica.
type (
	Session  = session.Session
	Identity = session.Identity
	Past     = session.Past
)

// Attach begins the session of a client that is reached by t, which hands in what the
// client sends. The caller ends it.
func (s *Server) Attach(t rpc.Transport, who Identity, opts rpc.Options) *Session {
	return s.attach(who, opts, func(o rpc.Options) *rpc.Peer { return rpc.NewPeer(t, o) })
}

// Resume is [Server.Attach] for a client whose session another replica has begun. What it
// has subscribed to follows by [session.Session.Follow].
func (s *Server) Resume(t rpc.Transport, who Identity, opts rpc.Options, past Past) *Session {
	return s.attachWith(who, opts, session.Options{Past: &past}, func(o rpc.Options) *rpc.Peer { return rpc.NewPeer(t, o) })
}

// attachGuest begins a session for one request that another replica has handed on.
func (s *Server) attachGuest(t rpc.Transport, client forward.Client, opts rpc.Options) forward.Session {
	return s.attachWith(client.Identity, opts, session.Options{Guest: true, Handshake: client.Handshake}, func(o rpc.Options) *rpc.Peer { return rpc.NewPeer(t, o) })
}

func (s *Server) attach(who Identity, opts rpc.Options, bind func(rpc.Options) *rpc.Peer) *Session {
	return s.attachWith(who, opts, session.Options{}, bind)
}

func (s *Server) attachWith(who Identity, opts rpc.Options, of session.Options, bind func(rpc.Options) *rpc.Peer) *Session {
	number := s.clients.Number()
	who.Replica = s.opts.Replica
	opts.Account = s.account.Of(who.Party(number))
	opts.Fault = func(err error) { s.logger.Error("internal error", "error", err) }
	of.Hooks = session.Hooks{Offer: s.offer, Request: s.request, Refused: s.watch.Refused, Notification: s.notification, Ended: s.forget, Follow: s.follow, Subscriptions: s.relay.Subscriptions}
	of.Identity, of.Number, of.Shared, of.ServerInfo = who, number, s.opts.SharedCache, s.info
	c := session.New(of, opts, bind)
	s.clients.Add(c)
	s.relay.Arrive(c)
	c.Begin()
	return c
}

// forget forgets a client that has ended: what it subscribed to, and its results unless
// the agent may come back, or goes on at another replica.
func (s *Server) forget(ctx context.Context, c *Session) {
	s.clients.Remove(c)
	s.consent.Forget(c)
	s.seen.Delete(c)
	s.found.Delete(c)
	s.listed.forget(c)
	s.relay.Leave(ctx, c)
	if !c.Ends {
		return
	}
	if !session.Lasts(c.Agent) && !c.Left() {
		s.opts.Store.Forget(c.Agent)
		s.states.Forget(c.Agent)
	}
	if s.opts.JQ != nil {
		s.opts.JQ.Forget(c.Agent)
	}
}

// Revoked ends what an agent's requests go on with at servers while no client waits for
// the answers: one of its tokens has been revoked. If it has none left, its processes end
// and what is kept for it is forgotten. Where all are one agent, that is nobody's.
func (s *Server) Revoked(ctx context.Context, subject string, left bool) {
	if s.opts.SharedCache {
		return
	}
	agent := Identity{Subject: subject}.Party(0)
	s.relay.Deferred().Forget(ctx, agent)
	if left {
		return
	}
	s.relay.EndProcesses(agent, "its token was revoked")
	s.opts.Store.Forget(agent)
	s.states.Forget(agent)
	if s.opts.JQ != nil {
		s.opts.JQ.Forget(agent)
	}
}

// Serve answers one client over a pair of streams, until the client ends them or ctx ends:
// then requests that run have endTime. It closes both. The client is who Options.Pipe says.
func (s *Server) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	var conn *rpc.Conn
	c := s.attach(Identity{Pipe: s.opts.Pipe}, rpc.Options{MaxBytes: s.opts.MaxLineBytes}, func(o rpc.Options) *rpc.Peer {
		conn = rpc.NewConn(r, w, rpc.ConnOptions{
			Options: o,
			Server:  true,
			InOrder: func(method string) bool { return method == "initialize" },
			Junk: func(line []byte, err error) {
				if errors.Is(err, errEnding) {
					return
				}
				s.logger.Warn("the client sent a line that is not a JSON-RPC message", "bytes", len(line), "error", err)
			},
		})
		return conn.Peer
	})
	select {
	case <-ctx.Done():
		c.Drain()
		s.finish(conn)
	case <-conn.Done():
		c.Drain()
		s.awaitAnswers(ctx, conn, w)
	}
	conn.Close()
	c.End()
	return ctx.Err()
}

const (
	// endTime is how long requests go on once the proxy is to end. With a second for
	// answers and three for servers that do not end by themselves, all is over in the ten
	// seconds that who manages processes waits at least.
	endTime = 5 * time.Second
	// readTime is how long a client that has closed its end may take to read a line.
	readTime = 2 * time.Second
	// answerTime is how long requests go on for a client that has closed its end where
	// it cannot be told whether it has gone.
	answerTime = 10 * time.Second
	// hangTime is how long nothing may come for a client that has closed its end, while
	// no server is connecting. Then what it waits for hangs.
	hangTime = 2 * time.Second
)

// errEnding answers what is not finished once the proxy is to end, and what is asked then.
var errEnding = errors.New("the proxy is shutting down")

// finish returns when a client has the answers to what it has asked, or has gone too, or
// after endTime: then the requests that run are cancelled, and their answer says so. No
// other begins.
func (s *Server) finish(conn *rpc.Conn) {
	conn.Refuse(errEnding)
	if n := conn.Serving(); n > 0 {
		s.logger.Info("shutting down once running requests have ended", "requests", n, "at_most", endTime)
	}
	select {
	case <-after(conn.Wait):
		return
	case <-conn.Done():
		return
	case <-time.After(endTime):
	}
	select {
	case <-after(func() { conn.Abandon(errEnding) }):
	case <-time.After(readTime / 2): // nobody reads
	}
}

// after is closed when f has returned.
func after(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// errHangs answers what hangs at the end.
var errHangs = fmt.Errorf("cancelled: the client closed stdin, and then no answer came for %v; keep stdin open until the answer has come", hangTime)

// awaitAnswers returns when a client that has closed its end, as one does that pipes
// requests into a server, has its answers: or when it has gone, or does not read, or
// the answers hang.
func (s *Server) awaitAnswers(ctx context.Context, conn *rpc.Conn, w io.Writer) {
	answered := after(conn.Wait)
	begun := time.Now()
	quiet := begun // since when nothing has come
	look := time.NewTicker(readTime / 4)
	defer look.Stop()
	for {
		gone, known := false, false
		if reader, ok := w.(interface{ Gone() (gone, known bool) }); ok {
			gone, known = reader.Gone()
		}
		if gone || conn.Stuck() >= readTime || !known && time.Since(begun) >= answerTime {
			return
		}
		if sent := conn.LastSent(); sent.After(quiet) {
			quiet = sent
		}
		switch {
		case s.connecting():
			quiet = time.Now()
		case time.Since(quiet) >= hangTime:
			conn.Abandon(errHangs)
			return
		}
		select {
		case <-answered:
			return
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// connecting reports whether a server is connecting that the first requests wait for.
func (s *Server) connecting() bool {
	if time.Since(s.begun) > patience*s.opts.ListWait {
		return false
	}
	for _, up := range s.upstreams() {
		if state, _ := up.Conn.State(); state == upstream.Connecting {
			return true
		}
	}
	return false
}

package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"rlmproxy/middleware/guard"
)

// A connection is a stranger until one of its requests has been admitted. Strangers who
// only connect must not take the places, and files, of clients with tokens: beyond these
// bounds the stranger that came first ends. Nor must one agent take those of others: where
// there are no more, the one with most gives way if it has over a quarter.
const (
	maxConnections = 4096
	maxStrangers   = 256
	// maxFromOne is how many strangers may come from one address. A reverse proxy is one
	// address too, but its connections are strangers for milliseconds only.
	maxFromOne = 64
	// newTime is how long a stranger is safe from others, unless all places are taken:
	// many clients may come at once.
	newTime = time.Second
)

// connections are those of a server.
type connections struct {
	log *slog.Logger
	max int
	one int // that an agent with a token may have
	// Each logs one of the things that can go wrong.
	full, crowd, busy rate.Sometimes

	mu        sync.Mutex // guards the fields below
	open      map[net.Conn]*connection
	of        map[string]int // how many of them each agent with a token has
	strangers []*connection  // the oldest first
}

type connection struct {
	conn  net.Conn
	from  string // its address without port; empty: it has none
	since time.Time

	// Guarded by connections.mu:
	known bool   // it is no stranger
	agent string // whose request it brought last
	busy  bool   // with a request
}

func newConnections(log *slog.Logger, one int) *connections {
	c := &connections{log: log, max: maxConnections, one: one, open: map[net.Conn]*connection{}, of: map[string]int{}}
	for _, s := range []*rate.Sometimes{&c.full, &c.crowd, &c.busy} {
		s.Interval = time.Minute
	}
	return c
}

type connectionKey struct{}

// arrive is the server's ConnContext.
func (c *connections) arrive(ctx context.Context, conn net.Conn) context.Context {
	n := &connection{conn: conn, since: time.Now()}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		n.from = a.IP.String()
	}
	c.mu.Lock()
	c.open[conn] = n
	c.strangers = append(c.strangers, n)
	ends := c.surplus(n)
	c.mu.Unlock()
	for _, e := range ends {
		e.conn.Close()
	}
	return context.WithValue(ctx, connectionKey{}, n)
}

// surplus takes out the strangers that have to end now that n has come, or n itself if
// there is no room. c.mu must be held.
func (c *connections) surplus(n *connection) (ends []*connection) {
	now := time.Now()
	end := func(e *connection) {
		ends = append(ends, e)
		c.strangers = slices.DeleteFunc(c.strangers, func(s *connection) bool { return s == e })
		c.forget(e)
	}
	if len(c.open) > c.max {
		c.full.Do(func() {
			c.log.Warn("too many connections: the proxy closes one of the agent that has most, or the oldest without a valid request", "open", c.max)
		})
		if e := c.ofMost(); e != nil {
			end(e)
		} else {
			end(c.strangers[0]) // n, if there is no other
		}
	}
	of := 0
	for _, s := range c.strangers {
		if s.from == n.from && n.from != "" {
			of++
		}
	}
	for _, s := range slices.Clone(c.strangers) {
		if now.Sub(s.since) < newTime {
			break // and the others are younger
		}
		if len(c.strangers) <= maxStrangers && (s.from != n.from || of <= maxFromOne) {
			continue
		}
		c.crowd.Do(func() {
			c.log.Warn("too many connections without a valid request: the proxy closes the oldest", "remote", s.from)
		})
		end(s)
		if s.from == n.from {
			of--
		}
	}
	return ends
}

// ofMost is the connection that gives way of the agent that has most, if those are over a
// quarter of all, else nil: the oldest that brings no request now, or the oldest. c.mu must
// be held.
func (c *connections) ofMost() *connection {
	count := map[string]int{}
	most := ""
	for _, n := range c.open {
		if n.known {
			count[n.agent]++
			if count[n.agent] > count[most] {
				most = n.agent
			}
		}
	}
	if count[most] <= len(c.open)/4 {
		return nil
	}
	var first *connection
	for _, n := range c.open {
		if n.known && n.agent == most && (first == nil || first.busy && !n.busy || first.busy == n.busy && n.since.Before(first.since)) {
			first = n
		}
	}
	return first
}

// forget takes a connection out of those that are open. c.mu must be held.
func (c *connections) forget(n *connection) {
	if c.open[n.conn] == n {
		delete(c.open, n.conn)
		c.count(n.agent, -1)
	}
}

// count adds n to the connections of an agent, "" being those without a token. c.mu must be
// held.
func (c *connections) count(agent string, n int) {
	if agent == "" {
		return
	}
	if c.of[agent] += n; c.of[agent] == 0 {
		delete(c.of, agent)
	}
}

// admit notes that a request of the connection of ctx, an agent's, was admitted. The error
// is that the agent has too many connections.
func (c *connections) admit(ctx context.Context, agent string) error {
	n, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[n.conn] != n {
		return nil // it is being closed
	}
	if n.agent != agent {
		if agent != "" && c.of[agent] >= c.one {
			return &guard.BusyError{Text: fmt.Sprintf("this agent has %d connections open, the most allowed", c.one)}
		}
		c.count(n.agent, -1)
		c.count(agent, 1)
	}
	n.agent, n.busy = agent, true
	if !n.known {
		n.known = true
		c.strangers = slices.DeleteFunc(c.strangers, func(s *connection) bool { return s == n })
	}
	return nil
}

// changed is the server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.open[conn]
	switch {
	case n == nil:
	case state == http.StateIdle:
		n.busy = false
	case state == http.StateClosed, state == http.StateHijacked:
		c.forget(n)
		c.strangers = slices.DeleteFunc(c.strangers, func(s *connection) bool { return s == n })
	}
}

// yield ends the stranger that came first, or else a connection of the agent with most that
// brings no request: there is no file for another connection.
func (c *connections) yield() {
	c.mu.Lock()
	var first *connection
	if len(c.strangers) > 0 {
		first = c.strangers[0]
		c.strangers = slices.Delete(c.strangers, 0, 1)
	} else if n := c.ofMost(); n != nil && !n.busy {
		first = n
	}
	if first != nil {
		c.forget(first)
	}
	c.mu.Unlock()
	if first != nil {
		first.conn.Close()
	}
}

// A listener tells of connections that could not be accepted, and makes room for the
// next. The server tries again, after pauses of up to a second.
type listener struct {
	net.Listener
	connections *connections
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if e, ok := err.(interface{ Temporary() bool }); ok && e.Temporary() {
		l.connections.busy.Do(func() { l.connections.log.Warn("a connection was not accepted", "error", err) })
		l.connections.yield()
	}
	return conn, err
}

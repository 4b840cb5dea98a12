package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A connection is a stranger until one of its requests has been admitted. Strangers who
// only connect must not take the places, and files, of clients with tokens: beyond these
// bounds the stranger that came first ends.
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
	// Each logs one of the things that can go wrong.
	full, crowd, busy rate.Sometimes

	mu        sync.Mutex // guards the fields below
	open      map[net.Conn]*connection
	strangers []*connection // the oldest first
}

type connection struct {
	conn  net.Conn
	from  string // its address without port; empty: it has none
	since time.Time
	known atomic.Bool // it is no stranger
}

func newConnections(log *slog.Logger) *connections {
	c := &connections{log: log, max: maxConnections, open: map[net.Conn]*connection{}}
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
		delete(c.open, e.conn)
	}
	if len(c.open) > c.max {
		c.full.Do(func() {
			c.log.Warn("too many connections, the oldest without a valid request is closed", "open", c.max)
		})
		end(c.strangers[0]) // n, if there is no other
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
			c.log.Warn("too many connections without a valid request, the oldest are closed", "remote", s.from)
		})
		end(s)
		if s.from == n.from {
			of--
		}
	}
	return ends
}

// admit notes that a request of the connection of ctx was admitted.
func (c *connections) admit(ctx context.Context) {
	n, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok || n.known.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers = slices.DeleteFunc(c.strangers, func(s *connection) bool { return s == n })
}

// changed is the server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.open[conn]; n != nil {
		delete(c.open, conn)
		c.strangers = slices.DeleteFunc(c.strangers, func(s *connection) bool { return s == n })
	}
}

// yield ends the stranger that came first: there is no file for another connection.
func (c *connections) yield() {
	c.mu.Lock()
	var first *connection
	if len(c.strangers) > 0 {
		first = c.strangers[0]
		c.strangers = slices.Delete(c.strangers, 0, 1)
		delete(c.open, first.conn)
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

package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rlmproxy/middleware/upstream"
)

// A server that keeps state, a browser or a working directory, may have a
// connection for each agent:
//
//	agent's first request ─► PerAgent ─► its process ─► later requests
//	session ends, or nothing for half an hour ─► the process is ended
//
// Its Conn lists what it offers and gets no request of an agent.

// An Own is a connection to a server that serves one agent. [upstream.Upstream]
// is one.
type Own interface {
	Call(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	Info() *upstream.Info
	// Close returns when nothing of it is left. What runs ends with an error.
	Close()
}

const (
	// ownIdle is after how long without a client of its agent a connection ends:
	// as sessions do.
	ownIdle = 30 * time.Minute
	// ownRest is how long after its last request it keeps its place when others
	// need it: models think between two calls.
	ownRest = time.Minute
	// maxOwn is how many connections a server has, if its operator does not say.
	maxOwn = 100
)

// errCrowded is why an agent gets no connection.
var errCrowded = errors.New("all are in use")

// isolation is what runs for single agents.
type isolation struct {
	idle time.Duration
	log  *slog.Logger
	ends sync.WaitGroup // connections that are ending

	mu      sync.Mutex // guards the fields below, and what they lead to; taken after Server.mu
	own     map[ownKey]*own
	clients map[string]int // that are here, by agent
	serial  int
	closed  bool
}

type ownKey struct{ server, agent string }

// An own is the connection of one agent to one server.
type own struct {
	key    ownKey
	number int // for the log
	conn   Own
	ended  chan struct{} // closed when nothing of it is left

	// Guarded by isolation.mu:
	running int         // requests
	used    time.Time   // when the last of them ended
	timer   *time.Timer // of its end
	ending  bool
	claimed bool // somebody waits for its place
}

func newIsolation(idle time.Duration, log *slog.Logger) *isolation {
	return &isolation{idle: idle, log: log, own: map[ownKey]*own{}, clients: map[string]int{}}
}

// arrive notes that c may send requests.
func (i *isolation) arrive(c *client) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.here = true
	i.clients[c.agent]++
	i.reckon(c.agent)
}

// leave notes that c sends nothing more. Connections of an agent that ends with
// it begin to end.
func (i *isolation) leave(c *client) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !c.here {
		return
	}
	c.here = false
	if i.clients[c.agent]--; i.clients[c.agent] == 0 {
		delete(i.clients, c.agent)
	}
	if !c.ends {
		i.reckon(c.agent)
		return
	}
	for key, o := range i.own {
		if key.agent == c.agent {
			i.end(o, "its session has ended")
		}
	}
}

// reckon sets the timers of what is the agent's. i.mu must be held.
func (i *isolation) reckon(agent string) {
	if len(i.own) == 0 {
		return
	}
	for key, o := range i.own {
		if key.agent == agent {
			i.setTimer(o)
		}
	}
}

// setTimer sets o's timer: to its end while nobody could use it, else to none. i.mu
// must be held.
func (i *isolation) setTimer(o *own) {
	o.timer.Stop()
	if o.running == 0 && !o.ending && i.clients[o.key.agent] == 0 {
		o.timer.Reset(max(0, i.idle-time.Since(o.used)))
	}
}

// expire ends o unless somebody has come meanwhile.
func (i *isolation) expire(o *own) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if o.running == 0 && i.clients[o.key.agent] == 0 && time.Since(o.used) >= i.idle {
		i.end(o, "idle")
	}
}

// end begins the end of o, whose place is taken until it has ended. i.mu must be
// held.
func (i *isolation) end(o *own, why string) {
	if o.ending {
		return
	}
	o.ending = true
	o.timer.Stop()
	i.log.Info("the connection of an agent ends", "server", o.key.server, "connection", o.number, "why", why)
	i.ends.Go(func() {
		o.conn.Close()
		i.mu.Lock()
		delete(i.own, o.key)
		i.mu.Unlock()
		close(o.ended)
	})
}

// take returns the connection of c's agent, which start makes if there is none,
// counts a request on it, and is given back by done. It waits for the end of one
// that is ending: two processes of one agent could meet in its files.
func (i *isolation) take(ctx context.Context, up *Upstream, c *client, start func(number int) Own) (*own, error) {
	for {
		o, wait, err := i.tryTake(up, c, start)
		if wait == nil {
			return o, err
		}
		select {
		case <-wait.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryTake is take that does not wait: it returns the connection whose end must
// come first.
func (i *isolation) tryTake(up *Upstream, c *client, start func(number int) Own) (o, wait *own, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return nil, nil, &upstream.UnavailableError{Server: up.Name, Err: errors.New("the proxy is closing")}
	case !c.here:
		return nil, nil, &upstream.UnavailableError{Server: up.Name, Err: errors.New("the client has gone")}
	}
	key := ownKey{up.Name, c.agent}
	o = i.own[key]
	if o != nil && o.ending {
		return nil, o, nil
	}
	if o == nil {
		if wait, err = i.room(up); wait != nil || err != nil {
			return nil, wait, err
		}
		i.serial++
		o = &own{key: key, number: i.serial, conn: start(i.serial), ended: make(chan struct{})}
		o.timer = time.AfterFunc(i.idle, func() { i.expire(o) })
		i.own[key] = o
	}
	o.running++
	i.setTimer(o)
	return o, nil, nil
}

// done gives back what take has returned.
func (i *isolation) done(o *own) {
	i.mu.Lock()
	defer i.mu.Unlock()
	o.running--
	o.used = time.Now()
	i.setTimer(o)
}

// room finds room for one more connection to up. If there is none yet, it returns
// the one whose end makes it: one that is ending already, else the one that has
// rested longest, at first among those of agents that have no client here. i.mu
// must be held.
func (i *isolation) room(up *Upstream) (*own, error) {
	limit := up.MaxAgents
	setDefault(&limit, maxOwn)
	var rests, ending *own
	n := 0
	for key, o := range i.own {
		if key.server != up.Name {
			continue
		}
		n++
		switch {
		case o.ending && (ending == nil || ending.claimed):
			ending = o
		case o.ending || o.running > 0 || time.Since(o.used) < ownRest:
		case rests == nil || i.yields(o, rests):
			rests = o
		}
	}
	switch {
	case n < limit:
		return nil, nil
	case ending != nil && (!ending.claimed || rests == nil):
		ending.claimed = true
		return ending, nil
	case rests == nil:
		return nil, &upstream.UnavailableError{Server: up.Name,
			Err: fmt.Errorf("it runs for %d agents, the most that it may, and %w", n, errCrowded)}
	}
	i.end(rests, "others need its place")
	rests.claimed = true
	return rests, nil
}

// yields reports whether a is to end before b.
func (i *isolation) yields(a, b *own) bool {
	if absent := i.clients[a.key.agent] == 0; absent != (i.clients[b.key.agent] == 0) {
		return absent
	}
	return a.used.Before(b.used)
}

// find returns the connection of an agent to a server, nil if there is none.
func (i *isolation) find(server, agent string) Own {
	i.mu.Lock()
	defer i.mu.Unlock()
	if o := i.own[ownKey{server, agent}]; o != nil && !o.ending {
		return o.conn
	}
	return nil
}

// close ends all and returns when nothing is left.
func (i *isolation) close() {
	i.mu.Lock()
	i.closed = true
	for _, o := range i.own {
		i.end(o, "shutdown")
	}
	i.mu.Unlock()
	i.ends.Wait()
}

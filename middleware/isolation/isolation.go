// Package isolation has connections to servers that are each one agent's.
//
// A server that keeps state, a browser or a working directory, may have a connection
// for each agent:
//
//	agent's first request ─► Take ─► start ─► its process ─► later requests
//	session ends, or nothing for half an hour ─► the process is ended
package isolation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// idleTime is after how long without a client of its agent a connection ends, if
	// nobody says: as sessions do.
	idleTime = 30 * time.Minute
	// restTime is how long after its last request a connection keeps its place when
	// others need it: models think between two calls.
	restTime = time.Minute
	// maxConns is how many connections a server has, if its operator does not say.
	maxConns = 100
)

// Why an agent gets no connection.
var (
	ErrCrowded = errors.New("all are in use")
	errClosing = errors.New("the proxy is closing")
	errGone    = errors.New("the client has gone")
)

// A Conn is a connection that serves one agent.
type Conn interface {
	// Close returns when nothing of it is left. What runs ends with an error.
	Close()
}

// A Pool has the connections of all agents to all servers. It is safe for concurrent
// use.
type Pool[C Conn] struct {
	idle time.Duration
	log  *slog.Logger
	ends sync.WaitGroup // connections that are ending

	mu      sync.Mutex // guards the fields below, and what they lead to
	conns   map[key]*Lease[C]
	clients map[string]int // that are there, by agent
	seq     int
	closed  bool
}

type key struct{ server, agent string }

// A Lease is the connection of one agent to one server.
type Lease[C Conn] struct {
	Conn    C
	key     key
	number  int           // for the log
	started chan struct{} // closed when Conn is set
	ended   chan struct{} // closed when nothing of it is left

	// Guarded by Pool.mu:
	running int         // requests
	used    time.Time   // when the last of them ended
	timer   *time.Timer // of its end
	ending  bool
	claimed bool // somebody waits for its place
}

// New returns a pool whose connections end after idle without a client of their agent;
// zero means 30 minutes.
func New[C Conn](idle time.Duration, log *slog.Logger) *Pool[C] {
	if idle <= 0 {
		idle = idleTime
	}
	return &Pool[C]{idle: idle, log: log, conns: map[key]*Lease[C]{}, clients: map[string]int{}}
}

// Arrive notes a client of an agent, which may send requests until it leaves.
func (p *Pool[C]) Arrive(agent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[agent]++
	p.setTimers(agent)
}

// Leave notes that a client of an agent sends nothing more. If the agent ends with it,
// its connections begin to end.
func (p *Pool[C]) Leave(agent string, ends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients[agent]--; p.clients[agent] <= 0 {
		delete(p.clients, agent)
	}
	if !ends {
		p.setTimers(agent)
		return
	}
	p.endAll(agent, "its session has ended")
}

// EndAll has the connections of an agent end.
func (p *Pool[C]) EndAll(agent, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAll(agent, why)
}

// EndServer has the connections to a server end, and returns when they have.
func (p *Pool[C]) EndServer(server, why string) {
	var ends []*Lease[C]
	p.mu.Lock()
	for key, l := range p.conns {
		if key.server == server {
			p.end(l, why)
			ends = append(ends, l)
		}
	}
	p.mu.Unlock()
	for _, l := range ends {
		<-l.ended
	}
}

// endAll is EndAll with p.mu held.
func (p *Pool[C]) endAll(agent, why string) {
	for key, l := range p.conns {
		if key.agent == agent {
			p.end(l, why)
		}
	}
}

// setTimers sets the timers of what is the agent's. p.mu must be held.
func (p *Pool[C]) setTimers(agent string) {
	for key, l := range p.conns {
		if key.agent == agent {
			p.setTimer(l)
		}
	}
}

// setTimer sets l's timer: to its end while nobody could use it, else to none. p.mu
// must be held.
func (p *Pool[C]) setTimer(l *Lease[C]) {
	l.timer.Stop()
	if l.running == 0 && !l.ending && p.clients[l.key.agent] == 0 {
		l.timer.Reset(max(0, p.idle-time.Since(l.used)))
	}
}

// expire ends l unless somebody has come meanwhile.
func (p *Pool[C]) expire(l *Lease[C]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.running == 0 && p.clients[l.key.agent] == 0 && time.Since(l.used) >= p.idle {
		p.end(l, "idle")
	}
}

// end begins the end of l, whose place is taken until it has ended. p.mu must be held.
func (p *Pool[C]) end(l *Lease[C], why string) {
	if l.ending {
		return
	}
	l.ending = true
	l.timer.Stop()
	p.log.Info("an agent's connection ends", "server", l.key.server, "connection", l.number, "why", why)
	p.ends.Go(func() {
		<-l.started
		l.Conn.Close()
		p.mu.Lock()
		delete(p.conns, l.key)
		p.mu.Unlock()
		close(l.ended)
	})
}

// Take returns the connection of an agent, which start makes if there is none, and
// counts a request on it; it is given back by Done. Start gets a number for the
// log. At most limit connections of a server are there; zero means 100. Take
// waits for the end of one that is ending: two processes of one agent could meet in its
// files.
func (p *Pool[C]) Take(ctx context.Context, server, agent string, limit int, start func(number int) C) (*Lease[C], error) {
	if limit <= 0 {
		limit = maxConns
	}
	for {
		l, wait, fresh, err := p.tryTake(key{server, agent}, limit)
		switch {
		case err != nil:
			return nil, err
		case fresh:
			l.Conn = start(l.number)
			close(l.started)
			return l, nil
		case wait == nil:
			<-l.started
			return l, nil
		}
		select {
		case <-wait.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryTake is Take that neither waits nor starts anything: it returns the connection
// whose end must come first, or a fresh one that is to be started.
func (p *Pool[C]) tryTake(k key, limit int) (l, wait *Lease[C], fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, nil, false, errClosing
	case p.clients[k.agent] == 0:
		return nil, nil, false, errGone
	}
	l = p.conns[k]
	if l != nil && l.ending {
		return nil, l, false, nil
	}
	if fresh = l == nil; fresh {
		if wait, err = p.makeRoom(k.server, limit); wait != nil || err != nil {
			return nil, wait, false, err
		}
		p.seq++
		l = &Lease[C]{key: k, number: p.seq, started: make(chan struct{}), ended: make(chan struct{})}
		l.timer = time.AfterFunc(p.idle, func() { p.expire(l) })
		p.conns[k] = l
	}
	l.running++
	p.setTimer(l)
	return l, nil, fresh, nil
}

// Done gives back what Take has returned.
func (p *Pool[C]) Done(l *Lease[C]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.running--
	l.used = time.Now()
	p.setTimer(l)
}

// makeRoom finds room for one more connection to a server. If there is none yet, it
// returns the one whose end makes it: one that is ending already, else the one that has
// rested longest, at first among those of agents that have no client here. p.mu must be
// held.
func (p *Pool[C]) makeRoom(server string, limit int) (*Lease[C], error) {
	var rests, ending *Lease[C]
	n := 0
	for key, l := range p.conns {
		if key.server != server {
			continue
		}
		n++
		switch {
		case l.ending && (ending == nil || ending.claimed):
			ending = l
		case l.ending || l.running > 0 || time.Since(l.used) < restTime:
		case rests == nil || p.endsBefore(l, rests):
			rests = l
		}
	}
	switch {
	case n < limit:
		return nil, nil
	case ending != nil && (!ending.claimed || rests == nil):
		ending.claimed = true
		return ending, nil
	case rests == nil:
		return nil, fmt.Errorf("maxProcesses is %d, and %w", n, ErrCrowded)
	}
	p.end(rests, "another agent needs its place")
	rests.claimed = true
	return rests, nil
}

// endsBefore reports whether a is to end before b.
func (p *Pool[C]) endsBefore(a, b *Lease[C]) bool {
	if absent := p.clients[a.key.agent] == 0; absent != (p.clients[b.key.agent] == 0) {
		return absent
	}
	return a.used.Before(b.used)
}

// Find returns the connection of an agent to a server, if there is one; it never starts
// any.
func (p *Pool[C]) Find(server, agent string) (conn C, ok bool) {
	p.mu.Lock()
	l := p.conns[key{server, agent}]
	found := l != nil && !l.ending
	p.mu.Unlock()
	if !found {
		return conn, false
	}
	select {
	case <-l.started:
		return l.Conn, true
	default:
		return conn, false
	}
}

// Close ends all and returns when nothing is left.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.conns {
		p.end(l, "shutdown")
	}
	p.mu.Unlock()
	p.ends.Wait()
}

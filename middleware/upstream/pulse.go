package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

const (
	// pingEvery is how long nothing need be heard of a server before it is asked whether it
	// is there, and pingWait how long it may take to say so, and then how long until the
	// next question.
	pingEvery = 30 * time.Second
	pingWait  = 10 * time.Second
	// busyStart is how long no server is asked after its start, when many read all they
	// have, and nothing else meanwhile.
	busyStart = 2 * time.Minute
	// maxMissed pings in a row may go unanswered before the server counts as dead.
	maxMissed = 2
)

var errSilent = errors.New("it is connected, but no longer answers")

// A pulse says whether a server still answers.
type pulse struct {
	stopped chan struct{} // closed when the server counts as dead

	mu    sync.Mutex // guards the fields below
	heard time.Time  // when the server last said something
	asked time.Time  // when the last call was sent
	seq   int
	calls map[int]time.Time // that run, and when each was sent
}

func (p *pulse) hear() {
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
}

// call notes that a call is sent. What it returns is to be called with the call's error.
func (p *pulse) call() (answered func(err error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[int]time.Time{}
	}
	p.seq++
	id := p.seq
	p.asked = time.Now()
	p.calls[id] = p.asked
	return func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, id)
		var said *jsonrpc.Error
		if err == nil || errors.As(err, &said) || errors.Is(err, rpc.ErrBadAnswer) {
			p.heard = time.Now()
		}
	}
}

// due reports whether it is time for a ping. With inDoubt, only a server that has left
// a call without an answer is asked.
func (p *pulse) due(inDoubt bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.heard) >= pingEvery && (!inDoubt || p.asked.After(p.heard))
}

// silent reports whether nothing was heard since a ping was missed, and no call is left
// that was sent before: a server that does one thing at a time answers no pings
// while it works.
func (p *pulse) silent(missed time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sent := range p.calls {
		if !sent.After(missed) {
			return false
		}
	}
	return p.heard.Before(missed)
}

// watch asks the server whether it is there, when it was quiet for long, until ctx ends
// or the server counts as dead. A server with the stateless revision has no ping:
// it says once more what it is, a process, that is, for over HTTP requests have nothing in
// common. Where each question is a request of its own, nothing is asked of a server
// that nobody uses.
func (s *session) watch(ctx context.Context) {
	method := "ping"
	if s.meta != nil {
		method = "server/discover"
	}
	params, err := withMeta(nil, s.meta)
	if err != nil || s.meta != nil && s.http != nil {
		return
	}
	s.pulse.hear()
	missed, first, pause := 0, time.Time{}, busyStart
	for transport.Sleep(ctx, pause) == nil {
		if !s.pulse.due(s.http != nil) {
			missed, pause = 0, pingEvery
			continue
		}
		one, cancel := context.WithTimeout(ctx, pingWait)
		_, err := s.Call(one, method, params, nil)
		late := one.Err() != nil && err != nil
		cancel()
		if !late { // a refusal is an answer
			s.pulse.hear()
			missed, pause = 0, pingEvery
			continue
		}
		if missed == 0 {
			first = time.Now()
		}
		missed, pause = missed+1, pingWait
		if missed >= maxMissed && s.pulse.silent(first) {
			if ctx.Err() == nil {
				close(s.pulse.stopped)
			}
			return
		}
	}
}

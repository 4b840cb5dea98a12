package middleware

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

// In revision 2026-07-28 servers ask their clients nothing while they work: a
// result of type input_required says what is wanted, and the client sends its
// request once more with the answers and the state that came with it (SEP-2322).
// Servers of older revisions do ask. For them a request is held: it goes on while
// its client looks for the answers.

// A held request runs at a server, whoever waits for it.
type held struct {
	agent  string
	number int   // in the order in which they were parked; guarded by Server.mu
	parked bool  // likewise
	kept   int64 // bytes of the result, if it has come while parked; likewise
	up     *Upstream
	method string
	about  string // the tool, prompt or resource
	cancel context.CancelCauseFunc
	expiry *time.Timer // of the time in which its client must come back

	done chan struct{} // closed when the fields behind it are set
	raw  json.RawMessage
	err  error

	asked chan struct{} // capacity 1: the server has asked something

	mu   sync.Mutex // guards the fields below
	now  *request   // of the client that waits, or waited last
	open map[string]*question
	seq  int
}

// A question waits for its answer.
type question struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // capacity 1
}

const (
	heldTime    = 10 * time.Minute // that a client may take to answer
	maxHeld     = 1000             // then the one that waits longest ends
	maxHeldEach = 20               // of one agent, likewise
	// maxHeldBytes bounds the results of requests that have ended while parked,
	// likewise; one that is larger by itself is kept alone. No budget counts them.
	maxHeldBytes = 64 << 20
	// askTogether is how long a server may take to ask more at once.
	askTogether = 10 * time.Millisecond
)

// hold runs a request in the background.
func (s *Server) hold(ctx context.Context, up *Upstream, r *request, params json.RawMessage, run func(ctx context.Context, h *held) (json.RawMessage, error)) *held {
	h := &held{
		agent: r.client.agent, up: up, method: r.method, about: aboutOf(params), now: r,
		done: make(chan struct{}), asked: make(chan struct{}, 1), open: map[string]*question{},
	}
	ctx, h.cancel = context.WithCancelCause(wire.WithHold(context.WithoutCancel(ctx), nil))
	go func() {
		defer s.keep(h)
		defer close(h.done)
		defer func() {
			if v := recover(); v != nil {
				h.err = fmt.Errorf("panic: %v", v)
			}
		}()
		h.raw, h.err = run(ctx, h)
	}()
	return h
}

// aboutOf is what a request is for, as its server knows it.
func aboutOf(params json.RawMessage) string {
	return fmt.Sprintf("%s %s %s", jsonscan.Member(params, "name"), jsonscan.Member(params, "uri"), jsonscan.Member(params, "ref"))
}

// await returns what the server answers, or asks first. Nobody waits for a
// request whose client has gone.
func (s *Server) await(ctx context.Context, h *held) (json.RawMessage, error) {
	for {
		select {
		case <-h.done:
			if err := turn(ctx, len(h.raw)); err != nil {
				return nil, err
			}
			return h.raw, h.err
		case <-ctx.Done():
			h.cancel(context.Cause(ctx))
			<-h.done
			return nil, context.Cause(ctx)
		case <-h.asked:
		}
		select {
		case <-h.done:
		case <-ctx.Done():
		case <-time.After(askTogether):
			h.mu.Lock()
			waits := len(h.open) > 0
			h.mu.Unlock()
			if waits {
				return s.park(h)
			}
		}
	}
}

// park keeps h until its client comes back, and returns what it is told.
func (s *Server) park(h *held) (json.RawMessage, error) {
	h.mu.Lock()
	requests := []byte{'{'}
	keys := make([]string, 0, len(h.open))
	for key := range h.open {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		q := h.open[key]
		method, _ := quote(q.method) // any string encodes
		one := jsonscan.AppendMember([]byte{'{'}, "method", method)
		if q.params != nil {
			one = jsonscan.AppendMember(one, "params", q.params)
		}
		requests = jsonscan.AppendMember(requests, key, append(one, '}'))
	}
	h.mu.Unlock()
	state := s.stateMark + rand.Text()
	s.mu.Lock()
	s.makeRoom(h.agent)
	s.serial++
	h.number = s.serial
	s.held[state], h.parked = h, true
	h.expiry = time.AfterFunc(heldTime, func() {
		if h := s.unpark(state); h != nil {
			h.cancel(errTimeout)
		}
	})
	s.mu.Unlock()
	s.keep(h) // it may have ended by now
	return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":%s},"requestState":%q}`, requests, state), nil
}

// makeRoom ends the held request that waits longest, of this agent or of all,
// where there are too many: whoever leaves questions unanswered, or comes under
// many names, keeps nobody from being asked. s.mu must be held.
func (s *Server) makeRoom(agent string) {
	each := 0
	var oldest, own string // states
	for state, h := range s.held {
		if oldest == "" || h.number < s.held[oldest].number {
			oldest = state
		}
		if h.agent != agent {
			continue
		}
		if each++; own == "" || h.number < s.held[own].number {
			own = state
		}
	}
	if each >= maxHeldEach {
		s.drop(own)
	} else if len(s.held) >= maxHeld {
		s.drop(oldest)
	}
}

// keep counts the result of a parked request that has ended, and ends those that
// have waited longest with results while they are too large together.
func (s *Server) keep(h *held) {
	select {
	case <-h.done:
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.parked || h.kept > 0 {
		return
	}
	h.kept = int64(len(h.raw))
	s.heldBytes += h.kept
	for s.heldBytes > max(maxHeldBytes, h.kept) {
		oldest := ""
		for state, o := range s.held {
			if o != h && o.kept > 0 && (oldest == "" || o.number < s.held[oldest].number) {
				oldest = state
			}
		}
		s.drop(oldest)
	}
}

// take takes a request out of those that are parked, nil if it is not there. s.mu
// must be held.
func (s *Server) take(state string) *held {
	h := s.held[state]
	if h == nil {
		return nil
	}
	delete(s.held, state)
	s.heldBytes -= h.kept
	h.parked, h.kept = false, 0
	return h
}

var errNotAnswered = errors.New("too many requests wait for input: this one waited longest")

// drop ends a parked request. s.mu must be held.
func (s *Server) drop(state string) {
	h := s.take(state)
	h.expiry.Stop()
	h.cancel(errNotAnswered)
}

// forgetHeld ends the parked requests of an agent that has gone for good, and
// returns when they have ended, or ctx has.
func (s *Server) forgetHeld(ctx context.Context, agent string) {
	var ended []*held
	s.mu.Lock()
	for state, h := range s.held {
		if h.agent == agent {
			s.drop(state)
			ended = append(ended, h)
		}
	}
	s.mu.Unlock()
	for _, h := range ended {
		select {
		case <-h.done:
		case <-ctx.Done():
		}
	}
}

// unpark takes a held request out, nil if it is not there.
func (s *Server) unpark(state string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(state)
}

// resume finds the held request that r goes on with, and hands on the answers
// that it brings. It is nil if r is a request of its own.
func (s *Server) resume(up *Upstream, r *request, params json.RawMessage) (*held, error) {
	var state string
	var answers json.RawMessage
	_ = jsonscan.Members(r.params, func(key string, value json.RawMessage) error {
		switch key {
		case "requestState":
			_ = json.Unmarshal(value, &state)
		case "inputResponses":
			answers = value
		}
		return nil
	})
	if !strings.HasPrefix(state, s.stateMark) {
		return nil, nil
	}
	s.mu.Lock()
	h := s.held[state]
	// Another agent's state looks like one that never was.
	if h != nil && (h.agent != r.client.agent || h.up.Name != up.Name || h.method != r.method || h.about != aboutOf(params)) {
		h = nil
	}
	if h != nil {
		h.expiry.Stop()
		s.take(state)
	}
	s.mu.Unlock()
	if h == nil {
		return nil, invalidParams("requestState is unknown, or nobody came back to it in time")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = r
	if len(answers) > 0 && answers[0] == '{' {
		_ = jsonscan.Members(answers, func(key string, value json.RawMessage) error {
			// A result is an object: the libraries of servers pass over others, and the
			// server would wait for its answer until the call runs out of time.
			if q := h.open[key]; q != nil && value[0] == '{' {
				q.answer <- append(json.RawMessage(nil), value...)
				delete(h.open, key)
			}
			return nil
		})
	}
	if len(h.open) > 0 { // ask again for what is missing
		select {
		case h.asked <- struct{}{}:
		default:
		}
	}
	return h, nil
}

// ask waits until the client has answered, in whichever request.
func (h *held) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{method, params, make(chan json.RawMessage, 1)}
	h.mu.Lock()
	h.seq++
	key := "q" + strconv.Itoa(h.seq)
	h.open[key] = q
	h.mu.Unlock()
	select {
	case h.asked <- struct{}{}:
	default:
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.open, key)
		h.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// current is the request that waits, or waited last.
func (h *held) current() *request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

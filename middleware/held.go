package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/shape"
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
	up     *Upstream
	method string
	about  string // the tool, prompt or resource
	cancel context.CancelCauseFunc

	// Guarded by parking.mu:
	number int // in the order in which they were parked
	parked bool
	kept   int64       // bytes of the result, if it has come while parked
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

// askTogether is how long a server may take to ask more at once.
const askTogether = 10 * time.Millisecond

// hold runs a request in the background.
func (s *Server) hold(ctx context.Context, up *Upstream, r *request, params json.RawMessage, run func(ctx context.Context, h *held) (json.RawMessage, error)) *held {
	h := &held{
		agent: r.client.agent, up: up, method: r.method, about: aboutOf(params), now: r,
		done: make(chan struct{}), asked: make(chan struct{}, 1), open: map[string]*question{},
	}
	ctx, h.cancel = context.WithCancelCause(wire.WithHold(context.WithoutCancel(ctx), nil))
	go func() {
		defer s.parking.keep(h)
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
			if err := shape.Turn(ctx, len(h.raw)); err != nil {
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
				return s.park(h), nil
			}
		}
	}
}

// park keeps h until its client comes back, and returns what that is told.
func (s *Server) park(h *held) json.RawMessage {
	requests := h.questions()
	return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":%s,"requestState":%q}`, requests, s.parking.add(h))
}

// questions are those that wait for their answers, by name, an object.
func (h *held) questions() json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(h.open)) {
		q := h.open[key]
		method := jsonscan.Quote(q.method)
		one := jsonscan.AppendMember([]byte{'{'}, "method", method)
		if q.params != nil {
			one = jsonscan.AppendMember(one, "params", q.params)
		}
		all = jsonscan.AppendMember(all, key, append(one, '}'))
	}
	return append(all, '}')
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
	if !s.parking.gave(state) {
		return nil, nil
	}
	about := aboutOf(params)
	h := s.parking.claim(state, func(h *held) bool {
		// Another agent's state looks like one that never was.
		return h.agent == r.client.agent && h.up.Name == up.Name && h.method == r.method && h.about == about
	})
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
		h.tellAsked()
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
	h.tellAsked()
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

// tellAsked has whoever waits look for questions.
func (h *held) tellAsked() {
	select {
	case h.asked <- struct{}{}:
	default:
	}
}

// current is the request that waits, or waited last.
func (h *held) current() *request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

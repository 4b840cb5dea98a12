// Package deferred keeps requests running while their clients look for answers.
//
// In revision 2026-07-28 servers ask their clients nothing while they work: a result of
// type input_required says what is wanted, and the client sends its request once more
// with the answers and the state that came with it (SEP-2322). Servers of older
// revisions do ask. For them a request is deferred:
//
//	request ─► Run ─► the server, which asks ─► input_required, with a state
//	the same with answers and state ─► Run ─► the server goes on ─► its result
package deferred

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
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
)

// A Request runs at a server, whoever waits for it.
type Request struct {
	key    key
	party  string // whose request it is
	cancel context.CancelCauseFunc

	done chan struct{} // closed when the fields behind it are set
	raw  json.RawMessage
	err  error

	asked chan struct{} // capacity 1: the server has asked something

	mu        sync.Mutex       // guards the fields below
	current   *session.Request // that waits, or waited last
	questions map[string]*question
	seq       int
	returned  int // how often the client came back
}

// A key says which requests may go on with a deferred one: the same agent's, for the
// same thing. Another agent's state looks like one that never was.
type key struct{ agent, server, method, subject string }

func keyOf(r *session.Request, server string, params json.RawMessage) key {
	subject := fmt.Sprintf("%s %s %s", jsonscan.Member(params, "name"), jsonscan.Member(params, "uri"), jsonscan.Member(params, "ref"))
	return key{r.Session.Agent, server, r.Method, subject}
}

// A question waits for its answer.
type question struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // capacity 1
}

// askTogether is how long a server may take to ask more at once.
const askTogether = 10 * time.Millisecond

// Run answers a request of a client of 2026-07-28: by do, which it runs in the
// background, or by the deferred one that r goes on with. Params are those that the
// server gets. Nobody waits for a request whose client has gone: do's ctx ends then.
func (l *List) Run(ctx context.Context, r *session.Request, server string, params json.RawMessage, do func(ctx context.Context, d *Request) (json.RawMessage, error)) (json.RawMessage, error) {
	d, err := l.resume(r, server, params)
	if err != nil {
		return nil, err
	}
	if d == nil {
		d = l.begin(ctx, r, server, params, do)
	}
	return l.await(ctx, d)
}

// begin runs a request in the background.
func (l *List) begin(ctx context.Context, r *session.Request, server string, params json.RawMessage, do func(ctx context.Context, d *Request) (json.RawMessage, error)) *Request {
	d := &Request{
		key: keyOf(r, server, params), party: r.Session.Party, current: r,
		done: make(chan struct{}), asked: make(chan struct{}, 1), questions: map[string]*question{},
	}
	ctx, d.cancel = context.WithCancelCause(guard.WithHold(context.WithoutCancel(ctx), nil))
	go func() {
		defer l.ended(d)
		defer close(d.done)
		defer func() {
			if v := recover(); v != nil {
				d.err = fmt.Errorf("panic: %v", v)
			}
		}()
		d.raw, d.err = do(ctx, d)
	}()
	return d
}

// await returns what the server answers, or asks first.
func (l *List) await(ctx context.Context, d *Request) (json.RawMessage, error) {
	for {
		select {
		case <-d.done:
			if err := guard.HoldOf(ctx).Turn(ctx, int64(len(d.raw))); err != nil {
				return nil, err
			}
			return d.raw, d.err
		case <-ctx.Done():
			d.cancel(context.Cause(ctx))
			<-d.done
			return nil, context.Cause(ctx)
		case <-d.asked:
		}
		select {
		case <-d.done:
		case <-ctx.Done():
		case <-time.After(askTogether):
			inputs := d.inputs()
			if inputs == nil {
				continue
			}
			state, err := l.add(d)
			if err != nil {
				d.cancel(err)
				<-d.done
				return nil, err
			}
			return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":%s,"requestState":%q}`, inputs, state), nil
		}
	}
}

// inputs are the questions that wait for their answers, by name, an object, or nil if
// there are none.
func (d *Request) inputs() json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.questions) == 0 {
		return nil
	}
	all := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(d.questions)) {
		q := d.questions[name]
		method, _ := json.Marshal(q.method) // any string encodes
		one := jsonscan.AppendMember([]byte{'{'}, "method", method)
		if q.params != nil {
			one = jsonscan.AppendMember(one, "params", q.params)
		}
		all = jsonscan.AppendMember(all, name, append(one, '}'))
	}
	return append(all, '}')
}

// resume finds the deferred request that r goes on with, and hands on the answers that
// it brings. It is nil if r begins.
func (l *List) resume(r *session.Request, server string, params json.RawMessage) (*Request, error) {
	var state string
	var answers json.RawMessage
	_ = jsonscan.Members(r.Params, func(name string, value json.RawMessage) error {
		switch name {
		case "requestState":
			_ = json.Unmarshal(value, &state)
		case "inputResponses":
			answers = value
		}
		return nil
	})
	if !l.Gave(state) {
		return nil, nil
	}
	d := l.claim(state, keyOf(r, server, params))
	if d == nil {
		return nil, session.InvalidParams("requestState is unknown, or came back too late")
	}
	d.answered(r, answers)
	return d, nil
}

// answered takes the answers that r brings, an object or nil.
func (d *Request) answered(r *session.Request, answers json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = r
	d.returned++
	if len(answers) > 0 && answers[0] == '{' {
		_ = jsonscan.Members(answers, func(name string, value json.RawMessage) error {
			// A result is an object: the libraries of servers pass over others, and the
			// server would wait for its answer until the call runs out of time.
			if q := d.questions[name]; q != nil && value[0] == '{' {
				q.answer <- append(json.RawMessage(nil), value...)
				delete(d.questions, name)
			}
			return nil
		})
	}
	if len(d.questions) > 0 { // ask again for what is missing
		d.tellAsked()
	}
}

// Ask waits until the client has answered, in whichever of its requests.
func (d *Request) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{method, params, make(chan json.RawMessage, 1)}
	d.mu.Lock()
	d.seq++
	name := "q" + strconv.Itoa(d.seq)
	d.questions[name] = q
	d.mu.Unlock()
	d.tellAsked()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		d.mu.Lock()
		delete(d.questions, name)
		d.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// tellAsked has whoever waits look for questions.
func (d *Request) tellAsked() {
	select {
	case d.asked <- struct{}{}:
	default:
	}
}

// Returned is how often the client has come back to the request.
func (d *Request) Returned() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.returned
}

// Current is the client's request that waits, or waited last.
func (d *Request) Current() *session.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current
}

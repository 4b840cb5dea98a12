// Package rpc is JSON-RPC 2.0 between two peers, its messages sliced and not decoded.
//
//	Call, Notify, an answer ─► Message ─► Transport.Send ─► the other side
//	Options.Handle, Notified, a call's answer ◄─ Peer.Receive ◄─ Message ◄─┘
//
// A [Peer] is one end of a connection, in both roles at once: it matches answers to
// calls, runs and cancels the requests of the other side, hands out progress and bounds
// what waits. A [Transport] only moves messages. [Conn] is a peer over a pair of byte
// streams; the transports over HTTP are elsewhere.
//
// Params, results and errors are the bytes that the other side wrote. Sizes are bytes.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
)

// A Transport takes messages to the other side. Its methods are called concurrently.
//
// The ctx of a response or of what is sent while a request is worked on descends from
// the ctx that the request came with, see [Peer.Receive].
type Transport interface {
	// Send returns when the message has been handed over, or with the cause of ctx's
	// end. Where answers come back on what a request was sent by, as over HTTP, it
	// returns when the answer has been received.
	Send(ctx context.Context, m Message) error
	// Try is Send that does not wait. What would have to wait too long is lost.
	Try(ctx context.Context, m Message)
}

// Options configures a [Peer]. Handle is required.
type Options struct {
	// Handle answers a request of the other side, in a goroutine of its own, with a
	// raw result or an error, which [ErrorObject] writes. Its ctx ends when the other
	// side cancels the request, with that of [Peer.Receive] and with the peer; then no
	// answer is sent.
	Handle func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notified takes a notification of the other side, but those of cancellation and of
	// the progress of a call of ours. It is called by whoever calls Receive, and must neither block nor
	// keep params. Nil drops them.
	Notified func(ctx context.Context, method string, params json.RawMessage)
	// Refused is called by Receive for a request that it does not begin, with the error
	// that it returns. It must not block. Nil is not called.
	Refused func(method string, params json.RawMessage, err error)
	// Unanswered is called for a request that gets no answer, since it was cancelled.
	// Nil is not called.
	Unanswered func(ctx context.Context)
	// IDs stands in the ids of our requests, behind rlm- and before their number, so that
	// they are nobody else's. It needs no quoting in JSON. Empty is nothing.
	IDs string
	// MaxRequests bounds the requests of the other side that wait for their answers.
	// Zero means 1024: there is a goroutine for each.
	MaxRequests int
	// MaxBytes bounds one message. Zero means [DefaultMaxBytes].
	MaxBytes int64
	// Account counts the bytes of the requests of the other side that wait. Nil: they
	// may have MaxBytes together; one that is larger waits alone.
	Account *guard.Account
	// Fault receives panics of Handle, Notified and what takes progress, which cost the
	// one message. It may be called concurrently. Nil discards them.
	Fault func(err error)
}

// DefaultMaxBytes caps one message.
const DefaultMaxBytes = 64 << 20

// A Peer is one end of a connection. It is safe for concurrent use.
type Peer struct {
	transport Transport
	opts      Options
	life      context.Context // ended by Close
	die       context.CancelFunc
	handlers  sync.WaitGroup // requests of the other side; none is added after End

	mu      sync.Mutex // guards the fields below
	seq     int64
	calls   map[string]*call // ours that wait, by id as written; nil once no answer can come
	serving map[string]*serving
	backlog backlog // of serving, and of cancelled ones that still run
	refuses error   // why no request is begun any more, or nil
	closed  bool
}

// A call is a request of ours that waits for its answer.
type call struct {
	ctx      context.Context
	answer   chan Message  // capacity 1; closed when there will be none
	failed   error         // why, set before that; nil: the connection has ended
	progress *progressFeed // nil: none was asked for
}

// A serving is a request of the other side that Handle works on.
type serving struct {
	method string
	cancel context.CancelFunc
	done   chan struct{} // closed when it has been answered
}

// NewPeer returns a peer that sends by t. Close ends it.
func NewPeer(t Transport, opts Options) *Peer {
	if opts.MaxRequests <= 0 {
		opts.MaxRequests = 1024
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.Account == nil {
		opts.Account = guard.NewAccounts(opts.MaxBytes, 2*opts.MaxBytes).Of("")
	}
	p := &Peer{
		transport: t,
		opts:      opts,
		calls:     map[string]*call{},
		serving:   map[string]*serving{},
		backlog:   backlog{most: opts.MaxRequests, account: opts.Account},
	}
	p.life, p.die = context.WithCancel(context.Background())
	return p
}

// Notify sends a notification. Params may be nil.
func (p *Peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return p.transport.Send(ctx, Message{Method: method, Params: params})
}

// TryNotify sends a notification unless it would have to wait: then it is lost.
func (p *Peer) TryNotify(ctx context.Context, method string, params json.RawMessage) {
	p.transport.Try(ctx, Message{Method: method, Params: params})
}

// Call sends a request and returns the raw result. An error object comes back as a
// [Failure]; [ErrClosed] means that no answer can come any more. When ctx ends first,
// the other side is told by notifications/cancelled and the error wraps ctx's cause.
//
// Progress, if not nil, asks the other side to report and receives the params of its
// reports, one after the other, all before Call returns. They have a token of ours.
func (p *Peer) Call(ctx context.Context, method string, params json.RawMessage, progress func(params json.RawMessage)) (json.RawMessage, error) {
	id, c := p.begin(ctx, progress)
	if c == nil {
		return nil, ErrNotSent
	}
	defer p.finish(id, c)
	if progress != nil {
		var err error
		if params, err = WithProgressToken(params, json.RawMessage(id)); err != nil {
			return nil, err
		}
	}
	err := p.transport.Send(ctx, Message{ID: json.RawMessage(id), Method: method, Params: params})
	if err == nil {
		select {
		case m, ok := <-c.answer:
			if ok || ctx.Err() == nil {
				return c.answerOf(m, ok)
			}
		case <-ctx.Done():
		}
	} else {
		select {
		case m, ok := <-c.answer: // it came before what went wrong
			if ok || c.failed != nil {
				return c.answerOf(m, ok)
			}
		default:
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if method != "initialize" { // which nobody may cancel
			p.transport.Try(context.WithoutCancel(ctx), Message{Method: "notifications/cancelled", Params: cancelledParams(id)})
		}
	}
	return nil, err
}

func (c *call) answerOf(m Message, ok bool) (json.RawMessage, error) {
	switch {
	case ok:
		return m.Answer()
	case c.failed != nil:
		return nil, c.failed
	}
	return nil, ErrClosed
}

// cancelledParams is the params of notifications/cancelled for the request of this id.
func cancelledParams(id string) json.RawMessage {
	return json.RawMessage(`{"requestId":` + id + `,"reason":"the call was cancelled or ran out of time"}`)
}

// begin registers a call. It returns nil if no answer can come any more.
func (p *Peer) begin(ctx context.Context, progress func(json.RawMessage)) (id string, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		return "", nil
	}
	p.seq++
	id = `"rlm-` + p.opts.IDs + strconv.FormatInt(p.seq, 10) + `"`
	c = &call{ctx: ctx, answer: make(chan Message, 1)}
	if progress != nil {
		c.progress = newProgressFeed(func(params json.RawMessage) {
			defer p.survive(nil)
			progress(params)
		})
	}
	p.calls[id] = c
	return id, c
}

// finish forgets a call and returns when its progress has been handed out.
func (p *Peer) finish(id string, c *call) {
	p.mu.Lock()
	delete(p.calls, id)
	p.mu.Unlock()
	if c.progress != nil {
		c.progress.end()
	}
}

// Receive takes in a message of the other side. An error says why a request was not
// begun: its id is neither a string nor a number, or in use; too many requests wait; or
// the peer has ended. [Refused] says so to the other side.
//
// What Handle and Notified do for the message they do with ctx. Receive waits only
// for room for the answer to a call whose ctx has a [guard.Hold].
func (p *Peer) Receive(ctx context.Context, m Message) error {
	switch {
	case m.Method == "":
		p.deliver(m)
	case m.ID != nil:
		_, err := p.serve(ctx, m)
		if err != nil && p.opts.Refused != nil {
			p.opts.Refused(m.Method, m.Params, err)
		}
		return err
	case m.Method == "notifications/cancelled":
		p.cancelled(jsonscan.Member(m.Params, "requestId"))
	case m.Method == "notifications/progress" && p.report(m.Params):
	case p.opts.Notified != nil:
		defer p.survive(nil)
		p.opts.Notified(ctx, m.Method, m.Params)
	}
	return nil
}

// deliver hands an answer to the call that waits for it. An answer that nobody waits
// for came too late, and is dropped.
func (p *Peer) deliver(m Message) {
	c := p.take(string(m.ID))
	if c == nil {
		return
	}
	if h := guard.HoldOf(c.ctx); h != nil {
		ctx, cancel := context.WithCancel(c.ctx)
		stop := context.AfterFunc(p.life, cancel)
		err := h.Take(ctx, int64(len(m.Result)))
		stop()
		cancel()
		if err != nil { // the call or the peer has ended
			close(c.answer)
			return
		}
	}
	c.answer <- m
}

// take returns the call of an id, which gets its answer now, or nil.
func (p *Peer) take(id string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	if c != nil {
		delete(p.calls, id)
	}
	return c
}

// waits reports whether the call of an id waits for its answer.
func (p *Peer) waits(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[id] != nil
}

// Waits reports whether a call of ours waits for the answer with this id.
func (p *Peer) Waits(id json.RawMessage) bool { return p.waits(string(id)) }

// Unreadable tells the peer of a message that could not be read: the call that it would
// have answered fails with [ErrBadAnswer]. Where nobody can tell which that is and all is set, every call
// fails, since one of them would wait for ever.
func (p *Peer) Unreadable(ends Ends, why error, all bool) {
	id, answer := ends.Answers()
	if !answer {
		return
	}
	failed := fmt.Errorf("%w: %w", ErrBadAnswer, brief{why})
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.calls {
		if key == string(id) || all && id == nil {
			delete(p.calls, key)
			c.failed = failed
			close(c.answer)
		}
	}
}

// report hands the params of notifications/progress to the call that they are about, and
// reports whether there is one.
func (p *Peer) report(params json.RawMessage) bool {
	token := jsonscan.Member(params, "progressToken")
	p.mu.Lock()
	c := p.calls[string(token)]
	p.mu.Unlock()
	if c == nil || c.progress == nil {
		return false
	}
	c.progress.add(params)
	return true
}

// serve begins to answer a request of the other side.
func (p *Peer) serve(ctx context.Context, m Message) (*serving, error) {
	if err := checkID(m.ID); err != nil {
		return nil, err
	}
	id, size := string(m.ID), int64(len(m.ID)+len(m.Params))
	ctx, cancel := context.WithCancel(context.WithValue(ctx, idKey{}, m.ID))
	s := &serving{m.Method, cancel, make(chan struct{})}
	if err := p.admit(id, size, s); err != nil {
		cancel()
		return nil, err
	}
	stop := context.AfterFunc(p.life, cancel)
	go func() {
		defer p.handlers.Done()
		defer close(s.done)
		defer cancel()
		defer stop()
		result, err := p.handled(ctx, m)
		p.mu.Lock()
		if p.serving[id] == s { // else it was cancelled, and another may have its id
			delete(p.serving, id)
		}
		p.mu.Unlock()
		p.reply(ctx, m.ID, result, err)
		p.mu.Lock()
		p.backlog.done(size)
		p.mu.Unlock()
	}()
	return s, nil
}

type idKey struct{}

// RequestID returns the id of the request that ctx is of, as written, or nil.
func RequestID(ctx context.Context) json.RawMessage {
	id, _ := ctx.Value(idKey{}).(json.RawMessage)
	return id
}

// admit counts a request of the other side, or says why it cannot be begun.
func (p *Peer) admit(id string, size int64, s *serving) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed, p.calls == nil: // Close or Wait may have begun to wait for the others
		return ErrClosed
	case p.refuses != nil:
		return p.refuses
	case p.serving[id] != nil:
		return ErrIDInUse
	}
	if err := p.backlog.add(size); err != nil {
		return err
	}
	p.serving[id] = s
	p.handlers.Add(1)
	return nil
}

// reply sends the answer to a request, unless it was cancelled.
func (p *Peer) reply(ctx context.Context, id, result json.RawMessage, err error) {
	switch {
	case ctx.Err() != nil:
		if p.opts.Unanswered != nil {
			p.opts.Unanswered(ctx)
		}
	case err != nil:
		_ = p.transport.Send(ctx, Message{ID: id, Error: ErrorObject(err)}) // it fails only if nobody is there to read it
	default:
		_ = p.transport.Send(ctx, Message{ID: id, Result: result})
	}
}

// handled is opts.Handle, whose panic costs the one request.
func (p *Peer) handled(ctx context.Context, m Message) (result json.RawMessage, err error) {
	defer p.survive(&err)
	return p.opts.Handle(ctx, m.Method, m.Params)
}

// survive turns a panic of what we call back into an error that says nothing of it to
// the other side.
func (p *Peer) survive(err *error) {
	v := recover()
	if v == nil {
		return
	}
	if err != nil {
		*err = errors.New("internal error")
	}
	if p.opts.Fault != nil {
		p.opts.Fault(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}

// cancelled ends a request of the other side, which gets no answer then. A client must not cancel initialize: its
// answer still comes.
func (p *Peer) cancelled(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.serving[string(id)]; s != nil && s.method != "initialize" {
		s.cancel()
		delete(p.serving, string(id))
	}
}

// Abandon cancels the requests of the other side that wait, and answers each with why.
func (p *Peer) Abandon(why error) {
	p.mu.Lock()
	waiting := p.serving
	p.serving = map[string]*serving{}
	for _, s := range waiting {
		s.cancel() // before it can be answered otherwise
	}
	p.mu.Unlock()
	for id := range waiting {
		_ = p.transport.Send(p.life, Message{ID: json.RawMessage(id), Error: ErrorObject(why)}) // it fails only if nobody is there to read it
	}
}

// Refuse has no other request of the other side begin, and says why. Those that have begun
// go on.
func (p *Peer) Refuse(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = why
}

// Serving is how many requests of the other side wait for their answers.
func (p *Peer) Serving() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.serving)
}

// Serves reports whether a request of the other side with this id waits for its answer.
func (p *Peer) Serves(id json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serving[string(id)] != nil
}

// End says that nothing more is received: calls that wait fail with [ErrClosed], and so
// do later ones. Requests of the other side that have begun go on, and no other begins.
func (p *Peer) End() {
	p.mu.Lock()
	calls := p.calls
	p.calls = nil
	p.mu.Unlock()
	for _, c := range calls {
		close(c.answer)
	}
}

// Wait returns when no request of the other side is being answered. It is for use after
// End or Refuse.
func (p *Peer) Wait() { p.handlers.Wait() }

// Close ends the calls and requests of both sides, and returns when none runs. It may
// be called more than once, but not by Handle.
func (p *Peer) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.die()
	p.End()
	p.handlers.Wait()
}

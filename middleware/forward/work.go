package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
)

// A work is a request of another replica's client. It is the way to that client.
type work struct {
	f       *Forwarder
	replica string
	id      string
	asks    bool // the client can be asked
	end     context.CancelFunc
	session Session

	ready chan struct{} // closed when session is set

	mu       sync.Mutex // guards the fields below
	queue    []rpc.Message
	bytes    int           // that they have
	answered bool          // the answer is in the queue, or there is none
	wake     chan struct{} // capacity 1
}

var _ rpc.Transport = (*work)(nil)

// requestID is the id that a request has here.
var requestID = json.RawMessage("1")

// takeRequest begins to work on a request. It does not block.
func (f *Forwarder) takeRequest(from string, body json.RawMessage) {
	var w wireRequest
	if !f.decode(from, kindRequest, body, &w) || len(w.ID) > maxIDBytes {
		return
	}
	one := &work{f: f, replica: from, id: w.ID, asks: w.Client.Handshake != nil, ready: make(chan struct{}), wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := from + " " + w.ID
	if f.life.Err() != nil || f.works[key] != nil || len(f.works) >= 2*maxWorks {
		return // whoever sent it hears nothing, which says so
	}
	full := len(f.works) >= maxWorks
	f.works[key] = one
	var ctx context.Context
	ctx, one.end = context.WithCancel(f.life)
	f.going.Go(func() {
		defer f.survive()
		defer func() {
			one.end()
			f.mu.Lock()
			if delete(f.works, key); len(f.works) == 0 && f.idle != nil {
				close(f.idle)
				f.idle = nil
			}
			f.mu.Unlock()
		}()
		if full {
			one.push(rpc.Message{ID: requestID, Error: rpc.ErrorObject(errors.New((&guard.BusyError{Text: "requests of other replicas wait here already"}).Error()))})
			close(one.ready)
		} else {
			defer one.begin(ctx, w.Request)()
		}
		one.run(ctx)
	})
}

// survive has what another replica sent cost no more than the one request.
func (f *Forwarder) survive() {
	if v := recover(); v != nil {
		f.log.Error("internal error", "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}

type ofRequest struct{}

// begin hands the request in. What it returns ends that.
func (w *work) begin(ctx context.Context, r Request) (end func()) {
	w.session = w.f.opts.Attach(w, r.Client, rpc.Options{Unanswered: func(context.Context) { w.unanswered() }})
	close(w.ready)
	params := json.RawMessage(r.Params)
	if len(params) == 0 {
		params = nil
	} else if !json.Valid(params) {
		w.push(rpc.Refused(requestID, errors.New("another replica sent params that are not JSON")))
		return w.session.End
	}
	err := w.session.Receive(context.WithValue(ctx, ofRequest{}, true), rpc.Message{ID: requestID, Method: r.Method, Params: params})
	if err != nil {
		w.push(rpc.Refused(requestID, err))
	}
	return w.session.End
}

// Send implements [rpc.Transport]. It does not block. What is not about the request is not for
// this client: it has another session.
func (w *work) Send(ctx context.Context, m rpc.Message) error {
	if m.Method != "" && m.ID != nil && !w.asks {
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "clients of revision " + revision.Stateless + " can be asked for input only in results of their own requests"}
	}
	switch {
	case m.Method == "":
	case m.Method != "notifications/cancelled" && ctx.Value(ofRequest{}) == nil:
		return nil
	case size(m) > maxBytes && m.ID != nil:
		return &TooLongError{size(m)}
	case size(m) > maxBytes:
		return nil
	}
	w.push(m)
	return nil
}

// Try implements [rpc.Transport].
func (w *work) Try(ctx context.Context, m rpc.Message) { _ = w.Send(ctx, m) }

// push queues a message. A notification is lost where too many wait.
func (w *work) push(m rpc.Message) {
	if m.Method != "" {
		m = m.Clone()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered || m.Method != "" && m.ID == nil && (len(w.queue) >= maxQueued || w.bytes > 0 && w.bytes+size(m) > maxQueuedBytes) {
		return
	}
	w.queue = append(w.queue, m)
	w.bytes += size(m)
	w.answered = m.Method == ""
	w.awake()
}

// unanswered says that the request was cancelled.
func (w *work) unanswered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = true
	w.awake()
}

// awake has run look. w.mu must be held.
func (w *work) awake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next returns the next message, nil if there is none, and whether others may come.
func (w *work) next() (m *rpc.Message, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, !w.answered
	}
	m = &w.queue[0]
	w.queue = w.queue[1:]
	w.bytes -= size(*m)
	return m, true
}

// run hands on what the request causes, one after the other, and says that it is being worked
// on. It returns when the replica has the answer, wants none, or is gone.
func (w *work) run(ctx context.Context) {
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	var last *wireMessage // that may not have been heard
	seq, beats, answered := 0, 0, time.Time{}
	w.tell(ctx, wireMessage{ID: w.id})
	for {
		for {
			m, more := w.next()
			if m == nil {
				if !more && answered.IsZero() { // it was cancelled
					w.gone(ctx)
					return
				}
				break
			}
			seq++
			out := wireMessage{ID: w.id, Seq: seq, Message: w.fitting(*m)}
			if err := w.tell(ctx, out); m.Method == "" || m.ID != nil && err != nil {
				last = &out
			}
			if m.Method == "" {
				answered = time.Now()
			}
		}
		select {
		case <-w.wake:
			continue
		case <-ctx.Done():
			w.gone(ctx)
			return
		case <-tick.C:
		}
		if beats++; beats%3 == 0 && answered.IsZero() {
			if alive, err := w.f.fleet.Alive(ctx, w.replica); err == nil && !alive {
				return // its client is gone with it
			}
		}
		switch {
		case last != nil: // the store may have been away
			if err := w.tell(ctx, *last); err == nil && answered.IsZero() {
				last = nil
			}
			if !answered.IsZero() && time.Since(answered) > ackTime {
				return
			}
		default:
			w.tell(ctx, wireMessage{ID: w.id, Seq: seq})
		}
	}
}

// fitting is a message, or where that is too long to be handed on, an error in its place.
func (w *work) fitting(m rpc.Message) []byte {
	if n := size(m); n > maxBytes {
		w.f.log.Warn("an answer is too long to be handed on to another replica", "replica", w.replica, "bytes", n)
		m = rpc.Message{ID: m.ID, Error: rpc.ErrorObject(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: (&TooLongError{n}).Error()})}
	}
	return m.Bytes()
}

// size is how many bytes a message has, without the few that every message has.
func size(m rpc.Message) int {
	return len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
}

func (w *work) tell(ctx context.Context, m wireMessage) error {
	return w.f.tell(ctx, w.replica, kindMessage, m)
}

// gone says that there is no answer, if that is since this replica ends.
func (w *work) gone(ctx context.Context) {
	if w.f.life.Err() != nil {
		_ = w.tell(ctx, wireMessage{ID: w.id, Gone: true})
	}
}

// takeControl hears from whoever sent a request. It does not block.
func (f *Forwarder) takeControl(from string, body json.RawMessage) {
	var c wireControl
	if !f.decode(from, kindControl, body, &c) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.works[from+" "+c.ID]
	switch {
	case w == nil:
	case c.Answer == nil:
		w.end()
	default:
		m, err := rpc.Parse(c.Answer)
		if err != nil || m.Method != "" || m.ID == nil || f.life.Err() != nil {
			f.log.Debug("what another replica said cannot be read", "replica", from, "error", fmt.Errorf("no answer: %w", err))
			return
		}
		f.going.Go(func() {
			defer f.survive()
			w.answer(m)
		})
	}
}

// answer hands in what the client says to a question.
func (w *work) answer(m rpc.Message) {
	<-w.ready
	if w.session != nil {
		_ = w.session.Receive(context.Background(), m) // it is an answer, which is taken or dropped
	}
}

package forward

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/rpc"
)

// A sent request is at another replica.
type sent struct {
	replica string

	mu    sync.Mutex // guards the fields below
	came  []wireMessage
	bytes int           // that they have
	heard bool          // it was heard of since it was looked
	wake  chan struct{} // capacity 1: something has come
}

// Receiver takes what comes for the client before the result. Its methods are called one after
// the other.
type Receiver interface {
	// Tell hands on a notification.
	Tell(method string, params json.RawMessage)
	// Ask asks the client, and returns its answer or its error. It is called in a goroutine
	// of its own.
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// Send has a replica answer a request of a party, and returns the raw result or the error that
// it gives. ErrGone says that the replica is gone, a [TooLongError] and a guard.BusyError that
// the request was not sent, and a fleet.AwayError that the store cannot be asked where to. When ctx
// ends, the replica hears of it.
func (f *Forwarder) Send(ctx context.Context, replica, party string, r Request, to Receiver) (json.RawMessage, error) {
	done, err := f.calls.Begin(party)
	if err != nil {
		return nil, err
	}
	defer done()
	if n := len(r.Params) + len(r.Client.Handshake); n > maxBytes {
		return nil, &TooLongError{n}
	}
	if alive, err := f.fleet.Alive(ctx, replica); err != nil {
		return nil, err
	} else if !alive {
		return nil, ErrGone
	}
	id := rand.Text()
	s := &sent{replica: replica, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.sent[id] = s
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.sent, id)
		f.mu.Unlock()
	}()
	if err := f.fleet.Tell(ctx, replica, kindRequest, wireRequest{id, r}); err != nil {
		return nil, err
	}
	// It has the answer, or nobody wants it any more.
	defer func() { _ = f.tell(context.WithoutCancel(ctx), replica, kindControl, wireControl{ID: id}) }()
	again := func() error { return f.fleet.Tell(ctx, replica, kindRequest, wireRequest{id, r}) }
	return f.receive(ctx, id, s, to, again)
}

// receive takes what comes, until the answer. Again sends the request once more, of which the
// replica takes one.
func (f *Forwarder) receive(ctx context.Context, id string, s *sent, to Receiver, again func() error) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	var questions sync.WaitGroup
	defer questions.Wait()
	defer cancel() // before the questions are waited for
	asking := make(chan struct{}, maxQuestions)
	last := 0 // message that has come
	silence := time.NewTimer(againTime)
	defer silence.Stop()
	sentAt, begun := time.Now(), false
	for {
		silent := false
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-silence.C: // or its client was slow to take what came
			silent = true
		case <-s.wake:
		}
		came, heard := s.take()
		switch {
		case heard:
			begun = true
			silence.Reset(silentTime)
		case silent && begun:
			return nil, f.silent(ctx, s.replica)
		case silent:
			err := again()
			if took := time.Since(sentAt); took > silentTime || err == nil && took > beginTime {
				return nil, cmp.Or(err, f.silent(ctx, s.replica))
			}
			silence.Reset(againTime)
		}
		for _, w := range came {
			switch {
			case w.Gone:
				return nil, ErrGone
			case w.Seq <= last: // it was told twice
				continue
			}
			last = w.Seq
			m, err := rpc.Parse(w.Message)
			switch {
			case err != nil:
				return nil, fmt.Errorf("another replica sent no message: %w", err)
			case m.Method == "":
				return m.Answer()
			case m.ID == nil:
				to.Tell(m.Method, m.Params)
				continue
			}
			answer := func() {
				a := rpc.Message{ID: m.ID}
				result, err := to.Ask(ctx, m.Method, m.Params)
				if a.Result = result; err != nil {
					a.Result, a.Error = nil, rpc.ErrorObject(err)
				}
				_ = f.tell(ctx, s.replica, kindControl, wireControl{id, a.Bytes()}) // else it waits until the call's time is over
			}
			select {
			case asking <- struct{}{}:
				questions.Go(func() {
					defer func() { <-asking }()
					answer()
				})
			default:
				refused := rpc.Message{ID: m.ID, Error: rpc.ErrorObject(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%d questions to this client are open", maxQuestions)})}
				_ = f.tell(ctx, s.replica, kindControl, wireControl{id, refused.Bytes()})
			}
		}
	}
}

// silent is why nothing comes.
func (f *Forwarder) silent(ctx context.Context, replica string) error {
	if _, err := f.fleet.Alive(ctx, replica); err != nil {
		return err
	}
	return ErrGone
}

// take returns what has come, and whether there was any sign since it was asked last.
func (s *sent) take() (came []wireMessage, heard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	came, heard = s.came, s.heard
	s.came, s.bytes, s.heard = nil, 0, false
	return came, heard
}

// takeMessage hears from the replica that works on a request. It does not block.
func (f *Forwarder) takeMessage(from string, body json.RawMessage) {
	var w wireMessage
	if !f.decode(from, kindMessage, body, &w) {
		return
	}
	f.mu.Lock()
	s := f.sent[w.ID]
	if s == nil && !w.Gone && len(w.ID) <= maxIDBytes {
		f.over(from, w.ID)
	}
	f.mu.Unlock()
	if s == nil || s.replica != from {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = true
	// What its client does not take in time is lost, but not the end of it. A replica asks no more
	// than its servers do at one time.
	room := len(s.came) < maxQueued && (s.bytes == 0 || s.bytes+len(w.Message) <= maxQueuedBytes)
	if w.Gone || w.Message != nil && len(s.came) < 2*maxQueued && (room || !isNotification(w.Message)) {
		s.came = append(s.came, w)
		s.bytes += len(w.Message)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// over tells a replica that a request has ended here which it still works on, and has not heard
// so: the store was away. It does not block. f.mu must be held.
func (f *Forwarder) over(replica, id string) {
	if f.life.Err() == nil && f.telling < maxTelling {
		f.telling++
		f.going.Go(func() {
			_ = f.tell(f.life, replica, kindControl, wireControl{ID: id}) // or it says once more that it works on it
			f.mu.Lock()
			f.telling--
			f.mu.Unlock()
		})
	}
}

func isNotification(message []byte) bool {
	m, err := rpc.Parse(message)
	return err == nil && m.Method != "" && m.ID == nil
}

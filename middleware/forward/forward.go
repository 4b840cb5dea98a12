// Package forward has another replica answer a request that only it can go on with.
//
//	Forwarder.Send ─► the bus ─► Options.Attach at the other replica, a session for the one request
//	progress, questions, the result ◄─ the bus ◄─┘
//
// Messages cross as the bytes that they are. Who asks, and by which rights, is what the
// replica says that the client came to: replicas trust what is in their store.
package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
)

// ErrGone is in the error of a request whose replica is not there any more, or has ended
// meanwhile.
var ErrGone = errors.New("the replica of the proxy that this is at is gone")

// A TooLongError says that a message is longer than replicas can hand on.
type TooLongError struct{ Bytes int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%d bytes are more than one replica of the proxy can hand on to another, %d", e.Bytes, maxBytes)
}

const (
	// maxBytes bounds a message, about 5 MB: on the bus it takes a third more.
	maxBytes = fleet.MaxTold * 6 / 10
	// beatTime is how often whoever works on a request says so, and silentTime after how
	// long without that it is taken for lost.
	beatTime   = 3 * time.Second
	silentTime = 10 * time.Second
	// The first sign comes at once, unless the store was away for a moment: againTime is after
	// how long the request is sent once more, and beginTime how long a replica that could have heard
	// of it may take.
	againTime = time.Second
	beginTime = beatTime + againTime/2
	// ackTime is how long an answer is repeated that nobody has confirmed: the store may be
	// away for a moment.
	ackTime = 30 * time.Second
	// tellTime bounds what is told of the end of a request.
	tellTime = 2 * time.Second
	// maxWorks bounds the requests of other replicas that are worked on at one time.
	maxWorks = 1024
	// Bounds on the notifications of one request that wait to be handed on.
	maxQueued      = 256
	maxQueuedBytes = 1 << 20 // one may be longer than that
	// maxTelling bounds the replicas that are told at one time that a request has ended.
	maxTelling = 64
	// maxIDBytes bounds the name that a request has between two replicas.
	maxIDBytes = 64
	// maxQuestions bounds what the client of one request is asked at one time.
	maxQuestions = 16
)

// The kinds of what is told on the bus.
const (
	kindRequest = "forward request" // to the replica that goes on with it: a wireRequest
	kindMessage = "forward message" // back: a wireMessage
	kindControl = "forward control" // to it: a wireControl
)

// A Client is who sends a request.
type Client struct {
	Identity session.Identity `json:"identity"`
	// Handshake are the params of its initialize. Nil: the request is one of 2026-07-28.
	Handshake []byte `json:"handshake,omitempty"`
}

// A Request is one that another replica is to answer.
type Request struct {
	Client Client `json:"client"`
	Method string `json:"method"`
	Params []byte `json:"params"`
}

// wireRequest begins a request.
type wireRequest struct {
	ID string `json:"id"`
	Request
}

// wireMessage is a message for the client, or without one a sign of life.
type wireMessage struct {
	ID      string `json:"id"`
	Seq     int    `json:"seq"` // of the message, from one; of a sign, how many there were
	Message []byte `json:"message,omitempty"`
	Gone    bool   `json:"gone,omitempty"` // the replica ends, and there is no answer
}

// wireControl is for a request that is worked on: an answer of its client's to a question, or
// without one its end.
type wireControl struct {
	ID     string `json:"id"`
	Answer []byte `json:"answer,omitempty"`
}

// A Session works on one request. A *[session.Session] is one.
type Session interface {
	Receive(ctx context.Context, m rpc.Message) error
	End()
}

// Options configures a [Forwarder]. Fleet and Attach are required.
type Options struct {
	Fleet *fleet.Store
	// Attach begins a session for a request of another replica's client, which is reached by t. Of
	// opts it takes Unanswered. Nothing of the client ends with that session.
	Attach func(t rpc.Transport, c Client, opts rpc.Options) Session
	// MaxSent is how many requests of one party may be at other replicas at one time. Zero
	// means 256.
	MaxSent int
	Logger  *slog.Logger // nil discards it
}

// A Forwarder hands requests on, and works on those that other replicas hand on. It is safe
// for concurrent use.
type Forwarder struct {
	opts  Options
	fleet *fleet.Store
	calls *guard.Calls
	log   *slog.Logger

	life  context.Context // ended by Close
	end   context.CancelFunc
	going sync.WaitGroup // works, and what tells of others; none is added once life has ended

	mu      sync.Mutex // guards the fields below
	sent    map[string]*sent
	works   map[string]*work // by replica and id
	idle    chan struct{}    // closed when nothing is worked on any more; nil: nobody waits for that
	telling int              // how many replicas are just told that a request has ended
}

// New returns a Forwarder, which works on what other replicas send from now on. Close ends it.
func New(opts Options) *Forwarder {
	if opts.MaxSent == 0 {
		opts.MaxSent = 256
	}
	f := &Forwarder{opts: opts, fleet: opts.Fleet, log: opts.Logger, sent: map[string]*sent{}, works: map[string]*work{},
		calls: guard.NewCalls("requests at other replicas", opts.MaxSent, 0)}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.life, f.end = context.WithCancel(context.Background())
	f.fleet.Handle(kindRequest, f.takeRequest)
	f.fleet.Handle(kindMessage, f.takeMessage)
	f.fleet.Handle(kindControl, f.takeControl)
	return f
}

// Finish returns when nothing is worked on for other replicas, or ctx has ended.
func (f *Forwarder) Finish(ctx context.Context) {
	for {
		f.mu.Lock()
		if len(f.works) == 0 {
			f.mu.Unlock()
			return
		}
		if f.idle == nil {
			f.idle = make(chan struct{})
		}
		idle := f.idle
		f.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends what is worked on for other replicas, which hear of it, and returns when nothing
// of it runs. A nil Forwarder has nothing to end.
func (f *Forwarder) Close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.going.Wait()
}

// Working is how many requests of other replicas are worked on.
func (f *Forwarder) Working() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.works)
}

// decode reads what was told. What is malformed is of another version, or of nobody of ours.
func (f *Forwarder) decode(from, kind string, body json.RawMessage, into any) bool {
	if err := json.Unmarshal(body, into); err != nil {
		f.log.Debug("what another replica said cannot be read", "replica", from, "kind", kind, "error", err)
		return false
	}
	return true
}

// tell tells a replica, for at most tellTime if ctx is the one of something that has ended.
func (f *Forwarder) tell(ctx context.Context, replica, kind string, body any) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), tellTime)
		defer cancel()
	}
	return f.fleet.Tell(ctx, replica, kind, body)
}

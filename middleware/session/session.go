// Package session is one client: its handshake, what it can be asked, what it wants to
// hear.
//
//	rpc.Peer ─► handshake, ping, server/discover ─► answered here
//	       └──► every other request ─► Options.Request
//	what servers ask and tell ─► Ask, Tell, Listener ─► rpc.Peer
//
// A client of revision 2025-11-25 and before shakes hands once; requests of 2026-07-28
// stand for themselves. A session may serve either, and over stdin and stdout both.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
)

// Hooks are what a session calls of whoever routes its requests. All are required.
type Hooks struct {
	// Offer returns what the handshake and server/discover, r, say: the capabilities, an
	// object, and the instructions.
	Offer func(ctx context.Context, r *Request) (capabilities json.RawMessage, instructions string, err error)
	// Request answers a request that is not about the session itself, with a raw result
	// or an error. It may be called concurrently.
	Request func(ctx context.Context, r *Request) (json.RawMessage, error)
	// Refused hears of a request that is not answered by Request, since it is malformed,
	// does not belong where the session stands or finds no room. Params may be anything.
	Refused func(s *Session, method string, params json.RawMessage, err error)
	// Notification takes what the client tells its servers. It must neither block nor
	// keep params.
	Notification func(s *Session, method string, params json.RawMessage)
	// Ended is called once, when nothing that the client asked runs any more, to forget
	// the client: what is of it here, if the session was [Session.Left]. It returns when ctx
	// ends at the latest.
	Ended func(ctx context.Context, s *Session)
	// Follow does for a client what it has asked another replica for, see
	// [Session.Follow].
	Follow func(ctx context.Context, r *Request) error
	// Subscriptions are the URIs that a client of an older revision has subscribed to.
	Subscriptions func(s *Session) []string
}

// Options configures a [Session].
type Options struct {
	Hooks
	Identity Identity
	// Number tells connections without any other identity apart.
	Number int
	// Shared makes all sessions one agent.
	Shared bool
	// ServerInfo is who the client is told that we are, an object.
	ServerInfo json.RawMessage
	// Past, if not nil, is what the client has said to another replica: it has shaken
	// hands there.
	Past *Past
	// Guest says that another replica has the client, and hands on one request of it: nothing
	// of its agent ends with the session.
	Guest bool
	// Handshake are the params of an initialize that a guest's own replica has answered. Nil:
	// it sends a request of 2026-07-28.
	Handshake json.RawMessage
}

// sharedAgent is everybody, where the operator turned isolation off.
const sharedAgent = "shared"

// A Session is one client and the agent behind it.
type Session struct {
	*rpc.Peer

	opts Options
	// Agent is whose results, processes and turns it uses. Ends says that nobody can be
	// that agent once the session has ended.
	Agent string
	Ends  bool
	// Party is the agent that it would be if no two shared a name: what servers ask and
	// tell is for one party, whether or not agents share what is kept.
	Party string
	// PartyEnds says that nobody can be that party once the session has ended.
	PartyEnds bool

	begun    chan struct{} // closed by Begin
	gate     *gate
	draining chan struct{} // closed when the client asks nothing more
	end      sync.Once
	left     bool // set by end
	outbox   outbox

	mu        sync.Mutex // guards the fields below
	handshake json.RawMessage
	shaken    bool            // initialize has been answered
	stated    json.RawMessage // what a request of 2026-07-28 said last that the client can do, or nil
	level     logLevel
	who       rights.Who
	listeners map[*Listener]bool
	drained   bool
}

// New returns a session whose client is reached by the peer that bind makes of the
// options that it gets. What the client sends waits until Begin.
func New(opts Options, base rpc.Options, bind func(rpc.Options) *rpc.Peer) *Session {
	s := &Session{
		opts:      opts,
		begun:     make(chan struct{}),
		gate:      newGate(),
		draining:  make(chan struct{}),
		listeners: map[*Listener]bool{},
		who:       opts.Identity.Who,
	}
	s.Party, s.Ends = opts.Identity.agent(opts.Number)
	s.Agent, s.PartyEnds = s.Party, s.Ends
	if opts.Shared {
		s.Agent, s.Ends = sharedAgent, false
	}
	if opts.Past != nil {
		s.resume(*opts.Past)
	}
	if opts.Guest {
		s.Ends, s.PartyEnds = false, false
	}
	if opts.Handshake != nil && s.begin(opts.Handshake) == nil {
		s.shaken = true
		s.gate.release()
	}
	base.Handle, base.Notified, base.Refused = s.handle, s.notified, s.refused
	s.Peer = bind(base)
	return s
}

// Begin has the requests of the client answered. It is called once.
func (s *Session) Begin() { close(s.begun) }

// handle answers a request of the client.
func (s *Session) handle(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	<-s.begun
	r, err := newRequest(ctx, s, method, params)
	if err == nil {
		r.Who = s.noteWho(ctx)
		err = s.admit(r)
	}
	if err != nil {
		s.opts.Refused(s, method, params, err)
		return nil, err
	}
	result, err := s.answer(ctx, r)
	if err != nil || !r.Stateless {
		return result, err
	}
	return complete(result, s.opts.ServerInfo)
}

// refused hears of a request of the client that the peer has not begun.
func (s *Session) refused(method string, params json.RawMessage, err error) {
	<-s.begun
	s.opts.Refused(s, method, params, err)
}

// removed are the requests that revision 2026-07-28 has no more.
var removed = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// admit refuses a request that does not belong where the session stands.
func (s *Session) admit(r *Request) error {
	notFound := func(text string) error {
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "\"" + r.Method + "\" " + text}
	}
	if r.Stateless {
		if removed[r.Method] {
			return notFound("is not supported in revision " + revision.Stateless)
		}
		s.state(r.Capabilities)
		s.gate.release()
		return nil
	}
	switch r.Method {
	case "initialize", "ping":
		return nil
	case "server/discover", "subscriptions/listen":
		return notFound("is only supported in revision " + revision.Stateless)
	}
	if s.Handshake() == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "send initialize first; a request of " + revision.Stateless + " names its revision in _meta"}
	}
	s.gate.release()
	return nil
}

// answer answers what is about the session itself, and hands on the rest.
func (s *Session) answer(ctx context.Context, r *Request) (json.RawMessage, error) {
	switch r.Method {
	case "initialize":
		return s.initialize(ctx, r)
	case "server/discover":
		return s.discover(ctx, r)
	case "ping":
		return json.RawMessage("{}"), nil
	}
	return s.opts.Request(ctx, r)
}

// notified takes a notification of the client.
func (s *Session) notified(_ context.Context, method string, params json.RawMessage) {
	<-s.begun
	switch method {
	case "notifications/initialized":
		s.gate.release()
	case "notifications/progress": // of a request that has ended
	default:
		s.opts.Notification(s, method, params)
	}
}

// state notes what a client says in a request of 2026-07-28 that it can do.
func (s *Session) state(capabilities json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level.silent = true
	if !bytes.Equal(s.stated, capabilities) {
		s.stated = bytes.Clone(capabilities)
	}
}

// noteWho returns who makes the request of ctx, which what the client hears later goes by.
func (s *Session) noteWho(ctx context.Context) rights.Who {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who, ok := rights.From(ctx); ok {
		s.who = who
	}
	return s.who
}

// Who made the last request, for the operator's rules.
func (s *Session) Who() rights.Who {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

// Capabilities is what the client has declared that it can do, an object.
func (s *Session) Capabilities() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stated != nil {
		return s.stated
	}
	if can := jsonscan.Member(s.handshake, "capabilities"); len(can) > 0 && can[0] == '{' {
		return can
	}
	return json.RawMessage("{}")
}

// ClientInfo is who the client said it is in its handshake, or nil.
func (s *Session) ClientInfo() json.RawMessage {
	return jsonscan.Member(s.Handshake(), "clientInfo")
}

// IsStateless reports whether the client has sent a request of 2026-07-28.
func (s *Session) IsStateless() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stated != nil
}

// Can reports whether the client answers requests of this method. It may know some
// that we do not.
func (s *Session) Can(method string) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return Declares(s.Capabilities(), method)
	}
	return true
}

// Ask sends the client a request of a server's, when it is initialized. Progress, if not
// nil, receives its reports. What ctx descends from says which request it is about.
func (s *Session) Ask(ctx context.Context, method string, params json.RawMessage, progress func(json.RawMessage)) (json.RawMessage, error) {
	if err := s.gate.wait(ctx); err != nil {
		return nil, err
	}
	return s.Call(ctx, method, params, progress)
}

// Tell sends the client a notification when it is initialized. It does not block, and
// loses what would have to wait too long. It keeps params until then.
func (s *Session) Tell(ctx context.Context, method string, params json.RawMessage) {
	s.gate.pass(len(params), func() { s.TryNotify(ctx, method, params) })
}

// Drain says that the client asks nothing more: streams of changes end.
func (s *Session) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.drained {
		s.drained = true
		close(s.draining)
	}
}

// partTime is how long servers may take to hear that a client has gone.
const partTime = 2 * time.Second

// End cancels what runs and returns when it has ended and the client is forgotten. It
// may be called more than once.
func (s *Session) End() { s.finish(false) }

// finish ends the session, or has it left.
func (s *Session) finish(left bool) {
	s.end.Do(func() {
		s.left = left
		s.Drain()
		s.gate.release()
		s.Peer.Close()
		ctx, cancel := context.WithTimeout(context.Background(), partTime)
		defer cancel()
		var told sync.WaitGroup
		told.Go(func() { s.outbox.close(ctx) })
		s.opts.Ended(ctx, s)
		told.Wait()
	})
}

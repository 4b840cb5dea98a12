package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/time/rate"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// A conn is a connection with a server.
type conn interface {
	Call(ctx context.Context, method string, params json.RawMessage, progress func(params json.RawMessage)) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Done is closed when the connection has ended, of which Exit says how, if that is
	// known.
	Done() <-chan struct{}
	Exit() string
	Close()
}

// hooks are what a session calls back, and what it says to the server.
type hooks struct {
	opts         Options         // of the upstream, all set
	life         context.Context // of the upstream: it outlasts the session
	logger       *slog.Logger
	junk         *rate.Sometimes // logs what is no message
	listChanged  func()          // the server's tools or prompts changed; it does not block
	client       json.RawMessage // who the client is, an object
	capabilities json.RawMessage // what the client can do, an object
	stateless    bool            // the stateless revision is tried first
}

// A session is a connection with a server that has said what it is.
type session struct {
	conn
	hooks hooks
	http  *transport.HTTP            // the same as conn, or nil: over something else
	info  *Info                      // what the server said of itself
	meta  map[string]json.RawMessage // what every request's _meta must have; nil before the stateless revision
	open  opener                     // of another connection; nil: there is no newer revision of this one

	subscriptions subscriptions
	pulse         pulse
	ended         sync.Once // sets the field below
	reason        error     // why the session is over

	life  context.Context // ends with the session
	end   context.CancelFunc
	tasks transport.Tasks
}

// maxServerRequests bounds what one server may ask of its client at one time.
const maxServerRequests = 64

// An opener opens a connection on which nothing has been said yet.
type opener func(ctx context.Context, opts transport.Options) (conn, error)

func newSession(h hooks) *session {
	s := &session{hooks: h, pulse: pulse{stopped: make(chan struct{})}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// openSession connects and shakes hands. With orOlder, a server that refuses the newest
// revision is spoken to in an older one.
func openSession(ctx context.Context, h hooks, open opener, stateless, orOlder bool) (*session, error) {
	s := newSession(h)
	c, err := open(ctx, s.options())
	if err != nil {
		return nil, err
	}
	s.conn = c
	s.http, _ = c.(*transport.HTTP)
	if stateless {
		err = s.discover(ctx)
		var refused *jsonrpc.Error
		stateless = !orOlder || !errors.As(err, &refused)
	}
	if !stateless {
		err = s.initialize(ctx)
	}
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, rpc.ErrClosed) {
		// How it ended says more than which of its pipes was found closed first.
		if how := c.Exit(); how != "" {
			err = errors.New(how)
		}
		err = fmt.Errorf("the server ended during the handshake (%w)", err)
	}
	s.Close()
	return nil, s.withStderr(err, time.Time{})
}

func (s *session) options() transport.Options {
	h := s.hooks
	return transport.Options{
		ConnOptions: rpc.ConnOptions{
			Options: rpc.Options{
				Handle:      s.handle,
				Notified:    s.notified,
				MaxRequests: maxServerRequests,
				MaxBytes:    h.opts.MaxLineBytes,
				Fault:       func(err error) { h.logger.Error("internal error", "error", err) },
			},
			Junk: func(data []byte, err error) {
				h.junk.Do(func() {
					h.logger.Warn("the server sent something that is not a JSON-RPC message", "text", string(data), "error", err)
				})
			},
		},
		Life:   h.life,
		Logger: h.logger,
	}
}

// handle answers a request of the server.
func (s *session) handle(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	s.pulse.hear()
	if method == "ping" {
		return json.RawMessage("{}"), nil
	}
	return s.hooks.opts.Request(ctx, method, params)
}

// notified takes a notification of the server.
func (s *session) notified(ctx context.Context, method string, params json.RawMessage) {
	s.pulse.hear()
	switch method {
	case acknowledged:
		s.subscriptions.acknowledge(params)
		return
	case "notifications/tools/list_changed", "notifications/prompts/list_changed":
		s.hooks.listChanged()
	}
	s.hooks.opts.Notify(ctx, method, params)
}

func (s *session) alive() bool {
	select {
	case <-s.Done():
		return false
	default:
		return true
	}
}

// Close ends the session.
func (s *session) Close() {
	s.end()
	s.conn.Close()
	s.tasks.Wait()
}

// probeWait is how long a server may take to answer the first message of the
// newest revision, the start of its process counted. Some older servers never
// answer what they do not know, and some end.
const probeWait = 10 * time.Second

// negotiate opens a session in the revision that h asks for, or else in the other
// one. Each try is a connection of its own, since servers decide by the first message
// which revision a connection is of.
func negotiate(ctx context.Context, h hooks, open opener) (*session, error) {
	try := func(ctx context.Context, stateless bool) (*session, error) {
		s, err := openSession(ctx, h, open, stateless, h.stateless)
		if err == nil {
			s.open = open
			s.listenToChanges()
		}
		return s, err
	}
	if h.stateless {
		probe, cancel := context.WithTimeoutCause(ctx, probeWait, fmt.Errorf("no answer within %v", probeWait))
		s, err := try(probe, true)
		cancel()
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		h.logger.Debug("the server does not speak the stateless revision", "error", err)
		return try(ctx, false)
	}
	s, err := try(ctx, false)
	if refusedHandshake(err) {
		newer, failed := try(ctx, true)
		if failed == nil {
			return newer, nil
		}
		h.logger.Debug("server/discover", "error", failed)
	}
	return s, err
}

// newer opens another session with the same server, in the stateless revision.
func (s *session) newer(ctx context.Context) (*session, error) {
	open := s.open
	switch {
	case open == nil:
		return nil, errors.New("this connection has no newer revision")
	case s.http != nil:
		open = func(_ context.Context, opts transport.Options) (conn, error) { return s.http.Another(opts), nil }
	}
	newer, err := openSession(ctx, s.hooks, open, true, false)
	if err == nil && (s.http == nil || !s.http.HasSession()) { // else the older one hears of changes
		newer.listenToChanges()
	}
	return newer, err
}

// Package upstream keeps one MCP server connected and calls it.
//
//	config.Server → Dialer → session → Upstream.Call → raw result
//
// An upstream connects in the background, is restarted with backoff when it
// ends, and goes on offering its last tool list meanwhile. Results are the
// server's own bytes. Package transport moves the messages, package process runs a
// command.
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"rlmproxy/middleware/rpc"
)

// Options configures an [Upstream]. Name and Dial are required.
type Options struct {
	Name string
	Dial Dialer
	// Impl is how we introduce ourselves. Nil means rlmproxy.
	Impl *mcp.Implementation
	// ConnectTimeout bounds one attempt to connect. Zero means 2 minutes: the
	// first start of an npx server downloads it.
	ConnectTimeout time.Duration
	// MinBackoff is the first pause between attempts to connect; it doubles up
	// to a minute. Zero means 250 ms.
	MinBackoff time.Duration
	// Disabled makes an upstream that is never started; all but Name is ignored.
	Disabled bool
	// Mask takes secrets out of what the server wrote to stderr, where an error repeats it,
	// and out of errors about the server. Nil: as they are.
	Mask func(text string) string
	// MaxLineBytes caps one message. Zero means [rpc.DefaultMaxBytes].
	MaxLineBytes int64
	// Capabilities returns what we declare to the server that its client can do.
	// It is called before each attempt to connect and may wait until a client has
	// come. It returns a JSON object, or nil: nothing, as is a nil function.
	Capabilities func(ctx context.Context) json.RawMessage
	// ClientInfo returns who the client says it is, which the server is told in place
	// of Impl. It is called after Capabilities. It returns a JSON object, or nil: we
	// introduce ourselves, as with a nil function.
	ClientInfo func() json.RawMessage
	// Stateless reports whether the client speaks the stateless revision: then the server is
	// spoken to in it first. It is called after Capabilities. Nil means no.
	Stateless func() bool
	// Request answers what the server asks of its client. What it asks on behalf
	// of a call comes with the ctx of that call, as far as the transport tells
	// them apart. Nil refuses.
	Request func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify receives the server's notifications but those of progress and
	// cancellation, with a ctx like that of Request. It must not block. Nil drops
	// them.
	Notify func(ctx context.Context, method string, params json.RawMessage)
	// Kept is what the server offered when it was last seen. It counts until the server has
	// connected. Zero: nothing is known.
	Kept Offers
	// Changed is called, never concurrently, when the lists of tools or prompts
	// may have changed. Nil is not called.
	Changed func()
	// Logger receives the server's stderr and our own events. Nil discards.
	Logger *slog.Logger
}

// A Tool is one of the server's tools, or prompts, its definition as the server
// sent it.
type Tool struct {
	Name string
	Raw  json.RawMessage
}

// An Upstream is one server. Its methods may be called concurrently.
type Upstream struct {
	opts   Options
	logger *slog.Logger
	junk   rate.Sometimes // logs what is no message
	// leftOut logs what is left out of lists.
	leftOut rate.Sometimes
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the supervisor has ended
	stale   chan struct{} // capacity 1: the lists must be read again

	wake chan struct{} // capacity 1: the next attempt is to begin now
	told string        // why it is not connected, as the log has it; only supervise uses it

	mu sync.Mutex // guards the fields below
	lifecycle
	changed         chan struct{} // closed and replaced at each change of state
	active          *active       // nil unless Ready
	speaksStateless bool          // the server is to be spoken to in the stateless revision first
	lacksStateless  bool          // it does not know the stateless revision
	offers          Offers        // the last good ones
	seen            bool          // the server itself has said so, and not [Options.Kept]
}

// New returns an upstream that has begun to connect. Close ends it.
func New(opts Options) *Upstream {
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, 2*time.Minute)
	opts.MinBackoff = cmp.Or(opts.MinBackoff, firstPause)
	opts.MaxLineBytes = cmp.Or(opts.MaxLineBytes, rpc.DefaultMaxBytes)
	if opts.Notify == nil {
		opts.Notify = func(context.Context, string, json.RawMessage) {}
	}
	if opts.Request == nil {
		opts.Request = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not supported", method)}
		}
	}
	if opts.Mask == nil {
		opts.Mask = func(text string) string { return text }
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	if opts.Capabilities == nil {
		opts.Capabilities = func(context.Context) json.RawMessage { return nil }
	}
	if opts.Stateless == nil {
		opts.Stateless = func() bool { return false }
	}
	if opts.Impl == nil {
		opts.Impl = &mcp.Implementation{Name: "rlmproxy", Version: "dev"}
	}
	impl, _ := json.Marshal(opts.Impl) // which always encodes
	client := opts.ClientInfo
	opts.ClientInfo = func() json.RawMessage {
		if client != nil {
			if said := client(); said != nil {
				return said
			}
		}
		return impl
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &Upstream{
		opts:      opts,
		logger:    logger.With("server", opts.Name),
		cancel:    cancel,
		ended:     make(chan struct{}),
		stale:     make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
		lifecycle: lifecycle{first: opts.MinBackoff, chance: rand.Float64},
		changed:   make(chan struct{}),
		offers:    opts.Kept,
		junk:      rate.Sometimes{First: 20, Interval: time.Minute},
		leftOut:   rate.Sometimes{First: 4, Interval: time.Minute},
	}
	if opts.Disabled {
		cancel()
		u.state, u.err = Disabled, errDisabled
		close(u.ended)
		return u
	}
	go u.supervise(ctx)
	return u
}

// Close ends the server and returns when its processes have ended.
func (u *Upstream) Close() {
	u.cancel()
	<-u.ended
}

// State returns where the upstream stands and, unless it is ready, why, if that is known.
// An [UnavailableError] of a Failed one's error says when it is tried next.
func (u *Upstream) State() (State, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.why(time.Now())
}

// Tools returns the last good tool list, in the server's order.
func (u *Upstream) Tools() []Tool { return u.Offers().Tools }

// Prompts returns the last good list of prompts, in the server's order.
func (u *Upstream) Prompts() []Tool { return u.Offers().Prompts }

// LeftOut returns what the last good lists are without.
func (u *Upstream) LeftOut() LeftOut { return u.Offers().LeftOut }

// Info returns what the server last said of itself, nil if it never did.
func (u *Upstream) Info() *Info { return u.Offers().Info }

// Offers returns all of that.
func (u *Upstream) Offers() Offers {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offers
}

// Seen reports whether the server itself has said what it offers: until then it is
// [Options.Kept].
func (u *Upstream) Seen() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

// Settled waits until the first attempt to connect has ended, one way or the
// other, or ctx has.
func (u *Upstream) Settled(ctx context.Context) {
	for {
		u.mu.Lock()
		state, changed := u.state, u.changed
		u.mu.Unlock()
		if state != Connecting {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// change changes the state by event, and tells those who wait for that.
func (u *Upstream) change(event func(now time.Time)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	event(time.Now())
	u.err = u.masked(u.err)
	if u.state != Ready {
		u.active = nil
	}
	close(u.changed)
	u.changed = make(chan struct{})
}

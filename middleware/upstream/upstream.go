// Package upstream keeps one MCP server connected and calls it.
//
//	config.Server → Dialer → Upstream.Call → raw result
//
// An upstream connects in the background, is restarted with backoff when it
// ends, and goes on offering its last tool list meanwhile. Results are the
// server's own bytes.
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
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
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
	// to a minute. A server that ran for less counts as a failed attempt when that
	// has come about five times in a minute. Zero means one second.
	MinBackoff time.Duration
	// MaxLineBytes caps one message. Zero means [wire.DefaultMaxLineBytes].
	MaxLineBytes int64
	// Capabilities returns what we declare to the server that its client can do.
	// It is called before each attempt to connect and may wait until a client has
	// come. It returns a JSON object, or nil: nothing, as is a nil function.
	Capabilities func(ctx context.Context) json.RawMessage
	// ClientInfo returns who the client says it is, which the server is told in place
	// of Impl. It is called after Capabilities. It returns a JSON object, or nil: we
	// introduce ourselves, as with a nil function.
	ClientInfo func() json.RawMessage
	// Newest reports whether the client speaks NewestVersion: then the server is
	// spoken to in it first. It is called after Capabilities. Nil means no.
	Newest func() bool
	// Request answers what the server asks of its client. What it asks on behalf
	// of a call comes with the ctx of that call, as far as the transport tells
	// them apart. Nil refuses.
	Request func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify receives the server's notifications but those of progress and
	// cancellation, with a ctx like that of Request. It must not block. Nil drops
	// them.
	Notify func(ctx context.Context, method string, params json.RawMessage)
	// Changed is called, never concurrently, when the lists of tools or prompts
	// may have changed. Nil is not called.
	Changed func()
	// Logger receives the server's stderr and our own events. Nil discards.
	Logger *slog.Logger
}

// maxBackoff is the longest pause between attempts to connect.
const maxBackoff = time.Minute

// A State is where an upstream stands.
type State int

const (
	Connecting State = iota // the first attempt, or the first after a loss
	Ready
	Failed // an attempt has failed; the next one waits
	Closed
)

func (s State) String() string { return [...]string{"connecting", "ready", "failed", "closed"}[s] }

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
	junk   *junkLog
	cancel context.CancelFunc
	ended  chan struct{} // closed when the supervisor has ended
	stale  chan struct{} // capacity 1: the tool list must be read again

	mu       sync.Mutex // guards the fields below
	state    State
	err      error         // why state is Failed
	changed  chan struct{} // closed and replaced at each change of state
	live     *live         // nil unless Ready
	newest   bool          // the server is to be spoken to in NewestVersion
	old      bool          // it does not know NewestVersion
	info     *Info         // what the server last said of itself; nil: nothing yet
	tools    []Tool        // last good list
	prompts  []Tool        // likewise
	seq      int64
	progress map[string]chan json.RawMessage // running calls by progress token
}

// New returns an upstream that has begun to connect. Close ends it.
func New(opts Options) *Upstream {
	if opts.ConnectTimeout <= 0 {
		opts.ConnectTimeout = 2 * time.Minute
	}
	if opts.MinBackoff <= 0 {
		opts.MinBackoff = time.Second
	}
	if opts.MaxLineBytes <= 0 {
		opts.MaxLineBytes = wire.DefaultMaxLineBytes
	}
	if opts.Notify == nil {
		opts.Notify = func(context.Context, string, json.RawMessage) {}
	}
	if opts.Request == nil {
		opts.Request = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not supported", method)}
		}
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	if opts.Impl == nil {
		opts.Impl = &mcp.Implementation{Name: "rlmproxy", Version: "dev"}
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &Upstream{
		opts:     opts,
		logger:   logger.With("server", opts.Name),
		cancel:   cancel,
		ended:    make(chan struct{}),
		stale:    make(chan struct{}, 1),
		changed:  make(chan struct{}),
		progress: map[string]chan json.RawMessage{},
	}
	u.junk = &junkLog{logger: u.logger}
	go u.supervise(ctx)
	return u
}

// Close ends the server and returns when its processes have ended.
func (u *Upstream) Close() {
	u.cancel()
	<-u.ended
}

// State returns where the upstream stands and, when it has failed, why.
func (u *Upstream) State() (State, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.err
}

// Tools returns the last good tool list, in the server's order.
func (u *Upstream) Tools() []Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tools
}

// Prompts returns the last good list of prompts, in the server's order.
func (u *Upstream) Prompts() []Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.prompts
}

// Info returns what the server last said of itself, nil if it never did.
func (u *Upstream) Info() *Info {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.info
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

func (u *Upstream) set(state State, l *live, err error) {
	u.mu.Lock()
	u.state, u.live, u.err = state, l, err
	close(u.changed)
	u.changed = make(chan struct{})
	u.mu.Unlock()
}

// supervise connects, waits for the end, and connects again, until ctx ends.
func (u *Upstream) supervise(ctx context.Context) {
	defer close(u.ended)
	defer u.junk.end()
	defer u.set(Closed, nil, errors.New("the proxy is closing"))
	backoff := u.opts.MinBackoff
	var restarts allowance
	for ctx.Err() == nil {
		l, err := u.connect(ctx)
		if err == nil {
			begun := time.Now()
			for l != nil {
				l, err = u.serve(ctx, l)
			}
			if time.Since(begun) > maxBackoff {
				backoff = u.opts.MinBackoff
			}
			if ctx.Err() != nil {
				return
			}
			u.logger.Warn("server ended, restarting", "error", err)
			if time.Since(begun) > u.opts.MinBackoff || restarts.spend(time.Now()) {
				continue // it had worked: calls wait for the restart
			}
		}
		if ctx.Err() != nil {
			return
		}
		u.logger.Error("not connected", "error", err, "next_try", backoff)
		u.set(Failed, nil, err)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// connect tries once to open a session and to read what the server offers. Where ctx
// has ended, or the time for it, the error is that.
func (u *Upstream) connect(ctx context.Context) (link, error) {
	life := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, u.opts.ConnectTimeout, fmt.Errorf("no answer to the handshake within %v", u.opts.ConnectTimeout))
	defer cancel()
	h := hooks{
		life:         life,
		logger:       u.logger,
		junk:         u.junk,
		impl:         u.opts.Impl,
		maxLineBytes: u.opts.MaxLineBytes,
		capabilities: json.RawMessage("{}"),
		listChanged:  u.markStale,
		progress:     u.onProgress,
		notify:       u.opts.Notify,
		request:      u.opts.Request,
	}
	if u.opts.Capabilities != nil {
		if can := u.opts.Capabilities(ctx); len(can) > 0 {
			h.capabilities = can
		}
	}
	if u.opts.ClientInfo != nil {
		h.client = u.opts.ClientInfo()
	}
	u.mu.Lock()
	h.newest = !u.old && (u.newest || u.opts.Newest != nil && u.opts.Newest())
	u.mu.Unlock()
	l, err := u.opts.Dial(ctx, h)
	if err == nil {
		var all lists
		if all, err = u.readLists(ctx, l); err == nil {
			u.mu.Lock()
			u.publish(all)
			u.newest = l.Meta() != nil
			u.old = u.old || h.newest && !u.newest
			u.mu.Unlock()
			return l, nil
		}
		if errors.Is(err, wire.ErrClosed) {
			if how := l.Exit(); how != "" {
				err = fmt.Errorf("the server ended before it had said what it offers (%s)", how)
			}
		}
		l.Close()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// serve keeps l until it ends or ctx does, and says why it ended; or until it is
// replaced by another, which it returns.
func (u *Upstream) serve(ctx context.Context, l link) (next link, err error) {
	live := &live{link: l, wish: make(chan struct{}, 1)}
	u.set(Ready, live, nil)
	u.logger.Info("connected", "tools", len(u.Tools()), "protocol", l.Init().ProtocolVersion)
	u.opts.Changed()
	found := make(chan newer, 1)
	var reread rereading
	read := make(chan struct{}, 1)
	trying, cancel := context.WithCancel(ctx)
	var tries sync.WaitGroup
	defer func() {
		cancel()
		tries.Wait()
		select {
		case n := <-found: // too late
			n.close()
		default:
		}
		u.retire(live)
	}()
	for {
		select {
		case <-ctx.Done():
			u.set(Closed, nil, errors.New("the proxy is closing"))
			return nil, ctx.Err()
		case <-l.Done():
			err := errors.New("it closed the connection")
			if how := l.Exit(); how != "" {
				err = errors.New(how)
			}
			u.set(Connecting, nil, err)
			return nil, err
		case <-u.stale:
			reread.stale()
		case <-reread.due:
			reread.begin()
			tries.Go(func() {
				u.refresh(trying, live)
				read <- struct{}{}
			})
		case <-read:
			reread.end()
		case <-live.wish:
			tries.Go(func() { found <- u.tryNewer(trying, live) })
		case n := <-found:
			if next := u.take(live, n); next != nil {
				return next, nil
			}
		}
	}
}

// refresh reads the lists again after the server said that they have changed, and
// passes that on: clients may have seen what has come and gone meanwhile.
func (u *Upstream) refresh(ctx context.Context, l *live) {
	ctx, cancel := context.WithTimeout(ctx, u.opts.ConnectTimeout)
	defer cancel()
	all, err := u.readLists(ctx, l)
	if err != nil {
		if ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded {
			u.logger.Warn("lists not read", "error", err)
		}
		return
	}
	u.mu.Lock()
	current := u.live == l
	if current {
		u.publish(all)
	}
	u.mu.Unlock()
	if current {
		u.opts.Changed()
	}
}

// lists are what a server offers.
type lists struct {
	info           *Info
	tools, prompts []Tool
}

// publish offers what lists holds. u.mu must be held.
func (u *Upstream) publish(l lists) { u.info, u.tools, u.prompts = l.info, l.tools, l.prompts }

// readLists asks the server what it offers, but not for lists that it does not
// declare; only tools some forget to declare.
func (u *Upstream) readLists(ctx context.Context, l link) (lists, error) {
	all := lists{info: l.Init()}
	var err error
	if all.tools, err = u.list(ctx, l, "tools", checkTool); err != nil {
		return lists{}, err
	}
	if c := all.info.Capabilities; c != nil && c.Prompts != nil {
		if all.prompts, err = u.list(ctx, l, "prompts", checkPrompt); err != nil {
			u.logger.Warn("prompts not read, the last ones stay", "error", err)
			all.prompts = u.Prompts()
		}
	}
	return all, nil
}

func (u *Upstream) markStale() {
	select {
	case u.stale <- struct{}{}:
	default:
	}
}

// call sends a request and returns the raw result, an object.
func (u *Upstream) call(ctx context.Context, l link, method string, params json.RawMessage) (json.RawMessage, error) {
	result, err := l.Call(ctx, method, params)
	var untaken *notTakenError
	if errors.As(err, &untaken) {
		return nil, &UnavailableError{Server: u.opts.Name, Err: err}
	}
	if err == nil && (len(result) == 0 || result[0] != '{') {
		err = fmt.Errorf("%w: its result is no object", wire.ErrBadAnswer)
	}
	if status := refusal(err); status != nil && !errors.Is(err, wire.ErrClosed) {
		return nil, &UnavailableError{Server: u.opts.Name, Lost: status.code/100 == 5, Err: err}
	}
	if errors.Is(err, wire.ErrBadAnswer) {
		return nil, &UnavailableError{Server: u.opts.Name, Lost: true, Err: err}
	}
	if errors.Is(err, wire.ErrClosed) {
		if how := l.Exit(); how != "" {
			err = errors.New(how)
		}
		return nil, &UnavailableError{Server: u.opts.Name, Lost: true, Err: err}
	}
	return result, err
}

// ready returns the live link, waiting for one that is being made: for a request
// of NewestVersion the one that speaks it, if there is any.
func (u *Upstream) ready(ctx context.Context, r Request) (link, error) {
	for {
		u.mu.Lock()
		state, live, err, changed := u.state, u.live, u.err, u.changed
		if state == Ready && live.alive() {
			l, wait := u.choose(live, r)
			u.mu.Unlock()
			if l != nil {
				return l, nil
			}
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, &UnavailableError{Server: u.opts.Name, Err: fmt.Errorf("still asking for its newest revision: %w", context.Cause(ctx))}
			}
		}
		u.mu.Unlock()
		if state == Failed || state == Closed {
			return nil, &UnavailableError{Server: u.opts.Name, Err: err}
		}
		select {
		case <-changed: // a lost link is about to be replaced
		case <-ctx.Done():
			return nil, &UnavailableError{Server: u.opts.Name, Err: fmt.Errorf("still connecting: %w", context.Cause(ctx))}
		}
	}
}

// methodNotFound reports whether the server does not have the method: one without
// tools need not know tools/list.
func methodNotFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound
}

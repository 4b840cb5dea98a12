// Package web serves the proxy over streamable HTTP.
//
//	POST /mcp ─► auth.Guard ─► rpc.Message ─► Session.Receive ─► middleware
//	response  ◄─ deliver    ◄─ stream      ◄─ rpc.Transport   ◄──┘
//
// Every revision of the protocol is served at one endpoint. A request whose header
// Mcp-Protocol-Version is 2026-07-28 or later stands for itself and has a [Session] for
// that one request. Any other belongs to a session that initialize began and the header
// Mcp-Session-Id names. Each POST has a stream, which takes the answers to its requests
// and what is sent to the client while they are worked on; a GET has the session's
// stream for all else.
//
// Results reach the client as the bytes that the server sent; in an event, blanks stand
// for their line ends.
package web

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
)

// A Session is one client of the proxy, as it is seen from its transport. A
// *[rpc.Peer] has most of it.
type Session interface {
	// Receive hands in a message of the client. Requests are answered by the transport
	// while ctx lasts. An error says why a request was not begun: [rpc.Refused].
	Receive(ctx context.Context, m rpc.Message) error
	// Serving is how many requests of the client wait for their answers.
	Serving() int
	// Initialized reports whether initialize has been answered with a result.
	Initialized() bool
	// End cancels what runs, returns when it has ended, and forgets the client.
	End()
}

// Options configures a [Handler]. Guard and Attach are required.
type Options struct {
	// Guard admits requests.
	Guard *auth.Guard
	// Attach begins the session of a client that is reached by t. Of opts it takes
	// Unanswered and Fault.
	Attach func(t rpc.Transport, who middleware.Identity, opts rpc.Options) Session
	// InputSchema returns that of a tool that whoever makes the request of ctx may use, or
	// nil. It says which headers repeat arguments of a call (SEP-2243). Nil: none do.
	InputSchema func(ctx context.Context, tool string) json.RawMessage
	// Ready says whether calls can be answered, and why, for /readyz, which tells
	// strangers the first only. Nil is always ready.
	Ready func() (ok bool, why string)
	// Metrics answers /metrics, and asks for a token of its own. Nil: there are none.
	Metrics http.Handler
	// UI answers /ui and what is below it, and asks for a key of its own. Nil: there is no
	// such page. Its requests have the bounds of others; Close waits for them.
	UI http.Handler
	// MaxBodyBytes caps a message of a client. Zero means [rpc.DefaultMaxBytes]. What
	// is longer than a mebibyte shares this many bytes, over all clients, until it has
	// been answered.
	MaxBodyBytes int64
	// Accounts count what is held for a client beside the bodies that are longer than
	// that. Nil bounds them to 64 MiB of one client and 128 MiB of all.
	Accounts *guard.Accounts
	// MaxSessions bounds the sessions at one time. Zero means 1000.
	MaxSessions int
	// MaxConnections bounds the connections of one agent with a token. Zero means 1024.
	MaxConnections int
	// SessionIdle is after how long without a request or an open stream a session
	// ends. Zero means 30 minutes.
	SessionIdle time.Duration
	// ResumeTime is how long the requests of a stream go on when the client was
	// cut off and could come back for their answers. Zero means 10 seconds.
	ResumeTime time.Duration
	// DrainTime is how long requests may go on once Serve is to end. Zero cancels them at once.
	DrainTime time.Duration
	// NoticeTime is how much of it passes before no request is taken any more: whoever sends
	// them asks /readyz now and then only, or hears of the end late. Zero is for a process
	// that is alone.
	NoticeTime time.Duration
	// Fleet is the store by which other replicas go on with the sessions of this one, and
	// this one with theirs. Nil: there is one replica.
	Fleet *fleet.Store
	// Resume is Attach for a session that another replica has begun. It is required with
	// Fleet; the sessions of both are then a [Roamer] each.
	Resume func(t rpc.Transport, who middleware.Identity, opts rpc.Options, past middleware.Past) Session
	// Logger receives sessions at debug level. Nil discards them.
	Logger *slog.Logger
}

// A Handler serves /mcp, /healthz, /readyz and perhaps /metrics and /ui. It is safe for concurrent use.
type Handler struct {
	opts   Options
	log    *slog.Logger
	mcp    http.Handler // behind the guard
	health http.Handler
	bodies *guard.Budget
	replay *replay
	places *places

	connections *connections
	shared      *shared // nil: there is one replica
	machine     string  // among several: an address of one is not that of another

	life    context.Context // ended by Close, with errShutdown
	end     context.CancelCauseFunc
	leaving atomic.Bool   // clients should go elsewhere
	drain   chan struct{} // closed by Drain

	mu      sync.Mutex     // guards running.Add, closed, and the closing of drain
	closed  bool           // no request is taken
	running sync.WaitGroup // requests; none is added once closed
}

// New returns a handler. Close ends its sessions.
func New(opts Options) *Handler {
	opts.MaxBodyBytes = cmp.Or(opts.MaxBodyBytes, rpc.DefaultMaxBytes)
	opts.MaxSessions = cmp.Or(opts.MaxSessions, 1000)
	opts.MaxConnections = cmp.Or(opts.MaxConnections, 1024)
	opts.SessionIdle = cmp.Or(opts.SessionIdle, 30*time.Minute)
	opts.ResumeTime = cmp.Or(opts.ResumeTime, 10*time.Second)
	if opts.Accounts == nil {
		opts.Accounts = guard.NewAccounts(64<<20, 128<<20)
	}
	h := &Handler{
		opts:   opts,
		log:    opts.Logger,
		bodies: guard.NewBudget(opts.MaxBodyBytes, nil),
		replay: newReplay(replayBytes),
		drain:  make(chan struct{}),
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.connections = newConnections(h.log, opts.MaxConnections)
	h.life, h.end = context.WithCancelCause(context.Background())
	h.places = newPlaces(opts.MaxSessions, opts.SessionIdle, func(s *session) { h.finish(s, "idle", left) })
	if opts.Fleet != nil {
		h.shared = newShared(h)
		h.machine = machine(opts.Fleet)
	}
	h.mcp = opts.Guard.Wrap(http.HandlerFunc(h.serveMCP))
	h.health = opts.Guard.Open(http.HandlerFunc(h.serveHealth))
	return h
}

// machine names the one that this replica runs on.
func machine(shared *fleet.Store) string {
	name, err := os.Hostname()
	if err != nil {
		name = shared.Replica()
	}
	return name + "\n"
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if h.leaving.Load() {
		w.Header().Set("Connection", "close") // the next request finds another replica
	}
	if r.Body != http.NoBody {
		// net/http reads what is left of a body before it answers, for as long as
		// that takes. A body that is read has its own time.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime))
	}
	switch {
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz":
		h.health.ServeHTTP(w, r)
	case r.URL.Path == "/metrics" && h.opts.Metrics != nil:
		h.opts.Metrics.ServeHTTP(w, r)
	case h.opts.UI != nil && (r.URL.Path == "/ui" || strings.HasPrefix(r.URL.Path, "/ui/")):
		h.serveUI(w, r)
	default:
		h.mcp.ServeHTTP(w, r)
	}
}

// serveUI answers what is about the page.
func (h *Handler) serveUI(w http.ResponseWriter, r *http.Request) {
	if !h.begin() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	defer h.running.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(errShutdown) })()
	h.opts.UI.ServeHTTP(w, r.WithContext(ctx))
}

// serveHealth answers /healthz and /readyz.
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	ok, text := true, "ok"
	if r.URL.Path == "/readyz" {
		if h.opts.Ready != nil {
			ok, text = h.opts.Ready()
		}
		if !h.opts.Guard.Knows(r) {
			text = map[bool]string{true: "ready", false: "not ready"}[ok]
		}
		if h.leaving.Load() {
			ok, text = false, "shutting down"
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(text + "\n"))
}

// serveMCP answers a request that the guard has admitted.
func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request) {
	agent, _ := auth.Subject(r.Context())
	if err := h.connections.admit(r.Context(), agent); err != nil {
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, nil, codeInvalidRequest, err.Error())
		return
	}
	if r.URL.Path != "/mcp" && r.URL.Path != "/mcp/" {
		http.Error(w, "not found: the MCP endpoint is /mcp", http.StatusNotFound)
		return
	}
	if !h.begin() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	defer h.running.Done()
	// The connection may serve other requests after this one.
	defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }()
	version := r.Header.Get(headerVersion)
	switch {
	case version >= revision.Stateless && r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed: revision "+revision.Stateless+" has POST only", http.StatusMethodNotAllowed)
	case version != "" && version < revision.Stateless && !supported(version):
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "unsupported "+headerVersion)
	case r.Method == http.MethodPost:
		h.post(w, r, version)
	case r.Method == http.MethodGet:
		h.get(w, r)
	case r.Method == http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// begin counts a request, which calls running.Done at its end, or refuses it.
func (h *Handler) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Add(1)
	return true
}

// Drain says that clients should go elsewhere: streams on which they listen end. What they
// ask nevertheless is answered.
func (h *Handler) Drain() {
	h.leaving.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.drain:
	default:
		close(h.drain)
	}
}

// cancel cancels what runs, and takes no more.
func (h *Handler) cancel() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(errShutdown)
}

// Close cancels what runs, ends all sessions, which with a fleet go on elsewhere, and returns
// when nothing is left.
func (h *Handler) Close() {
	h.Drain()
	h.cancel()
	h.running.Wait() // no session begins after that
	var ends sync.WaitGroup
	for _, s := range h.places.all() { // together: each may wait for a slow server
		ends.Go(func() { h.remove(s, "shutdown", left) })
	}
	ends.Wait()
	h.places.ends.Wait()
	h.shared.close()
}

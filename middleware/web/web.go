// Package web serves the proxy over streamable HTTP.
//
//	POST /mcp ─► guard ─► session, or one request of revision 2026-07-28 ─► middleware
//	                                              stream of answers ◄──┘
//
// Every revision is served at one endpoint: a request whose Mcp-Protocol-Version
// is 2026-07-28 or later stands for itself, any other belongs to a session that
// initialize began. Results reach the client as the bytes that the server sent,
// with blanks for line ends where they are an event's data.
package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/wire"
)

// Options configures a [Handler]. Server and Guard are required.
type Options struct {
	Server *middleware.Server
	Guard  *auth.Guard
	// Ready says whether calls can be answered, and why, for /readyz. Nil is
	// always ready.
	Ready func() (ok bool, why string)
	// MaxBodyBytes caps a message of a client. Zero means the default of package
	// wire. What is longer than a mebibyte shares this many bytes, over all
	// clients, until it has been answered.
	MaxBodyBytes int64
	// MaxSessions bounds the sessions at one time. Zero means 1000.
	MaxSessions int
	// SessionIdle is after how long without a request or an open stream a session
	// ends. Zero means 30 minutes.
	SessionIdle time.Duration
	// ResumeTime is how long the requests of a stream go on when the client was
	// cut off and could come back for their answers. Zero means 10 seconds.
	ResumeTime time.Duration
	// Logger receives sessions, and what is lost on their streams, at debug level. Nil
	// discards them.
	Logger *slog.Logger
}

// A Handler serves /mcp, /healthz and /readyz. It is safe for concurrent use.
type Handler struct {
	opts   Options
	log    *slog.Logger
	mcp    http.Handler // behind the guard
	health http.Handler
	bodies *wire.Budget
	replay *replay

	life  context.Context // ended by Close
	end   context.CancelFunc
	drain chan struct{} // closed when nothing more is begun

	mu       sync.Mutex // guards the fields below
	sessions map[string]*session
	opening  map[string]int // sessions that have a place and are not there yet, by subject
	draining bool
	running  sync.WaitGroup // requests and ends of sessions
}

// New returns a handler. Close ends its sessions; the server is the caller's.
func New(opts Options) *Handler {
	opts.MaxBodyBytes = cmp.Or(opts.MaxBodyBytes, wire.DefaultMaxLineBytes)
	opts.MaxSessions = cmp.Or(opts.MaxSessions, 1000)
	opts.SessionIdle = cmp.Or(opts.SessionIdle, 30*time.Minute)
	opts.ResumeTime = cmp.Or(opts.ResumeTime, 10*time.Second)
	h := &Handler{
		opts:     opts,
		log:      opts.Logger,
		bodies:   wire.NewBudget(opts.MaxBodyBytes, nil),
		replay:   newReplay(replayBytes),
		drain:    make(chan struct{}),
		sessions: map[string]*session{},
		opening:  map[string]int{},
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.mcp = opts.Guard.Wrap(http.HandlerFunc(h.serveMCP))
	h.health = opts.Guard.Open(http.HandlerFunc(h.serveHealth))
	return h
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Body != http.NoBody {
		// net/http reads what is left of a body before it answers, for as long as
		// that takes. A body that is read has its own time.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime))
	}
	switch r.URL.Path {
	case "/healthz", "/readyz":
		h.health.ServeHTTP(w, r)
	default:
		h.mcp.ServeHTTP(w, r)
	}
}

// serveHealth answers /healthz and /readyz.
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	status, text := http.StatusOK, "ok"
	if r.URL.Path == "/readyz" && h.opts.Ready != nil {
		ok, why := h.opts.Ready()
		if text = why; !ok {
			status = http.StatusServiceUnavailable
		}
	}
	h.mu.Lock()
	if r.URL.Path == "/readyz" && h.draining {
		status, text = http.StatusServiceUnavailable, "shutting down"
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// serveMCP answers a request that the guard has admitted.
func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request) {
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
	case version >= stateless && r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed: revision "+stateless+" has POST only", http.StatusMethodNotAllowed)
	case version != "" && version < stateless && !known(version):
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
	if h.draining {
		return false
	}
	h.running.Add(1)
	return true
}

// Drain refuses new requests and ends the streams that nothing is owed on: those
// that clients listen on.
func (h *Handler) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.draining = true
		close(h.drain)
	}
}

// Close cancels what runs, ends all sessions and returns when nothing is left.
func (h *Handler) Close() {
	h.Drain()
	h.end()
	h.removeAll()
	h.running.Wait()
	h.removeAll() // one that began meanwhile
}

// removeAll ends all sessions together: each may wait for a slow server.
func (h *Handler) removeAll() {
	h.mu.Lock()
	var all []*session
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	var ends sync.WaitGroup
	for _, s := range all {
		ends.Go(func() { h.remove(s, "shutdown") })
	}
	ends.Wait()
}

// Package middleware is the server that agents talk to.
//
//	tools/list ─► names ─► every upstream's tools, and proxy_*
//	tools/call ─► route ─► upstream.Call ─► package shape ─► the same bytes, or a preview with a cache_id
//	          └─► package tools: proxy_explore, proxy_filter, proxy_search
//
// Results are raw JSON from the upstream's line to the client's. What an agent
// reads is counted in tokens of o200k; sizes are bytes.
package middleware

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline/jq"
)

// FreshCalls says which tools the proxy_* tools may call themselves. A host may
// let proxy_* through without asking; this keeps that from being a way round
// its approval of other tools.
type FreshCalls string

const (
	FreshReadOnly FreshCalls = "readonly" // tools that declare readOnlyHint, or that the operator lists
	FreshAll      FreshCalls = "all"
	FreshNone     FreshCalls = "none"
)

// Options configures a [Server]. Store is required.
type Options struct {
	// Upstreams in the order in which their tools are listed.
	Upstreams []Upstream
	// Store keeps what is cut. Its quotas are its own.
	Store *cache.Store
	// MaxTokens is how much of a result an agent reads at once. Zero means 2000.
	MaxTokens int
	// MaxChars, if not zero, is the limit instead, in characters.
	MaxChars int
	// PreviewTokens is the most that a preview takes of the limit. Zero means half
	// of it.
	PreviewTokens int
	// NoLossless cuts what is over the limit without trying whether a form that
	// loses nothing fits.
	NoLossless bool
	// PassThrough turns shaping off: results of any size reach the client.
	PassThrough bool
	// SharedCache puts all connections on one agent's shelf.
	SharedCache bool
	// FreshCalls is which tools proxy_* may call. Empty means FreshReadOnly.
	FreshCalls FreshCalls
	// CallTimeout bounds a call to an upstream. Zero means 60 seconds.
	CallTimeout time.Duration
	// QueryTimeout bounds the work of proxy_filter and proxy_explore on a
	// cached result, SearchTimeout that of proxy_search. Zero means 5 seconds.
	QueryTimeout, SearchTimeout time.Duration
	// JQ runs the jq programs of agents and policies; it stays the caller's to
	// close. Nil: they run in this process, which is for tests.
	JQ *jq.Pool
	// ListWait is how long after the start the first answers wait for upstreams
	// that are still connecting; five times as long while none is ready, but for
	// the handshake. A call of a tool that nobody has listed yet waits as long as
	// that, and later for ListWait. Zero means 3 seconds.
	ListWait time.Duration
	// AgentIdle is after how long without a client of its agent here a connection
	// of [Upstream.PerAgent] ends, if the agent may come back. Zero means 30
	// minutes.
	AgentIdle time.Duration
	// MaxLineBytes caps one message of the client. Zero means the default of
	// package wire.
	MaxLineBytes int64
	// WorkBytes bounds the results that are worked on at one time; calls wait
	// for their turn. Zero means 64 MiB.
	WorkBytes int64
	// Idle is called a second after the last work on a result of megabytes. Nil
	// is not called.
	Idle func()
	// Version is the one we tell clients. Empty means "dev".
	Version string
	// Logger receives what operators need to know. Nil discards it.
	Logger *slog.Logger
}

// A Server answers agents. It is safe for concurrent use.
type Server struct {
	opts   Options
	logger *slog.Logger
	mcp    *mcp.Server
	names  *names
	budget *wire.Budget
	shaper *shape.Shaper
	tools  *tools.Tools
	begun  time.Time

	isolation *isolation
	parking   *parking

	schemes map[string]string // of URIs, by server

	// By server: what its clients are told, and what it is told for no client.
	toClients, toServer map[string]*queue

	came     chan struct{} // closed when the first client has said what it can do
	cameOnce sync.Once

	mu         sync.Mutex // guards the fields below
	clients    map[*mcp.ServerSession]*client
	serial     int
	can        json.RawMessage // what the first client can do
	newest     bool            // it is of the newest revision
	who        json.RawMessage // the name it gave, or nil
	running    map[*running]struct{}
	usage      map[string]usage          // by server
	heard      map[string]*upstream.Info // servers that have connected, and what they offered last
	missing    map[string]bool           // those that a client was answered without before
	levels     map[string]*toldLevel     // of log messages, by server
	begunCalls int                       // how many there ever were
	watched    map[watched]int           // subscriptions by resource: how many clients
	progress   map[string]asked          // of requests that clients work on, by our token as written
}

// New returns a server for opts.Upstreams, which stay the caller's to close; what
// it begins for single agents is ended by Close.
func New(opts Options) (*Server, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	s := &Server{
		opts:    opts,
		logger:  opts.Logger,
		names:   newNames(opts.Upstreams),
		budget:  wire.NewBudget(opts.WorkBytes, opts.Idle),
		begun:   time.Now(),
		schemes: schemes(opts.Upstreams),

		isolation: newIsolation(opts.AgentIdle, opts.Logger),
		parking:   newParking(),

		came:     make(chan struct{}),
		clients:  map[*mcp.ServerSession]*client{},
		running:  map[*running]struct{}{},
		usage:    map[string]usage{},
		heard:    map[string]*upstream.Info{},
		missing:  map[string]bool{},
		levels:   map[string]*toldLevel{},
		watched:  map[watched]int{},
		progress: map[string]asked{},

		toClients: map[string]*queue{},
		toServer:  map[string]*queue{},
	}
	s.shaper = shape.New(shape.Options{
		Store: opts.Store, JQ: opts.JQ, Logger: opts.Logger,
		MaxTokens: opts.MaxTokens, MaxChars: opts.MaxChars, PreviewTokens: opts.PreviewTokens,
		NoLossless: opts.NoLossless, PassThrough: opts.PassThrough, QueryTimeout: opts.QueryTimeout,
	})
	s.tools = tools.New(tools.Options{Shaper: s.shaper, QueryTimeout: opts.QueryTimeout, SearchTimeout: opts.SearchTimeout})
	for i := range opts.Upstreams {
		name := opts.Upstreams[i].Name
		s.toClients[name] = newQueue(s.logger.With("from", name))
		s.toServer[name] = newQueue(s.logger.With("to", name))
		s.levels[name] = new(toldLevel)
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "rlmproxy", Version: opts.Version}, &mcp.ServerOptions{
		Instructions: tools.Instructions,
		// What the SDK goes by when it tells; clients read those of [Server.capabilities].
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Prompts:   &mcp.PromptCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		},
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: s.unsubscribe,
	})
	s.mcp.AddReceivingMiddleware(s.receive)
	s.mcp.AddSendingMiddleware(s.sends)
	err := mcp.AddReceivingCustomMethod(s.mcp, wire.ForwardMethod, s.forwarded)
	return s, err
}

// Close ends the connections of single agents, and returns when nothing of them
// is left and nothing runs that no client has asked for. Clients are to end before.
func (s *Server) Close() {
	s.isolation.close()
	closeQueues(atOnce(), s.toServer)
	closeQueues(atOnce(), s.toClients)
}

// complete sets what was left out, and refuses what cannot be.
func (o *Options) complete() error {
	if o.Store == nil {
		return errors.New("middleware: no store")
	}
	setDefault(&o.MaxTokens, 2000)
	setDefault(&o.CallTimeout, time.Minute)
	setDefault(&o.QueryTimeout, 5*time.Second)
	setDefault(&o.SearchTimeout, 5*time.Second)
	setDefault(&o.ListWait, 3*time.Second)
	setDefault(&o.FreshCalls, FreshReadOnly)
	setDefault(&o.Version, "dev")
	setDefault(&o.WorkBytes, 64<<20)
	setDefault(&o.AgentIdle, ownIdle)
	switch o.FreshCalls {
	case FreshReadOnly, FreshAll, FreshNone:
	default:
		return fmt.Errorf("middleware: freshCalls %q, want readonly, all or none", o.FreshCalls)
	}
	for i := range o.Upstreams {
		if err := o.Upstreams[i].Check(); err != nil {
			return err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Package middleware is the server that agents talk to: it routes what clients ask.
//
//	session.Request ─► route ─► names ─► relay.Server.Send ─► shape ─► the same bytes, or a preview with a cache_id
//	                       └──► tools: proxy_explore, proxy_filter, proxy_search ─► cache ─► pipeline ─► shape
//
// A [Server] joins the rooms below it: session is one client, relay what goes between
// clients and servers, shape how much an agent reads, tools the proxy_* tools. What is
// its own are names: which server, tool, prompt or resource a request means, and which
// policy holds there.
//
// Results are raw JSON from the upstream's line to the client's. What an agent reads is
// counted in tokens of o200k; sizes are bytes.
package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/middleware/consent"
	"rlmproxy/middleware/forward"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/programs"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/stats"
	"rlmproxy/middleware/toolbox"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/script"
)

// FreshCalls says which tools the proxy_* tools may call themselves. A host may
// let proxy_* through without asking; this keeps that from being a way round
// its approval of other tools.
type FreshCalls string

const (
	FreshAsk      FreshCalls = "ask"      // those of FreshReadOnly, and what a person agrees to when asked
	FreshReadOnly FreshCalls = "readonly" // what [Upstream.Fresh] names, and what declares readOnlyHint where that is trusted
	FreshAll      FreshCalls = "all"
	FreshNone     FreshCalls = "none"
)

// Options configures a [Server]. Store is required.
type Options struct {
	// Upstreams in the order in which their tools are listed. SetUpstreams replaces them.
	Upstreams []Upstream
	// Retired is called with each Conn that SetUpstreams has replaced or left out, when no
	// request runs there any more, or Close is called. Nil is not called.
	Retired func(conn Caller)
	// Store keeps what is cut. Its quotas are its own.
	Store *cache.Store
	// Desk, at Store, is where [Server.Look] looks at what agents keep. Nil: nobody looks.
	Desk *cache.Desk
	// MaxTokens is how much of a result an agent reads at once. Zero means 2000.
	MaxTokens int
	// MaxChars, if not zero, is the limit instead, in characters.
	MaxChars int
	// PreviewTokens is the most that a preview takes of the limit. Zero means half
	// of it.
	PreviewTokens int
	// KindTokens are limits of results by their class, as [pipeline.Classes] has them. Nil
	// means 6000 for source, markdown, config and diff if MaxTokens and MaxChars are
	// zero, else none.
	KindTokens map[string]int
	// WholeTokens is the most that a reply has which is asked for whole. Zero means 25,000.
	WholeTokens int
	// NoLossless cuts what is over the limit without trying whether a form that
	// loses nothing fits.
	NoLossless bool
	// NoDifferences shows a result that a session was shown just before, or one nearly
	// the same, as any other.
	NoDifferences bool
	// PassThrough turns shaping off: results of any size reach the client.
	PassThrough bool
	// Pipe, if not "", names the configuration, whose client over a pair of streams is the
	// same agent in the next process. Of such clients there is one in a process.
	Pipe string
	// Fleet is what the replicas of the proxy share: what only one of them can go on with, it
	// is handed; what a client was asked and shown, and the calls of an agent, count on each.
	// Nil: there is one.
	Fleet *fleet.Store
	// Replica, if not "", is the name of this process among those that use one store: a
	// client without any other name is none of another process's.
	Replica string
	// SharedCache puts all connections on one agent's shelf.
	SharedCache bool
	// Exposure says how agents come to know the tools of servers. Empty means ExposeAuto.
	Exposure Exposure
	// CatalogueTokens is how long the list of tools is, in tokens, that ExposeAuto still
	// lists. Zero means 20,000.
	CatalogueTokens int
	// ListFound adds tools to the list of a session whose agent has had them described.
	ListFound bool
	// CompactSchemas lists definitions as [catalogue.Compact] has them.
	CompactSchemas bool
	// FreshCalls is which tools proxy_* may call. Empty means FreshAsk.
	FreshCalls FreshCalls
	// NoHealing leaves what has expired or was evicted to its agent, even where the call
	// that it came from only reads.
	NoHealing bool
	// Programs runs programs of agents. Nil: there are none. It stays the caller's to close.
	Programs script.Runner
	// Code offers agents the tool proxy_run, for which Programs is required.
	Code bool
	// Made are the tools that agents make at run time. Nil: none.
	Made *Made
	// SubModel is what proxy_ask asks. Nil: it is off.
	SubModel *SubModel
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
	// MaxLineBytes caps one message of the client. Zero means
	// [rpc.DefaultMaxBytes].
	MaxLineBytes int64
	// WorkBytes bounds the results that are worked on at one time; calls wait
	// for their turn. Zero means 64 MiB.
	WorkBytes int64
	// Limits are what one agent may have.
	Limits Limits
	// Rights are what agents may use, see [Server.SetRights]. Nil is everything.
	Rights *rights.Rules
	// Observers are told of each call.
	Observers []observe.Observer
	// Listed is called when tools are listed for a client for the first time, with what it
	// reads of the proxy itself: the definitions of its tools, and its instructions. It must
	// not block. Nil is not called.
	Listed func(own []string)
	// Stats is what was counted of these. Nil: nothing is.
	Stats func() *stats.Report
	// StatsTool tells agents of it: by the tool proxy_stats, and a resource in their lists.
	StatsTool bool
	// Tracer, if not nil, traces each call.
	Tracer observe.Tracer
	// Idle is called a second after the last work on a result of megabytes. Nil
	// is not called.
	Idle func()
	// Version is the one we tell clients. Empty means "dev".
	Version string
	// Logger receives what operators need to know. Nil discards it.
	Logger *slog.Logger
}

// Limits are what one agent may have at one time, whether or not agents share what is
// kept. Of what is over them a call says so.
type Limits struct {
	// Calls that wait for their answers. Zero means 256.
	Calls int
	// CallsPerMinute that begin. Zero is any number.
	CallsPerMinute int
	// Streams of changes that are open, subscriptions/listen. Zero means 100.
	Streams int
	// Subscriptions to resources. Zero means 1000.
	Subscriptions int
	// Bytes of requests that wait, of answers that nobody has read yet and of URIs
	// subscribed to. One thing may be larger. Zero means 64 MiB.
	Bytes int64
	// AllBytes is of all agents together. Zero means 128 MiB.
	AllBytes int64
}

// A Server answers agents. It is safe for concurrent use.
type Server struct {
	opts     Options
	logger   *slog.Logger
	begun    time.Time
	info     json.RawMessage // who we are, for clients
	servers  atomic.Pointer[serverSet]
	names    *names
	listings listings
	budget   *guard.Budget
	account  *guard.Accounts
	calls    *guard.Calls
	streams  *guard.Calls
	limits   toolLimits
	shaper   *shape.Shaper
	tools    *tools.Tools
	desk     *tools.Tools // nil: nobody looks
	looks    *guard.Calls
	watch    *observe.Watch
	relay    *relay.Relay
	replicas *forward.Forwarder // nil: there is one replica
	clients  session.Registry
	first    firstClient
	changes  changes
	consent  *consent.Consents
	held     heldWatch
	healing  healing
	states   *programs.States
	odd      oddities
	rules    atomic.Pointer[rights.Rules]
	seen     sync.Map // *shape.Seen by *session.Session
	found    sync.Map // *foundTools by *session.Session

	manager Manager      // nil: no client changes which servers there are
	box     *toolbox.Box // nil: no client makes tools

	listed listed

	unmatched  unmatched
	redactions Redactions

	byID      sync.Map        // *Upstream by ID, with those that are being retired
	life      context.Context // ends with Close
	end       context.CancelFunc
	retiring  sync.WaitGroup // servers that are being retired
	following sync.WaitGroup // tools made at run time
	setting   sync.Mutex     // held by SetUpstreams
}

// New returns a server for opts.Upstreams, which stay the caller's to close; what
// it begins for single agents is ended by Close.
func New(opts Options) (*Server, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	info, err := json.Marshal(&mcp.Implementation{Name: "rlmproxy", Version: opts.Version})
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:    opts,
		logger:  opts.Logger,
		begun:   time.Now(),
		info:    info,
		budget:  guard.NewBudget(opts.WorkBytes, opts.Idle),
		account: guard.NewAccounts(opts.Limits.Bytes, opts.Limits.AllBytes),
		calls:   guard.NewCalls("calls", opts.Limits.Calls, opts.Limits.CallsPerMinute),
		streams: guard.NewCalls("streams", opts.Limits.Streams, 0),
		looks:   guard.NewCalls("queries", maxLooks, 0),
		first:   firstClient{came: make(chan struct{})},
		changes: newChanges(),
		consent: consent.New(opts.Fleet),
		states:  programs.New(opts.Fleet),

		unmatched: unmatched{done: map[string]bool{}},
	}
	s.limits.fleet = opts.Fleet
	s.calls.Share(opts.Fleet, "calls", session.Local)
	s.life, s.end = context.WithCancel(context.Background())
	s.rules.Store(opts.Rights)
	shaping := shape.Options{
		Store: opts.Store, JQ: opts.JQ,
		MaxTokens: opts.MaxTokens, MaxChars: opts.MaxChars, PreviewTokens: opts.PreviewTokens,
		KindTokens: opts.KindTokens, WholeTokens: opts.WholeTokens,
		NoLossless: opts.NoLossless, PassThrough: opts.PassThrough,
		QueryTimeout: opts.QueryTimeout, Logger: opts.Logger,
	}
	querying := tools.Options{Shaper: shape.New(shaping), QueryTimeout: opts.QueryTimeout, SearchTimeout: opts.SearchTimeout, Programs: opts.Programs}
	s.shaper, s.tools = querying.Shaper, tools.New(querying)
	if opts.Desk != nil {
		shaping.Store = opts.Desk
		querying.Shaper = shape.New(shaping)
		s.desk = tools.New(querying)
	}
	s.watch = observe.New(observe.Options{Observers: opts.Observers, Tracer: opts.Tracer, Own: s.tools.Has, CodeOf: codeOf})
	s.relay = relay.New(relay.Options{
		Clients:          &s.clients,
		Accounts:         s.account,
		MaxSubscriptions: opts.Limits.Subscriptions,
		CallTimeout:      opts.CallTimeout,
		AgentIdle:        opts.AgentIdle,
		ResourcesChanged: s.resourcesChanged,
		MaySee:           s.maySee,
		Fleet:            opts.Fleet,
		Logger:           opts.Logger,
	})
	s.box = opts.openBox()
	s.servers.Store(s.adopt(opts.Upstreams, newServerSet(nil, nil)))
	s.names = newNames(&s.servers, opts.Logger)
	s.followMade()
	s.joinFleet()
	return s, nil
}

// Close ends the connections of single agents, and returns when nothing of them
// is left and nothing runs that no client has asked for. Clients are to end before.
func (s *Server) Close() {
	s.setting.Lock()
	s.end() // no other servers come
	s.setting.Unlock()
	s.replicas.Close()
	s.following.Wait()
	s.held.close()
	s.changes.close()
	s.relay.Close()
	s.retiring.Wait()
	s.calls.Close()
}

// complete sets what was left out, and refuses what cannot be.
func (o *Options) complete() error {
	if o.Store == nil {
		return errors.New("middleware: no store")
	}
	if o.KindTokens == nil && o.MaxTokens == 0 && o.MaxChars == 0 {
		o.KindTokens = map[string]int{"source": 6000, "markdown": 6000, "config": 6000, "diff": 6000}
	}
	setDefault(&o.MaxTokens, 2000)
	setDefault(&o.WholeTokens, 25_000)
	setDefault(&o.CallTimeout, time.Minute)
	setDefault(&o.QueryTimeout, 5*time.Second)
	setDefault(&o.SearchTimeout, 5*time.Second)
	setDefault(&o.ListWait, 3*time.Second)
	setDefault(&o.FreshCalls, FreshAsk)
	setDefault(&o.Exposure, ExposeAuto)
	setDefault(&o.CatalogueTokens, 20_000)
	setDefault(&o.Version, "dev")
	setDefault(&o.MaxLineBytes, rpc.DefaultMaxBytes)
	setDefault(&o.WorkBytes, 64<<20)
	setDefault(&o.Limits.Calls, 256)
	setDefault(&o.Limits.Streams, 100)
	setDefault(&o.Limits.Subscriptions, 1000)
	setDefault(&o.Limits.Bytes, 64<<20)
	setDefault(&o.Limits.AllBytes, 128<<20)
	switch o.FreshCalls {
	case FreshAsk, FreshReadOnly, FreshAll, FreshNone:
	default:
		return fmt.Errorf("middleware: freshCalls %q, want ask, readonly, all or none", o.FreshCalls)
	}
	if err := o.Exposure.Check(); err != nil {
		return fmt.Errorf("middleware: %w", err)
	}
	if err := o.checkAll(o.Upstreams); err != nil {
		return err
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

// Accounts count what is held for clients, by [session.Session.Party].
func (s *Server) Accounts() *guard.Accounts { return s.account }

// A Load is what is going on.
type Load struct {
	Sessions, Agents int   // clients that are connected, and whose they are
	Calls, Streams   int   // that wait for their answers, or for changes
	Held             int64 // bytes held for agents beside their cached results
}

// Load returns what is going on.
func (s *Server) Load() Load {
	parties := map[string]bool{}
	sessions := s.clients.Of("")
	for _, c := range sessions {
		parties[c.Party] = true
	}
	return Load{Sessions: len(sessions), Agents: len(parties), Calls: s.calls.Running(), Streams: s.streams.Running(), Held: s.account.Held()}
}

// Ask passes on what a server asks of its client, the one of this [Upstream.ID].
func (s *Server) Ask(ctx context.Context, id, method string, params json.RawMessage) (json.RawMessage, error) {
	up := s.withID(id)
	if up == nil {
		return nil, fmt.Errorf("no server %q", id)
	}
	return up.server.Shared().Ask(ctx, method, params)
}

// Tell passes on what a server tells its client. It does not block and does not keep
// params.
func (s *Server) Tell(ctx context.Context, id, method string, params json.RawMessage) {
	if up := s.withID(id); up != nil {
		up.server.Shared().Tell(ctx, method, params)
	}
}

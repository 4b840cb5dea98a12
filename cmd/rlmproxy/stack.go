package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"rlmproxy/cache"
	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/audit"
	"rlmproxy/middleware/lastseen"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/traces"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/middleware/upstream/transport"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/redact"
)

// A stack is the whole proxy, running.
type stack struct {
	server *middleware.Server
	store  *cache.Store
	jq     *jq.Pool
	audit  *audit.Log     // nil: none
	scrape *scraped       // nil: no metrics
	traces *traces.Tracer // nil: none
	ups    []*upstream.Upstream
	names  []string       // of ups
	lists  *lastseen.File // nil: what servers offer is not kept
}

// An audience is who a proxy is for.
type audience int

const (
	nobody      audience = iota // whom a server could ask: the command itself calls
	oneClient                   // over a pipe: servers are told what it can do
	manyClients                 // over HTTP: each can do something else
)

// read reads the configuration that the command's flags name.
func (c *cli) read(cmd *cobra.Command) (*config.Config, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	user, _ := os.UserConfigDir() // absent: not looked in
	return config.Load(config.Options{
		Path:          c.configPath,
		Environ:       os.Environ(),
		Flags:         cmd.Flags(),
		Dir:           dir,
		UserConfigDir: user,
	})
}

// load is read for a command that needs servers.
func (c *cli) load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := c.read(cmd)
	switch {
	case errors.Is(err, config.ErrNoConfig):
		return nil, &usageError{err, "write one as in mcp.json.example, or put the proxy in front of one server: rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem ."}
	case err != nil:
		return nil, &usageError{err: err}
	case startsItself(os.Environ(), process.Starter(), cfg.Path):
		return nil, &usageError{fmt.Errorf("%s: a proxy that serves this file has started this one, which would start the next", cfg.Path),
			"take the proxy's own entry out of that file: it belongs in the file of the client"}
	}
	return cfg, nil
}

// logger logs at the configured level. What is odd in the configuration comes
// first: it may be why nothing starts.
func (c *cli) logger(cfg *config.Config) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(cfg.Proxy.LogLevel)); err != nil {
		l = slog.LevelInfo
	}
	logger := slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: l}))
	for _, w := range cfg.Warnings {
		logger.Warn("configuration", "warning", w)
	}
	return logger
}

// start starts the servers of cfg and a proxy before them. extra are servers
// that run in our own process, rules what agents may use.
func start(cfg *config.Config, logger *slog.Logger, extra map[string]*mcp.Server, who audience, rules *rights.Rules) (*stack, error) {
	p := cfg.Proxy
	pins, err := needPins(cfg, who)
	if err != nil {
		return nil, err
	}
	store, err := cache.New(cache.Options{
		MaxEntriesPerAgent: p.MaxEntriesPerAgent,
		MaxBytesPerAgent:   p.MaxMemoryPerAgent,
		MaxBytes:           p.MaxMemory,
		MaxAgents:          p.MaxTotalAgents,
		TTL:                p.CacheTTL,
		DerivedBytes:       who.derivedBytes(),
		Logger:             logger,
	})
	if err != nil {
		return nil, err
	}
	scrape, err := openMetrics(p, who, logger)
	if err != nil {
		store.Close()
		return nil, err
	}
	log, err := openAudit(p, logger)
	if err != nil {
		scrape.close()
		store.Close()
		return nil, err
	}
	s := &stack{store: store, audit: log, scrape: scrape, jq: jq.NewPool(jq.Options{MaxBytes: p.JQMemory, Logger: logger})}
	s.lists = openLists(cfg, who, logger)
	// Servers connect while the proxy is made, and have nobody to ask before.
	var server *middleware.Server
	made := make(chan struct{})
	proxy := func() *middleware.Server {
		<-made
		return server
	}
	opts := middleware.Options{
		Store:         store,
		MaxTokens:     p.MaxResponseTokens,
		MaxChars:      p.MaxResponseSize,
		PreviewTokens: p.MaxPreviewTokens,
		KindTokens:    p.MaxResponseTokensByKind,
		WholeTokens:   p.MaxWholeTokens,
		NoLossless:    !p.EnableLossless,
		NoDifferences: !p.EnableDifferences,
		PassThrough:   !p.EnableAutoTruncation,
		SharedCache:   !p.EnableAgentIsolation,
		FreshCalls:    middleware.FreshCalls(p.FreshCalls),
		CallTimeout:   p.CallTimeout,
		QueryTimeout:  p.JQTimeout,
		SearchTimeout: p.SearchTimeout,
		JQ:            s.jq,
		MaxLineBytes:  int64(p.MaxLineBytes),
		Limits: middleware.Limits{
			Calls:          p.MaxCallsPerAgent,
			CallsPerMinute: p.MaxCallsPerMinute,
			Bytes:          p.MaxBytesPerAgent,
			AllBytes:       2 * p.MaxBytesPerAgent,
			Streams:        p.MaxStreamsPerAgent,
			Subscriptions:  p.MaxSubscriptionsPerAgent,
		},
		Rights:    rules,
		WorkBytes: who.workBytes(),
		AgentIdle: p.SessionIdle,
		Idle:      debug.FreeOSMemory,
		Version:   version(),
		Logger:    logger,
	}
	if log != nil {
		opts.Observers = append(opts.Observers, log)
	}
	if scrape != nil {
		opts.Observers = append(opts.Observers, scrape)
	}
	if s.traces = openTraces(who, logger); s.traces != nil {
		opts.Tracer = s.traces
	}
	for _, sc := range cfg.Servers {
		if sc.Disabled {
			logger.Info("server is disabled", "server", sc.Name)
			continue
		}
		common := upstream.Options{
			Name:         sc.Name,
			Dial:         dialer(sc, cfg.Path, extra[sc.Name]),
			Impl:         &mcp.Implementation{Name: "rlmproxy", Version: version()},
			MaxLineBytes: int64(p.MaxLineBytes),
			Logger:       logger,
		}
		if redacts(p, sc) == middleware.RedactOn {
			common.Logger = slog.New(redact.Handler(logger.Handler())) // stderr, and why it is not available
		}
		shared := common
		key, late, begun := listsKey(sc), false, false
		if extra[sc.Name] == nil {
			shared.Kept, late = s.lists.Last(key)
		}
		shared.Capabilities = func(ctx context.Context) json.RawMessage {
			switch s := proxy(); {
			case s != nil && who == oneClient:
				can := s.ClientCapabilities(ctx)
				if shared.Kept.Info != nil && !begun {
					begun = true
					_ = transport.Sleep(ctx, headStart) // which only ends with ctx
				}
				return can
			case who == manyClients:
				return json.RawMessage(relay.AnyClient)
			}
			return nil
		}
		shared.ClientInfo = func() json.RawMessage {
			if s := proxy(); s != nil && who == oneClient {
				return s.ClientInfo()
			}
			return nil
		}
		shared.Stateless = func() bool {
			s := proxy()
			return s != nil && who == oneClient && s.ClientIsStateless()
		}
		shared.Request = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if s := proxy(); s != nil {
				return s.Ask(ctx, sc.Name, method, params)
			}
			return nil, errors.New("the proxy did not start")
		}
		shared.Notify = func(ctx context.Context, method string, params json.RawMessage) {
			if s := proxy(); s != nil {
				s.Tell(ctx, sc.Name, method, params)
			}
		}
		var up *upstream.Upstream
		shared.Changed = func() {
			if p := proxy(); p != nil {
				p.ListsChanged(sc.Name)
				s.lists.Keep(key, up.Offers())
			}
		}
		up = upstream.New(shared)
		s.ups, s.names = append(s.ups, up), append(s.names, sc.Name)
		m := served(sc, up)
		m.TrustHints = trustsHints(p, sc)
		m.Redact = redacts(p, sc)
		m.Late = late
		if pinned(p, sc) && extra[sc.Name] == nil {
			m.Pins = pins.Server(identity(cfg, sc), quarantined(p, sc), logger.With("server", sc.Name))
		}
		switch {
		case sc.Isolation != "agent" || who != manyClients:
		case !p.EnableAgentIsolation:
			logger.Warn(`"isolation": "agent" has no effect: enableAgentIsolation is false, so all clients are one agent`, "server", sc.Name)
		default:
			m.MaxAgents = sc.MaxProcesses
			m.PerAgent = func(c *relay.Connection) relay.OwnConn { return upstream.New(ofAgent(common, c)) }
		}
		opts.Upstreams = append(opts.Upstreams, m)
	}
	server, err = middleware.New(opts)
	close(made)
	if err != nil {
		s.close()
		return nil, err
	}
	s.server = server
	scrape.serve(s, log, logger)
	return s, nil
}

// ofAgent completes the options of a process, or session, that is one agent's.
func ofAgent(opts upstream.Options, c *relay.Connection) upstream.Options {
	opts.Logger = opts.Logger.With("connection", c.Number())
	opts.Capabilities, opts.Stateless = c.Capabilities, c.Stateless
	opts.Request, opts.Notify, opts.Changed = c.Ask, c.Tell, c.Connected
	return opts
}

func dialer(sc config.Server, file string, inProcess *mcp.Server) upstream.Dialer {
	switch {
	case inProcess != nil:
		return upstream.InProcess(inProcess)
	case sc.URL != "":
		return upstream.Remote(sc.URL, sc.Type, sc.Headers)
	}
	cmd := upstream.Command{Name: sc.Name, Path: sc.Command, Args: sc.Args, Dir: sc.Cwd, Inherit: sc.InheritEnv}
	for k, v := range sc.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if file != "" {
		cmd.Env = append(cmd.Env, serving(os.Environ(), os.Getpid(), file))
	}
	return upstream.Stdio(cmd)
}

// redacts is what becomes of secrets in what a server sends.
func redacts(p config.Proxy, sc config.Server) middleware.Redact {
	return middleware.Redact(cmp.Or(sc.Redact, p.Redact))
}

// served is the operator's view of a server, as the proxy wants it.
func served(sc config.Server, up *upstream.Upstream) middleware.Upstream {
	prefix := sc.Name
	if sc.Prefix != nil {
		prefix = *sc.Prefix
	}
	tools := map[string]middleware.Policy{}
	for glob, t := range sc.Tools {
		tools[glob] = middleware.Policy{
			Shape: t.Shape, Timeout: t.Timeout, MaxTokens: t.MaxResponseTokens,
			RateLimit: t.RateLimit, Concurrency: t.Concurrency,
			Fields: t.Fields, Exclude: t.Exclude, JQ: t.JQ, Hide: t.Hide,
		}
	}
	return middleware.Upstream{
		Name:   sc.Name,
		Prefix: prefix,
		Conn:   up,
		Policy: middleware.Policy{
			Shape: sc.Shape, Timeout: sc.Timeout, MaxTokens: sc.MaxResponseTokens, Hide: sc.Hide,
			RateLimit: sc.RateLimit, Concurrency: sc.Concurrency,
		},
		Tools: tools,
		Allow: sc.Allow,
		Deny:  sc.Deny,
		Fresh: sc.FreshCalls,
	}
}

// close ends all servers and workers at once and returns when their processes have ended.
func (s *stack) close() {
	var wg sync.WaitGroup
	for _, up := range s.ups {
		wg.Go(up.Close)
	}
	if s.server != nil {
		wg.Go(s.server.Close)
	}
	wg.Go(s.jq.Close)
	wg.Go(s.scrape.close)
	wg.Wait()
	s.lists.Close()
	var ends sync.WaitGroup
	if s.audit != nil {
		ends.Go(s.audit.Close)
	}
	if s.traces != nil {
		ends.Go(func() { _ = s.traces.Close(tracesTime) }) // what fails is logged
	}
	ends.Wait()
	s.store.Close()
}

// dial connects a client to the proxy inside our own process.
func (s *stack) dial(ctx context.Context) (conn *rpc.Conn, hangUp func(), err error) {
	clientR, serverW := io.Pipe()
	serverR, clientW := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.server.Serve(serving, serverR, serverW)
	}()
	conn = rpc.NewConn(clientR, clientW, rpc.ConnOptions{Options: rpc.Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("{}"), nil // a ping
	}}})
	hello, err := json.Marshal(map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": mcp.Implementation{Name: "rlmproxy-cli", Version: version()}})
	if err == nil {
		_, err = conn.Call(ctx, "initialize", hello, nil)
	}
	if err == nil {
		err = conn.Notify(ctx, "notifications/initialized", nil)
	}
	hangUp = func() {
		conn.Close()
		stop()
		<-ended
	}
	if err != nil {
		hangUp()
		return nil, nil, fmt.Errorf("connecting to the proxy: %w", err)
	}
	return conn, hangUp, nil
}

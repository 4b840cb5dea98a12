package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"rlmproxy/cache"
	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/middleware"
	"rlmproxy/middleware/audit"
	"rlmproxy/middleware/lastseen"
	"rlmproxy/middleware/oauth"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/stats"
	"rlmproxy/middleware/traces"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/worker"
)

// A stack is the whole proxy, running.
type stack struct {
	server *middleware.Server
	fleet  *fleet.Store // nil: there is one replica
	store  *cache.Store
	jq     *jq.Pool
	// programs runs programs in JavaScript. Nil: there are none.
	programs *script.Pool
	made     *middleware.Made // nil: agents make no tools
	audit    *audit.Log       // nil: none
	scrape   *scraped         // nil: no metrics
	traces   *traces.Tracer   // nil: none
	desk     *cache.Desk      // nil: nobody looks at what agents keep
	stats    *stats.Recorder  // nil: nothing is counted

	cfg   *config.Config         // as it counts now
	extra map[string]*mcp.Server // servers that run in our own process
	who   audience
	log   *slog.Logger
	ids   map[string]bool // that servers ever had, see [middleware.Upstream.ID]
	lists *lastseen.File  // nil: what servers offer is not kept

	signIns *oauth.Replicas // nil: this machine has them

	mu      sync.Mutex // guards the fields below
	servers []*server
	pins    *pin.Store // of the fleet; nil: not opened
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
	return c.readWith(cmd, fromKeyring)
}

// readSettings is read for a command that starts no server: no secrets are looked up, which
// may be missing.
func (c *cli) readSettings(cmd *cobra.Command) (*config.Config, error) {
	return c.readWith(cmd, nil)
}

func (c *cli) readWith(cmd *cobra.Command, keyring func(stateDir, name string) (string, error)) (*config.Config, error) {
	opts, err := c.options(cmd, keyring)
	if err != nil {
		return nil, err
	}
	return config.Load(opts)
}

func (c *cli) options(cmd *cobra.Command, keyring func(stateDir, name string) (string, error)) (config.Options, error) {
	dir, err := os.Getwd()
	user, _ := os.UserConfigDir() // absent: not looked in
	return config.Options{
		Path:          c.configPath,
		Environ:       os.Environ(),
		Flags:         cmd.Flags(),
		Dir:           dir,
		UserConfigDir: user,
		Keyring:       keyring,
	}, err
}

// noConfigHint is what helps where there is no file.
const noConfigHint = "write one as in mcp.json.example, or put the proxy in front of one server: rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem ."

// load is read for a command that needs servers.
func (c *cli) load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := c.read(cmd)
	switch {
	case errors.Is(err, config.ErrNoConfig):
		return nil, &usageError{err, noConfigHint}
	case err != nil:
		return nil, &usageError{err: err}
	case startsItself(os.Environ(), process.Starter(), cfg.Path):
		return nil, &usageError{fmt.Errorf("%s: a proxy with this file has started this proxy, which would start the next", cfg.Path),
			"remove the proxy's own entry from that file: it belongs in the client's own file"}
	}
	return cfg, nil
}

// logger logs at the configured level. What is odd in the configuration comes
// first: it may be why nothing starts.
func (c *cli) logger(cfg *config.Config) *slog.Logger {
	c.setLevel(cfg.Proxy)
	logger := slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: &c.level}))
	for _, w := range cfg.Warnings {
		logger.Warn("configuration", "warning", w)
	}
	return logger
}

func (c *cli) setLevel(p config.Proxy) {
	var l slog.Level                        // info
	_ = l.UnmarshalText([]byte(p.LogLevel)) // which was checked
	c.level.Set(l)
}

// start starts the servers of cfg and a proxy before them. extra are servers
// that run in our own process, rules what agents may use.
func start(cfg *config.Config, logger *slog.Logger, extra map[string]*mcp.Server, who audience, rules *rights.Rules) (*stack, error) {
	s := &stack{cfg: cfg, extra: extra, who: who, log: logger, ids: map[string]bool{}}
	opts, err := s.foundations()
	if err == nil {
		opts.Rights = rules
		err = s.serve(opts)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// foundations opens what the proxy stands on, and returns what it makes of the settings. What is open
// when something fails is close's.
func (s *stack) foundations() (opts middleware.Options, err error) {
	cfg, p, who, logger := s.cfg, s.cfg.Proxy, s.who, s.log
	if s.fleet, err = openFleet(p, logger); err != nil {
		return opts, err
	}
	var kept cache.Dir
	if s.store, kept, err = openStore(cfg, s.fleet, who, logger); err != nil {
		return opts, err
	}
	if s.scrape, err = openMetrics(p, who, s.fleet, logger); err != nil {
		return opts, err
	}
	if s.audit, err = openAudit(p, logger); err != nil {
		return opts, err
	}
	if s.fleet != nil {
		s.signIns = oauth.NewReplicas(s.fleet, who != nobody)
	}
	if who == manyClients {
		if s.desk, err = openDesk(s.store); err != nil {
			return opts, err
		}
	}
	subModel, err := openSubModel(cfg, s.fleet, logger)
	if err != nil {
		return opts, err
	}
	if s.made, err = openMade(p, logger); err != nil {
		return opts, err
	}
	s.jq = jq.NewPool(worker.Options{MaxBytes: p.JQMemory, Logger: logger})
	s.lists, s.stats, s.traces = openLists(cfg, who, logger), openStats(cfg, who, logger), openTraces(who, logger)
	opts = middleware.Options{
		SubModel:        subModel,
		Made:            s.made,
		Store:           s.store,
		Desk:            s.desk,
		MaxTokens:       p.MaxResponseTokens,
		MaxChars:        p.MaxResponseSize,
		PreviewTokens:   p.MaxPreviewTokens,
		KindTokens:      p.MaxResponseTokensByKind,
		WholeTokens:     p.MaxWholeTokens,
		NoLossless:      !p.EnableLossless,
		NoDifferences:   !p.EnableDifferences,
		PassThrough:     !p.EnableAutoTruncation,
		SharedCache:     !p.EnableAgentIsolation,
		Pipe:            kept.Config,
		Fleet:           s.fleet,
		Exposure:        middleware.Exposure(p.Exposure),
		CatalogueTokens: p.MaxCatalogueTokens,
		ListFound:       p.ListFoundTools,
		CompactSchemas:  p.CompactSchemas,
		FreshCalls:      middleware.FreshCalls(p.FreshCalls),
		NoHealing:       !p.EnableHealing,
		CallTimeout:     p.CallTimeout,
		QueryTimeout:    p.JQTimeout,
		SearchTimeout:   p.SearchTimeout,
		JQ:              s.jq,
		MaxLineBytes:    int64(p.MaxLineBytes),
		Limits: middleware.Limits{
			Calls:          p.MaxCallsPerAgent,
			CallsPerMinute: p.MaxCallsPerMinute,
			Bytes:          p.MaxBytesPerAgent,
			AllBytes:       2 * p.MaxBytesPerAgent,
			Streams:        p.MaxStreamsPerAgent,
			Subscriptions:  p.MaxSubscriptionsPerAgent,
		},
		WorkBytes: who.workBytes(),
		AgentIdle: p.SessionIdle,
		Idle:      debug.FreeOSMemory,
		Version:   version(),
		Logger:    logger,
		Retired:   func(conn middleware.Caller) { conn.(*upstream.Upstream).Close() },
	}
	if who != nobody || logger.Enabled(context.Background(), slog.LevelInfo) {
		opts.Observers = append(opts.Observers, callLog{s})
	}
	if p.Code || p.RuntimeTools {
		s.programs = script.NewPool(script.Options{Worker: worker.Options{MaxBytes: p.JQMemory, Logger: logger}, Limit: p.JQTimeout})
		opts.Programs, opts.Code = s.programs, p.Code
	}
	if s.fleet != nil {
		opts.Replica = s.fleet.Replica()
	}
	if s.audit != nil {
		opts.Observers = append(opts.Observers, s.audit)
	}
	if s.scrape != nil {
		opts.Observers = append(opts.Observers, s.scrape)
	}
	if s.stats != nil {
		opts.Observers, opts.Listed = append(opts.Observers, s.stats), s.stats.Listed
		opts.Stats, opts.StatsTool = s.stats.Report, p.EnableStatsTool
	}
	if s.traces != nil {
		opts.Tracer = s.traces
	}
	return opts, nil
}

// serve begins to connect the servers, and puts the proxy before them.
func (s *stack) serve(opts middleware.Options) error {
	made := make(chan struct{})
	servers, err := s.serversOf(s.cfg, made)
	s.setList(servers)
	if err == nil {
		opts.Upstreams = upstreams(s.cfg, servers)
		s.server, err = middleware.New(opts)
	}
	close(made)
	if err != nil {
		return err
	}
	for _, sc := range s.cfg.Servers {
		if sc.Disabled {
			s.log.Info("server is disabled", "server", sc.Name)
		}
	}
	s.scrape.serve(s, s.audit, s.log)
	return nil
}

// handedTime is how long requests that came to other replicas may go on once this one's own have
// ended.
const handedTime = time.Second

// close ends all servers and workers at once and returns when their processes have ended.
func (s *stack) close() {
	if s.server != nil {
		s.server.LeaveFleet(handedTime)
	}
	var wg sync.WaitGroup
	for _, r := range s.list() {
		wg.Go(r.up.Close)
	}
	if s.server != nil {
		wg.Go(s.server.Close)
	}
	if s.jq != nil {
		wg.Go(s.jq.Close)
	}
	if s.programs != nil {
		wg.Go(s.programs.Close)
	}
	wg.Go(s.scrape.close)
	wg.Wait()
	closeMade(s.made)
	s.lists.Close()
	s.stats.Close()
	var ends sync.WaitGroup
	if s.audit != nil {
		ends.Go(s.audit.Close)
	}
	if s.traces != nil {
		ends.Go(func() { _ = s.traces.Close(tracesTime) }) // what fails is logged
	}
	ends.Wait()
	if s.desk != nil {
		s.desk.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	s.fleet.Close()
}

// state is that of a server, as operators read it.
func (s *stack) state(r *server) (upstream.State, error) {
	state, err := r.up.State()
	return state.Quarantine(state == upstream.Ready && s.server.AllHeld(r.entry.Name)), err
}

// cliName is what the client says it is by which commands call.
const cliName = "rlmproxy-cli"

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
		"clientInfo": mcp.Implementation{Name: cliName, Version: version()}})
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

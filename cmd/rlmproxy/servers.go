package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/transport"
	"rlmproxy/pipeline/redact"
)

// A server is an entry of the configuration, which runs unless it is disabled.
type server struct {
	entry config.Server // effective
	up    *upstream.Upstream
	m     middleware.Upstream
}

// effective is an entry with the settings of all servers in the place of those that it has not.
func effective(p config.Proxy, sc config.Server) config.Server {
	sc.Redact = string(redacts(p, sc))
	sc.TrustHints = new(trustsHints(p, sc))
	sc.PinTools, sc.Quarantine = new(pinned(p, sc)), new(quarantined(p, sc))
	sc.Handles = new(setting(sc.Handles, p.EnableHandles))
	sc.ReadOnly = new(setting(sc.ReadOnly, p.ReadOnly))
	return sc
}

// redacts is what becomes of secrets in what a server sends.
func redacts(p config.Proxy, sc config.Server) middleware.Redact {
	return middleware.Redact(cmp.Or(sc.Redact, p.Redact))
}

// processOf is what of an effective entry its process is made of: if that differs, it takes
// another. All the rest is policy, which the one that runs can have as well.
func processOf(sc config.Server) config.Server {
	sc.Disabled, sc.Prefix, sc.Shape, sc.Timeout, sc.MaxResponseTokens = false, nil, nil, 0, 0
	sc.RateLimit, sc.Concurrency, sc.MaxProcesses = 0, 0, 0
	sc.Allow, sc.Deny, sc.Hide, sc.Tools = nil, nil, nil, nil
	sc.Description, sc.Exposure, sc.ReadOnly, sc.Features = "", "", nil, nil
	sc.FreshCalls, sc.TrustHints, sc.PinTools, sc.Quarantine, sc.Handles, sc.SubModel = nil, nil, nil, nil, nil, nil
	if sc.Redact != string(middleware.RedactOn) { // of what it writes to stderr
		sc.Redact = ""
	}
	return sc
}

// serversOf are those of cfg: the ones that run now, where they are as cfg has them, and new
// ones, which wait for made before they ask the proxy anything. The error is that nothing can
// be started; then nothing was.
func (s *stack) serversOf(cfg *config.Config, made <-chan struct{}) ([]*server, error) {
	entries, err := entriesOf(cfg)
	if err != nil {
		return nil, err
	}
	pins, err := s.needPins(cfg)
	if err != nil {
		return nil, err
	}
	var list []*server
	for _, sc := range entries {
		if sc.Disabled {
			list = append(list, &server{entry: sc, up: upstream.New(upstream.Options{Name: sc.Name, Disabled: true})})
			continue
		}
		was := s.running(sc.Name)
		if was != nil && reflect.DeepEqual(was.entry, sc) {
			list = append(list, was)
			continue
		}
		next := &server{entry: sc, m: served(sc)}
		if was != nil && reflect.DeepEqual(processOf(was.entry), processOf(sc)) {
			next.up, next.m.Conn, next.m.ID, next.m.PerAgent = was.up, was.m.Conn, was.m.ID, was.m.PerAgent
			next.m.Remote, next.m.Kind = was.m.Remote, was.m.Kind
		} else {
			s.open(next, made)
		}
		if *sc.PinTools && s.extra[sc.Name] == nil {
			next.m.Pins = pins.Server(identity(cfg, sc), *sc.Quarantine, s.log.With("server", sc.Name))
		}
		list = append(list, next)
	}
	return list, nil
}

// entriesOf are the effective entries of cfg, which were checked.
func entriesOf(cfg *config.Config) (entries []config.Server, err error) {
	for _, sc := range cfg.Servers {
		sc = effective(cfg.Proxy, sc)
		if m := served(sc); !sc.Disabled {
			if err := m.Check(); err != nil {
				return nil, err
			}
		}
		entries = append(entries, sc)
	}
	return entries, nil
}

// running is the server of this name that runs, or nil.
func (s *stack) running(name string) *server {
	for _, r := range s.list() {
		if r.entry.Name == name && !r.entry.Disabled {
			return r
		}
	}
	return nil
}

// list are the servers, in the order of the configuration.
func (s *stack) list() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers
}

func (s *stack) setList(list []*server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = list
}

// upstreams are those that run, as the proxy wants them.
func upstreams(cfg *config.Config, list []*server) (ups []middleware.Upstream) {
	terms := hiding(cfg)
	for _, r := range list {
		if !r.entry.Disabled {
			up := r.m
			up.Terms = terms
			ups = append(ups, up)
		}
	}
	return ups
}

// open starts a server, or connects to it.
func (s *stack) open(r *server, made <-chan struct{}) {
	sc, id := r.entry, r.entry.Name
	for n := 2; s.ids[id]; n++ {
		id = fmt.Sprintf("%s@%d", sc.Name, n)
	}
	s.ids[id] = true
	// Servers connect while the proxy is made, and have nobody to ask before.
	proxy := func() *middleware.Server {
		<-made
		return s.server
	}
	r.m.Remote, r.m.Kind = sc.URL != "", listsKey(sc)
	common := upstream.Options{
		Name:         sc.Name,
		Dial:         s.dialer(sc),
		Impl:         &mcp.Implementation{Name: "rlmproxy", Version: version()},
		MaxLineBytes: int64(s.cfg.Proxy.MaxLineBytes),
		Logger:       s.log,
	}
	if common.Mask = masker(s.cfg.Proxy, sc); common.Mask != nil {
		common.Logger = slog.New(redact.Handler(s.log.Handler(), common.Mask)) // stderr, and why it is not available
	}
	shared := common
	key, begun := listsKey(sc), false
	if s.extra[sc.Name] == nil {
		shared.Kept, r.m.Late = s.lists.Last(key)
	}
	shared.Capabilities = func(ctx context.Context) json.RawMessage {
		switch p := proxy(); {
		case p != nil && s.who == oneClient:
			can := p.ClientCapabilities(ctx)
			if shared.Kept.Info != nil && !begun {
				begun = true
				_ = transport.Sleep(ctx, headStart) // which only ends with ctx
			}
			return can
		case s.who == manyClients:
			return json.RawMessage(relay.AnyClient)
		}
		return nil
	}
	shared.ClientInfo = func() json.RawMessage {
		if p := proxy(); p != nil && s.who == oneClient {
			return p.ClientInfo()
		}
		return nil
	}
	shared.Stateless = func() bool {
		p := proxy()
		return p != nil && s.who == oneClient && p.ClientIsStateless()
	}
	shared.Request = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if p := proxy(); p != nil {
			return p.Ask(ctx, id, method, params)
		}
		return nil, errors.New("the proxy did not start")
	}
	shared.Notify = func(ctx context.Context, method string, params json.RawMessage) {
		if p := proxy(); p != nil {
			p.Tell(ctx, id, method, params)
		}
	}
	shared.Changed = func() {
		if p := proxy(); p != nil {
			p.ListsChanged(id)
			s.lists.Keep(key, r.up.Offers())
		}
	}
	r.up = upstream.New(shared)
	r.m.Conn, r.m.ID = r.up, id
	switch {
	case sc.Isolation != "agent" || s.who != manyClients:
	case !s.cfg.Proxy.EnableAgentIsolation:
		s.log.Warn(`"isolation": "agent" has no effect: enableAgentIsolation is false, so all clients are one agent`, "server", sc.Name)
	default:
		r.m.PerAgent = func(c *relay.Connection) relay.OwnConn { return upstream.New(ofAgent(common, c)) }
	}
}

// ofAgent completes the options of a process, or session, that is one agent's.
func ofAgent(opts upstream.Options, c *relay.Connection) upstream.Options {
	opts.Logger = opts.Logger.With("connection", c.Number())
	opts.Capabilities, opts.Stateless = c.Capabilities, c.Stateless
	opts.Request, opts.Notify, opts.Changed = c.Ask, c.Tell, c.Connected
	return opts
}

func (s *stack) dialer(sc config.Server) upstream.Dialer {
	switch inProcess := s.extra[sc.Name]; {
	case inProcess != nil:
		return upstream.InProcess(inProcess)
	case sc.URL != "":
		return upstream.SignedIn(sc.URL, sc.Type, sc.Headers, authorize(s.cfg, sc, s.signIns, s.log))
	}
	cmd := commandOf(sc)
	if s.cfg.Path != "" {
		cmd.Env = append(cmd.Env, serving(os.Environ(), os.Getpid(), s.cfg.Path))
	}
	return upstream.Stdio(cmd)
}

// commandOf is how a server is started.
func commandOf(sc config.Server) upstream.Command {
	cmd := upstream.Command{Name: sc.Name, Path: sc.Command, Args: sc.Args, Dir: sc.Cwd, Inherit: sc.InheritEnv}
	for k, v := range sc.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// served is the operator's view of a server, an effective entry, as the proxy wants it. It has
// neither a connection nor pins.
func served(sc config.Server) middleware.Upstream {
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
		Name:      sc.Name,
		Prefix:    prefix,
		MaxAgents: sc.MaxProcesses,
		Policy: middleware.Policy{
			Shape: sc.Shape, Timeout: sc.Timeout, MaxTokens: sc.MaxResponseTokens, Hide: sc.Hide,
			RateLimit: sc.RateLimit, Concurrency: sc.Concurrency,
		},
		Tools:       tools,
		Allow:       sc.Allow,
		Deny:        sc.Deny,
		Fresh:       sc.FreshCalls,
		Features:    sc.Features,
		ReadOnly:    *sc.ReadOnly,
		Exposure:    middleware.Exposure(sc.Exposure),
		Description: sc.Description,
		TrustHints:  *sc.TrustHints,
		NoHandles:   !*sc.Handles,
		NoModel:     sc.SubModel != nil && !*sc.SubModel,
		Redact:      middleware.Redact(sc.Redact),
	}
}

// A change is other servers in the place of those that run.
type change struct {
	stack *stack
	cfg   *config.Config
	list  []*server
	made  chan struct{}
	what  []any // for the log: which are added, restarted, changed in place or removed, or their order
}

// prepare starts what is new in cfg. Nothing else changes before make.
func (s *stack) prepare(cfg *config.Config) (*change, error) {
	c := &change{stack: s, cfg: cfg, made: make(chan struct{})}
	var err error
	if c.list, err = s.serversOf(cfg, c.made); err != nil {
		return nil, err
	}
	names := map[string][]string{}
	for _, next := range c.list {
		switch was := s.running(next.entry.Name); {
		case next.entry.Disabled:
		case was == nil:
			names["added"] = append(names["added"], next.entry.Name)
		case was.up != next.up:
			names["restarted"] = append(names["restarted"], next.entry.Name)
		case was != next:
			names["changed"] = append(names["changed"], next.entry.Name)
		}
	}
	for _, was := range s.list() {
		stays := func(next *server) bool { return next.entry.Name == was.entry.Name && !next.entry.Disabled }
		if !was.entry.Disabled && !slices.ContainsFunc(c.list, stays) {
			names["removed"] = append(names["removed"], was.entry.Name)
		}
	}
	if now := namesOf(c.list); len(names) == 0 && !slices.Equal(now, namesOf(s.list())) { // which decides on names of tools
		names["order"] = now
	}
	for _, how := range slices.Sorted(maps.Keys(names)) {
		c.what = append(c.what, how, strings.Join(names[how], ", "))
	}
	return c, nil
}

// namesOf are those of the servers that run.
func namesOf(list []*server) (names []string) {
	for _, r := range list {
		if !r.entry.Disabled {
			names = append(names, r.entry.Name)
		}
	}
	return names
}

// make puts the servers in their place. On an error those that were started are ended.
func (c *change) make() error {
	s := c.stack
	s.store.SetTerms(hiding(c.cfg))
	err := s.server.SetUpstreams(upstreams(c.cfg, c.list))
	close(c.made)
	if err != nil {
		for _, next := range c.list {
			if was := s.running(next.entry.Name); was == nil || was.up != next.up {
				next.up.Close()
			}
		}
		return err
	}
	s.cfg = c.cfg
	s.setList(c.list)
	return nil
}

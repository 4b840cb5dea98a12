package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"time"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/web"
)

// A webProxy is the proxy as it runs over HTTP, and what of it may change meanwhile.
type webProxy struct {
	cfg    *config.Config
	log    *slog.Logger
	guard  *auth.Guard
	stack  *stack
	config *takeover
	page   *uiPage // nil: there is none

	// What was read last. One goroutine uses these.
	tokens []auth.Token
	warned string // of the file of tokens
}

// serveHTTP serves at addr until a signal comes. What speaks against it is found
// before any server is started.
func (c *cli) serveHTTP(ctx context.Context, cfg *config.Config, addr string, load func() (*config.Config, error)) error {
	logger := c.logger(cfg)
	w := &webProxy{cfg: cfg, log: logger}
	err := w.readGuard()
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return &usageError{err, "name a file that you can read, with a line for each agent, as in alice: TOKEN"}
	case err != nil:
		return &usageError{err: err}
	}
	if cfg.Proxy.EnableUpstreamTool {
		logger.Warn("enableUpstreamTool has no effect over HTTP: servers are changed by the client at stdin and stdout alone")
	}
	w.config = c.takeover(cfg, load, logger)
	w.config.rights = func(cfg *config.Config) (*rights.Rules, error) { return httpRights(cfg, w.guard) }
	w.config.tell = func(rules *rights.Rules) { tellUnnamed(logger, rules, w.tokens, w.cfg.Proxy.HTTPJWTIssuer != "") }
	if w.config.rules, err = httpRights(cfg, w.guard); err != nil {
		return err
	}
	w.config.tell(w.config.rules)
	l, url, where, err := w.listen(addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if w.page, err = w.openPage(l.Addr()); err != nil {
		return err
	}
	limitMemory(cfg.Proxy, manyClients)
	s, err := start(cfg, logger, nil, manyClients, w.config.rules)
	if err != nil {
		return err
	}
	defer s.close()
	w.stack, w.config.stack = s, s
	s.record(url)
	h := web.New(web.Options{
		Guard: w.guard,
		Attach: func(t rpc.Transport, who middleware.Identity, opts rpc.Options) web.Session {
			return s.server.Attach(t, who, opts)
		},
		Fleet: s.fleet,
		Resume: func(t rpc.Transport, who middleware.Identity, opts rpc.Options, past middleware.Past) web.Session {
			return s.server.Resume(t, who, opts, past)
		},
		InputSchema:    s.server.InputSchema,
		Ready:          s.ready,
		Metrics:        s.scrape.beside(cfg.Proxy),
		UI:             w.page.handler(s),
		MaxBodyBytes:   int64(cfg.Proxy.MaxLineBytes),
		Accounts:       s.server.Accounts(),
		MaxConnections: cfg.Proxy.MaxConnectionsPerAgent,
		MaxSessions:    cfg.Proxy.MaxTotalAgents,
		SessionIdle:    cfg.Proxy.SessionIdle,
		ResumeTime:     cfg.Proxy.SessionResume,
		DrainTime:      cfg.Proxy.Drain,
		NoticeTime:     s.noticeTime(),
		Logger:         logger,
	})
	var files []*reread
	if path := cfg.Proxy.HTTPTokensFile; path != "" {
		files = append(files, &reread{path: path, take: w.rereadTokens})
	}
	defer c.rereading(ctx, w.config, files...)()
	logger.Info("listening on "+where, "authentication", w.guard.Authenticates())
	w.page.tell(logger)
	return h.Serve(ctx, l)
}

// listen listens at addr, and says where that is: as a URL of /mcp, or unix:path, and for
// people.
func (w *webProxy) listen(addr string) (l net.Listener, url, where string, err error) {
	if path, ok := web.SocketPath(addr); ok {
		if l, err = web.ListenUnix(path, fs.FileMode(w.cfg.Proxy.HTTPSocketMode)); err != nil {
			return nil, "", "", &usageError{fmt.Errorf("--http: %w", err), "name a file in a folder of yours, as in --http unix:/run/user/1000/rlmproxy"}
		}
		url = "unix:" + path
		return l, url, url + " (curl --unix-socket " + path + " http://localhost/mcp)", nil
	}
	if addr, err = web.Address(addr); err != nil {
		return nil, "", "", &usageError{fmt.Errorf("--http: %w", err), "--http 127.0.0.1:8080, or --http 8080 for the same, or --http unix:/path"}
	}
	if err := auth.CheckBind(addr, w.guard.Authenticates()); err != nil {
		return nil, "", "", &usageError{err: fmt.Errorf("--http: %w", err)}
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		return nil, "", "", &usageError{fmt.Errorf("--http: %w", err), "choose a free port of an address that this machine has, as in --http 127.0.0.1:8081"}
	}
	url = fmt.Sprintf("http://%s/mcp", l.Addr())
	return l, url, url, nil
}

// readGuard reads who may come, as the settings say.
func (w *webProxy) readGuard() (err error) {
	p := w.cfg.Proxy
	opts := auth.Options{
		Resource:       p.HTTPPublicURL,
		AllowedHosts:   p.HTTPAllowedHosts,
		AllowedOrigins: p.HTTPAllowedOrigins,
		Logger:         w.log,
	}
	if w.tokens, w.warned, err = staticTokens(p, false); err != nil {
		return err
	}
	if w.warned != "" {
		w.log.Warn(w.warned)
	}
	opts.Tokens = w.tokens
	if p.HTTPJWTIssuer != "" {
		opts.JWT = &auth.JWT{
			Issuer:     p.HTTPJWTIssuer,
			Audience:   p.HTTPJWTAudience,
			JWKSURL:    p.HTTPJWTKeysURL,
			AgentClaim: p.HTTPJWTAgentClaim,
		}
	}
	w.guard, err = auth.New(opts)
	return err
}

// staticTokens are those of the file and of the environment. A file that is read again may
// have none left: its tokens are revoked then.
func staticTokens(p config.Proxy, again bool) (tokens []auth.Token, warning string, err error) {
	if p.HTTPTokensFile != "" {
		tokens, warning, err = auth.ReadTokens(p.HTTPTokensFile)
		if err != nil && !(again && errors.Is(err, auth.ErrNoTokens)) {
			return nil, "", fmt.Errorf("httpTokensFile: %w", err)
		}
	}
	if p.HTTPTokens != "" {
		more, err := auth.ParseTokens("RLMPROXY_HTTP_TOKENS", string(p.HTTPTokens))
		if err != nil {
			return nil, "", err
		}
		if len(more) == 0 {
			return nil, "", errors.New("RLMPROXY_HTTP_TOKENS: there is no token; write them as in alice:TOKEN,bob:TOKEN")
		}
		tokens = append(tokens, more...)
	}
	for _, t := range tokens {
		if t.Secret == string(p.MetricsToken) {
			return nil, "", errors.New("RLMPROXY_METRICS_TOKEN is also the token of an agent, and agents must not read the metrics")
		}
		if t.Secret == string(p.UIToken) {
			return nil, "", errors.New("RLMPROXY_UI_TOKEN is the token of an agent too: the page shows the results of all agents")
		}
	}
	return tokens, warning, nil
}

// noticeTime is how long a replica that is to end serves on for balancers that have not
// noticed: half of the time that it has. One that is alone has nobody to hand over to.
func (s *stack) noticeTime() time.Duration {
	if s.fleet == nil {
		return 0
	}
	return s.cfg.Proxy.Drain / 2
}

// ready says for /readyz whether a server is connected, or none is there to be,
// and the state of each. A replica stays ready while the shared store is away: all would be
// unready at once, and short results need no store. Only one that the store has denied
// itself to from the start is not, so that a deploy with a wrong password ends there.
func (s *stack) ready() (ok bool, why string) {
	ok = true
	lines := []string{}
	connected := false
	for _, r := range s.list() {
		state, _ := s.state(r) // what failed may name a path; it is in the log
		connected = connected || state == upstream.Ready || state == upstream.Quarantined
		ok = ok && state == upstream.Disabled
		lines = append(lines, r.entry.Name+": "+state.String())
	}
	if len(lines) == 0 {
		lines = append(lines, "no servers")
	}
	ok = ok || connected
	if s.fleet != nil {
		store := "ready"
		if s.fleet.Denied() {
			ok, store = false, "denies itself: the user or the password in cacheURL is wrong, or may not do enough"
		} else if since, _ := s.fleet.Away(); !since.IsZero() {
			store = "away since " + since.UTC().Format(time.RFC3339)
		}
		lines = append(lines, "the shared store: "+store, "this replica: "+s.fleet.Replica())
	}
	return ok, strings.Join(lines, "\n")
}

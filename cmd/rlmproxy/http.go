package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/web"
)

// serveHTTP serves at addr until a signal comes. What speaks against it is found
// before any server is started.
func (c *cli) serveHTTP(ctx context.Context, cfg *config.Config, addr string) error {
	logger := c.logger(cfg)
	addr, err := web.Address(addr)
	if err != nil {
		return &usageError{fmt.Errorf("--http: %w", err), "--http 127.0.0.1:8080, or --http 8080 for the same"}
	}
	guard, err := guard(cfg.Proxy, logger)
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return &usageError{err, "write a file that you can read, with a line for each agent, as in alice: TOKEN"}
	case err != nil:
		return &usageError{err: err}
	}
	if err := auth.CheckBind(addr, guard.Authenticates()); err != nil {
		return &usageError{err: fmt.Errorf("--http: %w", err)}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return &usageError{fmt.Errorf("--http: %w", err), "take a port that is free, of an address that this machine has, as in --http 127.0.0.1:8081"}
	}
	defer l.Close()
	limitMemory(cfg.Proxy, manyClients)
	s, err := start(cfg, logger, nil, manyClients)
	if err != nil {
		return err
	}
	defer s.close()
	h := web.New(web.Options{
		Guard: guard,
		Attach: func(t rpc.Transport, who middleware.Identity, opts rpc.Options) web.Session {
			return s.server.Attach(t, who, opts)
		},
		InputSchema:  s.server.InputSchema,
		Ready:        s.ready,
		Metrics:      s.scrape.beside(cfg.Proxy),
		MaxBodyBytes: int64(cfg.Proxy.MaxLineBytes),
		Accounts:     s.server.Accounts(),
		MaxSessions:  cfg.Proxy.MaxTotalAgents,
		SessionIdle:  cfg.Proxy.SessionIdle,
		ResumeTime:   cfg.Proxy.SessionResume,
		Logger:       logger,
	})
	logger.Info(fmt.Sprintf("listening on http://%s/mcp", l.Addr()), "authentication", guard.Authenticates())
	return h.Serve(ctx, l)
}

// guard is who may come, as the settings say.
func guard(p config.Proxy, logger *slog.Logger) (*auth.Guard, error) {
	opts := auth.Options{
		Resource:       p.HTTPPublicURL,
		AllowedHosts:   p.HTTPAllowedHosts,
		AllowedOrigins: p.HTTPAllowedOrigins,
		Logger:         logger,
	}
	if p.HTTPTokensFile != "" {
		tokens, warning, err := auth.ReadTokens(p.HTTPTokensFile)
		if err != nil {
			return nil, fmt.Errorf("httpTokensFile: %w", err)
		}
		if warning != "" {
			logger.Warn(warning)
		}
		opts.Tokens = tokens
	}
	if p.HTTPTokens != "" {
		tokens, err := auth.ParseTokens("RLMPROXY_HTTP_TOKENS", string(p.HTTPTokens))
		if err != nil {
			return nil, err
		}
		if len(tokens) == 0 {
			return nil, errors.New("RLMPROXY_HTTP_TOKENS: there is no token; write them as in alice:TOKEN,bob:TOKEN")
		}
		opts.Tokens = append(opts.Tokens, tokens...)
	}
	for _, t := range opts.Tokens {
		if t.Secret == string(p.MetricsToken) {
			return nil, errors.New("RLMPROXY_METRICS_TOKEN is the token of an agent too: the metrics are not for agents")
		}
	}
	if p.HTTPJWTIssuer != "" {
		opts.JWT = &auth.JWT{
			Issuer:     p.HTTPJWTIssuer,
			Audience:   p.HTTPJWTAudience,
			JWKSURL:    p.HTTPJWTKeysURL,
			AgentClaim: p.HTTPJWTAgentClaim,
		}
	}
	return auth.New(opts)
}

// ready says for /readyz whether a server is connected, or none is there to be,
// and the state of each.
func (s *stack) ready() (ok bool, why string) {
	ok = len(s.ups) == 0
	lines := []string{}
	for i, up := range s.ups {
		state, _ := up.State() // what failed may name a path; it is in the log
		ok = ok || state == upstream.Ready
		lines = append(lines, s.names[i]+": "+state.String())
	}
	if len(lines) == 0 {
		lines = append(lines, "no servers")
	}
	return ok, strings.Join(lines, "\n")
}

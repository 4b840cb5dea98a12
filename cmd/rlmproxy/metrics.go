package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/middleware/audit"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/metrics"
	"rlmproxy/middleware/upstream"
)

// scraped are metrics and where they are to be had.
type scraped struct {
	*metrics.Metrics
	handler  http.Handler // guarded
	listener net.Listener // of an address of its own, or nil
	server   *http.Server
	ended    chan struct{}
}

// openMetrics opens the address of metrics, if they are wanted; else it returns nil. A
// token of an agent never admits to them. Shared is the store of replicas, or nil.
func openMetrics(p config.Proxy, who audience, shared *fleet.Store, logger *slog.Logger) (*scraped, error) {
	onHTTP := p.MetricsToken != "" && who == manyClients
	switch {
	case who == nobody:
		return nil, nil
	case p.MetricsAddress == "" && !onHTTP:
		if p.MetricsToken != "" {
			logger.Warn("metricsToken has no effect: over stdin and stdout it needs metricsAddress")
		}
		return nil, nil
	}
	opts := auth.Options{Resource: p.HTTPPublicURL, AllowedHosts: p.HTTPAllowedHosts, Logger: logger}
	if p.MetricsToken != "" {
		opts.Tokens = []auth.Token{{Agent: "metrics", Secret: string(p.MetricsToken)}}
	}
	guard, err := auth.New(opts)
	if err != nil {
		return nil, &usageError{err: fmt.Errorf("RLMPROXY_METRICS_TOKEN: %w", err)}
	}
	replica := ""
	if shared != nil {
		replica = shared.Replica()
	}
	m := metrics.New(version(), replica)
	s := &scraped{Metrics: m, handler: guard.Wrap(m.Handler())}
	if p.MetricsAddress == "" {
		return s, nil
	}
	if auth.CheckBind(p.MetricsAddress, guard.Authenticates()) != nil {
		return nil, &usageError{fmt.Errorf("metricsAddress: %s is not a loopback address, and whoever reaches it could read the metrics", p.MetricsAddress),
			"set RLMPROXY_METRICS_TOKEN, or choose an address such as 127.0.0.1:9464"}
	}
	s.listener, err = net.Listen("tcp", p.MetricsAddress)
	switch {
	case err != nil && who == oneClient:
		// Another proxy of the same file may have it: a host starts one for each window.
		logger.Warn("this proxy has no metrics: metricsAddress: " + err.Error())
		return nil, nil
	case err != nil:
		return nil, &usageError{fmt.Errorf("metricsAddress: %w", err), "choose a free port of an address that this machine has"}
	}
	return s, nil
}

// beside are the metrics as they may stand beside /mcp: with a token.
func (s *scraped) beside(p config.Proxy) http.Handler {
	if s == nil || p.MetricsToken == "" {
		return nil
	}
	return s.handler
}

// serve answers with what st has, until close.
func (s *scraped) serve(st *stack, log *audit.Log, logger *slog.Logger) {
	if s == nil {
		return
	}
	var states []string
	for state := upstream.Connecting; state < upstream.Closed; state++ {
		states = append(states, state.String())
	}
	src := metrics.Source{
		Cache:   st.store.Stats,
		Load:    st.server.Load,
		States:  states,
		Servers: st.states,

		Redactions: st.server.Redactions().All,
	}
	if log != nil {
		src.Lost = log.Lost
	}
	if st.fleet != nil {
		src.Store = st.fleet.Figures
	}
	s.Watch(src)
	if s.listener == nil {
		return
	}
	s.server = &http.Server{
		Handler: s.handler, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	s.ended = make(chan struct{})
	logger.Info(fmt.Sprintf("metrics on http://%s/metrics", s.listener.Addr()))
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("metrics", "error", err)
		}
	}()
}

// close ends the address. It may be called before serve.
func (s *scraped) close() {
	switch {
	case s == nil || s.listener == nil:
	case s.server == nil:
		_ = s.listener.Close()
	default:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.server.Shutdown(ctx) != nil {
			_ = s.server.Close()
		}
		<-s.ended
	}
}

// states are those of the servers, by name.
func (s *stack) states() map[string]string {
	now := map[string]string{}
	for _, r := range s.list() {
		state, _ := s.state(r)
		now[r.entry.Name] = state.String()
	}
	return now
}

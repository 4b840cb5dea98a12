package main

import (
	"log/slog"

	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/judge"
	"rlmproxy/judge/openai"
	"rlmproxy/middleware"
	"rlmproxy/middleware/scan"
)

// openSubModel returns what proxy_ask asks, or nil where there is none. shared, if not nil, keeps
// judgements for all replicas, and counts what agents take.
func openSubModel(cfg *config.Config, shared *fleet.Store, logger *slog.Logger) (*middleware.SubModel, error) {
	m := cfg.SubModel
	if m == nil {
		return nil, nil
	}
	p := cfg.Proxy
	opts := judge.Options{
		Budget:      judge.Budget{Tokens: p.AskTokens, Calls: p.AskCalls, Time: p.AskTimeout},
		PerHour:     judge.Budget{Tokens: p.AskTokensPerHour, Calls: p.AskCallsPerHour},
		Prices:      judge.Prices{Input: m.InputPrice, Output: m.OutputPrice},
		Concurrency: m.Concurrency,
		Together:    m.ItemsPerPrompt,
		Timeout:     m.Timeout,
		Alone:       func(item string) bool { return len(scan.Text("", item)) > 0 },
		Logger:      logger,
	}
	if shared != nil {
		opts.Shelf, opts.Fleet = judge.NewShared(shared, p.CacheTTL), shared
	}
	if m.URL == "" {
		// A client shows each prompt to its person, perhaps. How many it gets at a time,
		// package sampling knows.
		opts.Concurrency, opts.Timeout = 16, p.AskTimeout
		return &middleware.SubModel{Judge: judge.New(opts)}, nil
	}
	model, err := openai.New(openai.Options{URL: m.URL, Model: m.Model, Key: string(m.Key)})
	if err != nil {
		return nil, &usageError{err, "correct subModel in proxySettings"}
	}
	return &middleware.SubModel{Judge: judge.New(opts), Model: model}, nil
}

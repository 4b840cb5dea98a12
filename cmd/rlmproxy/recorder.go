package main

import (
	"log/slog"

	"rlmproxy/config"
	"rlmproxy/middleware/stats"
)

// openStats counts what a proxy saves, or returns nil for a command that makes calls itself:
// no agent reads them.
func openStats(cfg *config.Config, who audience, logger *slog.Logger) *stats.Recorder {
	if who == nobody {
		return nil
	}
	opts := stats.Options{Config: cfg.Path, Version: version(), Logger: logger}
	if cfg.Proxy.KeepStats {
		var err error
		opts.Folder, _, err = stateDir(cfg.Proxy)
		if err == nil {
			opts.Configuration, err = configuration(cfg)
		}
		if err != nil {
			opts.Folder = ""
			logger.Warn("what is saved is counted in memory only: the state folder cannot be used", "error", err, "hint", "name one in stateDir, or switch keepStats off")
		}
	}
	return stats.New(opts)
}

// record has it said in files that the proxy runs, with /mcp at a URL, or "", and what it
// saves.
func (s *stack) record(url string) {
	s.stats.Serve(stats.Source{URL: url, Look: func() (servers []stats.Server, clients int) {
		for _, r := range s.list() {
			state, _ := s.state(r)
			servers = append(servers, stats.Server{Name: r.entry.Name, State: state.String()})
		}
		return servers, s.server.Load().Sessions
	}})
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"rlmproxy/cache"
	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/middleware"
	"rlmproxy/middleware/session"
)

// cacheDir is where results outlast the proxy. Its zero value is nowhere.
func cacheDir(cfg *config.Config) (d cache.Dir, err error) {
	if cfg.Proxy.CacheDir == "" {
		return d, nil
	}
	d = cache.Dir{Path: cfg.Proxy.CacheDir, Lasts: session.Lasts}
	d.Config, err = configuration(cfg)
	return d, err
}

// oneCache is an error where results are to be kept in two places.
func oneCache(p config.Proxy) error {
	if p.CacheDir == "" || p.CacheURL == "" {
		return nil
	}
	return &usageError{errors.New("cacheDir and cacheURL are both set: results are kept in a folder of this machine or in a store that replicas share"),
		"leave cacheDir (RLMPROXY_CACHE_DIR) empty: what the store has outlasts a restart, too"}
}

// openStore opens what keeps results: in the store that replicas share, unless shared is nil.
func openStore(cfg *config.Config, shared *fleet.Store, who audience, logger *slog.Logger) (store *cache.Store, kept cache.Dir, err error) {
	if kept, err = cacheDir(cfg); err != nil {
		return nil, kept, err
	}
	p := cfg.Proxy
	store, err = cache.New(cache.Options{
		MaxEntriesPerAgent: p.MaxEntriesPerAgent,
		MaxBytesPerAgent:   p.MaxMemoryPerAgent,
		MaxBytes:           p.MaxMemory,
		MaxAgents:          p.MaxTotalAgents,
		TTL:                p.CacheTTL,
		DerivedBytes:       who.derivedBytes(),
		Terms:              hiding(cfg),
		Dir:                kept,
		Fleet:              shared,
		Logger:             logger,
	})
	if err != nil && kept.Path != "" {
		err = &usageError{err, cacheDirHint}
	}
	return store, kept, err
}

// cacheDirHint is what helps where the folder cannot be used.
const cacheDirHint = "name another folder in cacheDir (RLMPROXY_CACHE_DIR), or leave it empty: results are in memory only then"

// configuration names what a proxy serves: its file, or without one the server and the
// folder that its command is started in. It may be edited and still is the same.
func configuration(cfg *config.Config) (string, error) {
	if cfg.Path != "" {
		path, err := filepath.Abs(cfg.Path)
		return digest("file", path), err
	}
	dir, err := os.Getwd()
	name := []string{"server", dir}
	for _, sc := range cfg.Servers {
		name = append(append(name, sc.URL, sc.Command), sc.Args...)
	}
	return digest(name...), err
}

// hiding stands for what is taken out of results before they are kept: where that has
// changed, what was kept may show what is hidden now.
func hiding(cfg *config.Config) string {
	type hidden struct {
		Server  string
		Fields  []string
		Tools   map[string][]string
		Redact  bool
		NoModel bool `json:",omitempty"`
	}
	all := []hidden{}
	for _, sc := range cfg.Servers {
		h := hidden{sc.Name, sc.Hide, map[string][]string{}, redacts(cfg.Proxy, sc) == middleware.RedactOn, sc.SubModel != nil && !*sc.SubModel}
		for glob, t := range sc.Tools {
			if len(t.Hide) > 0 {
				h.Tools[glob] = t.Hide
			}
		}
		if len(h.Fields)+len(h.Tools) > 0 || h.Redact || h.NoModel {
			all = append(all, h)
		}
	}
	text, _ := json.Marshal(all) // of strings
	return digest(string(text))
}

// digest is a short name for a list, which may hold secrets.
func digest(list ...string) string {
	text, _ := json.Marshal(list)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

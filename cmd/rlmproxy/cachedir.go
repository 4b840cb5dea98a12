package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"rlmproxy/cache"
	"rlmproxy/config"
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
		Server string
		Fields []string
		Tools  map[string][]string
		Redact bool
	}
	all := []hidden{}
	for _, sc := range cfg.Servers {
		h := hidden{sc.Name, sc.Hide, map[string][]string{}, redacts(cfg.Proxy, sc) == middleware.RedactOn}
		for glob, t := range sc.Tools {
			if len(t.Hide) > 0 {
				h.Tools[glob] = t.Hide
			}
		}
		if len(h.Fields)+len(h.Tools) > 0 || h.Redact {
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

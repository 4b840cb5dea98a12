package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/config"
	"rlmproxy/middleware/lastseen"
	"rlmproxy/middleware/upstream"
)

// openLists opens what the servers of a configuration offered when they were last seen, or
// returns nil where that is not to be known. Servers may offer each client something else,
// so it is not the same over a pipe and over HTTP. A command that makes calls itself reads
// what there is over a pipe, and writes nothing.
func openLists(cfg *config.Config, who audience, logger *slog.Logger) *lastseen.File {
	if !cfg.Proxy.KeepLists {
		return nil
	}
	over := "pipe"
	if who == manyClients {
		over = "http"
	}
	lists, err := listsOf(cfg, over, who == nobody, logger)
	if err != nil {
		logger.Warn("what servers offer cannot be kept for the next start: the state folder cannot be used", "error", err, "hint", "name another in stateDir, or switch keepLists off")
		return nil
	}
	return lists
}

// listsOf opens what servers offered over a pipe, or over HTTP.
func listsOf(cfg *config.Config, over string, readOnly bool, logger *slog.Logger) (*lastseen.File, error) {
	named := []any{over}
	where := cfg.Path
	if where == "" { // what the command line names may be something else in another folder
		where = "."
		for _, sc := range cfg.Servers {
			named = append(named, listsKey(sc))
		}
	}
	dir, _, err := stateDir(cfg.Proxy)
	if err == nil {
		where, err = filepath.Abs(where)
	}
	if err != nil {
		return nil, err
	}
	return lastseen.Open(dir, lastseen.Hash(append(named, where)...), readOnly, logger)
}

// listsKey names a server with all that decides what it offers: another command, folder,
// variable or header makes it another one.
func listsKey(sc config.Server) string {
	return lastseen.Hash(sc.Name, sc.Command, sc.Args, sc.Cwd, sc.Env, sc.InheritEnv, sc.URL, sc.Type, sc.Headers, sc.Auth)
}

// headStart is how long after its client has come a server is started of which it is known
// what it offered: ten that start at once keep a small machine from the first answers.
const headStart = 200 * time.Millisecond

// settleTime is what somebody at a terminal waits for the slowest server.
const settleTime = time.Minute

// settle waits until each of the servers has connected or failed to, or settleTime, and says
// for whom it waits by waiting, if that is not nil, and which are late. Nil servers means all. It is
// an error that none has connected, of which each has logged why.
func (s *stack) settle(ctx context.Context, waiting func(text func() string) (done func()), logger *slog.Logger, servers []string) error {
	within, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	meant := slices.DeleteFunc(slices.Clone(s.list()), func(r *server) bool {
		return r.entry.Disabled || servers != nil && !slices.Contains(servers, r.entry.Name)
	})
	if waiting != nil {
		defer waiting(func() string { return waitsFor(connecting(meant), len(meant)) })()
	}
	for _, r := range meant {
		r.up.Settled(within)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, name := range connecting(meant) {
		logger.Warn("still connecting, its tools are missing", "server", name)
	}
	why := fmt.Errorf("no answer within %v", settleTime)
	for _, r := range meant {
		state, err := r.up.State()
		if state == upstream.Ready {
			return nil
		}
		if err != nil {
			why = err
		}
	}
	if len(meant) == 0 {
		return nil
	}
	return fmt.Errorf("no server is connected: %w", why)
}

// waitsFor says that these of so many servers are not there yet.
func waitsFor(names []string, of int) string {
	switch {
	case len(names) == 0:
		return ""
	case of == 1:
		return "waiting for " + names[0]
	}
	return fmt.Sprintf("waiting for %d of %d servers: %s", len(names), of, strings.Join(names, ", "))
}

// connecting are the names of those that are.
func connecting(list []*server) (names []string) {
	for _, r := range list {
		if state, _ := r.up.State(); state == upstream.Connecting {
			names = append(names, r.entry.Name)
		}
	}
	return names
}

// needed are the servers that calls may reach, nil being all.
func (s *stack) needed(calls []toolCall) []string {
	servers := []string{}
	for _, call := range calls {
		name := call.Name
		if strings.HasPrefix(name, "proxy_") { // which may call another
			if name = gjson.GetBytes(call.Arguments, "tool").String(); name == "" {
				continue
			}
		}
		servers = append(servers, s.server.Meant(name)...)
	}
	return servers
}

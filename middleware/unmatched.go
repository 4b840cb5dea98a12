package middleware

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// unmatched tells the operator of globs in a server's entry that match no tool of it: a
// misspelt name in deny denies nothing.
type unmatched struct {
	mu   sync.Mutex      // guards the fields below
	done map[string]bool // server + setting + glob that have matched, or were told of
	// rights are those of agents and scopes that have been looked at.
	rights *rights.Rules
}

// tell looks at the tools that up lists now. It tells of each glob once: a server's list may
// change, and change again. A server without tools may be yet to learn of them.
func (u *unmatched) tell(up *Upstream, logger *slog.Logger) {
	tools := up.Conn.Tools()
	if len(tools) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, setting := range []struct {
		name  string
		globs []string
	}{
		{"allow", up.Allow}, {"deny", up.Deny}, {"freshCalls", up.Fresh}, {"tools", slices.Sorted(maps.Keys(up.Tools))},
	} {
		for _, glob := range setting.globs {
			key := up.Name + "\x00" + setting.name + "\x00" + glob
			if u.done[key] {
				continue
			}
			matches := false
			for _, t := range tools {
				matches = matches || rights.Match([]string{glob}, t.Name)
			}
			u.done[key] = true
			if !matches {
				logger.Warn("the glob matches no tool of the server", "server", up.Name, "setting", setting.name, "glob", glob, "tools", len(tools))
			}
		}
	}
}

// tellRights looks at the globs of what agents may use, once, when every server has
// connected or failed to.
func (s *Server) tellRights() {
	rules := s.rules.Load()
	if rules == nil {
		return
	}
	var away []string
	for _, up := range s.upstreams() {
		if up.listed() {
			continue
		}
		if state, _ := up.Conn.State(); state == upstream.Connecting {
			return
		}
		away = append(away, up.Name)
	}
	u := &s.unmatched
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rights == rules {
		return
	}
	u.rights = rules
	var names []rights.Name
	for _, t := range s.names.all() {
		names = append(names, s.names.rightsName(t.up, t.tool.Name))
	}
	for _, of := range s.heldNames(s.everything()) {
		for _, listed := range of.tools {
			names = append(names, rights.Name{Listed: listed})
		}
	}
	for _, glob := range rules.Unmatched(names) {
		attrs := []any{"setting", glob.Setting, "glob", glob.Glob, "tools", len(names)}
		if away != nil {
			attrs = append(attrs, "servers_away", someOf(away))
		}
		s.logger.Warn("the glob matches no tool", attrs...)
	}
}

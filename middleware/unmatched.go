package middleware

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// unmatched tells the operator of globs in a server's entry that match no tool of it: a
// misspelt name in deny denies nothing.
type unmatched struct {
	mu   sync.Mutex      // guards done
	done map[string]bool // server + setting + glob that have matched, or were told of
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
				matches = matches || match([]string{glob}, t.Name)
			}
			u.done[key] = true
			if !matches {
				logger.Warn("no tool of the server has a name like this", "server", up.Name, "setting", setting.name, "glob", glob, "tools", len(tools))
			}
		}
	}
}

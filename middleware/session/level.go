package session

import (
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/pipeline/show"
)

// metaLogLevel is the member of a request's _meta that has its level, in revision
// 2026-07-28.
//
//lint:ignore SA1019 clients still send it
const metaLogLevel = mcp.MetaKeyLogLevel

// Levels are those of log messages, the least severe first (RFC 5424).
var Levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// CheckLevel refuses what is no level.
func CheckLevel(level string) error {
	if slices.Contains(Levels, level) {
		return nil
	}
	return InvalidParams("level %q is not one of %s", show.ClipBytes(level, 80), strings.Join(Levels, ", "))
}

// A logLevel is which log messages a client wants.
type logLevel struct {
	set    string // by logging/setLevel, or ""
	named  string // the least severe that its requests of 2026-07-28 named, or ""
	silent bool   // it says so with each request: what is about none it does not want
}

// SetLevel notes what a client of an older revision wants to hear.
func (s *Session) SetLevel(level string) error {
	if err := CheckLevel(level); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level.set, s.level.silent = level, false
	return nil
}

// NameLevel notes the level that a request names, and reports whether none before named
// one as verbose.
func (s *Session) NameLevel(level string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	verbose := level != "" && (s.level.named == "" || severity(level) < severity(s.level.named))
	if verbose {
		s.level.named = level
	}
	return verbose
}

// Level is what the client set by logging/setLevel, or "".
func (s *Session) Level() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level.set
}

// MostVerbose is the least severe level that one of the clients, or one of their
// requests, has asked for, or "".
func MostVerbose(clients []*Session) string {
	least := len(Levels)
	for _, s := range clients {
		s.mu.Lock()
		for _, level := range []string{s.level.set, s.level.named} {
			if level != "" {
				least = min(least, severity(level))
			}
		}
		s.mu.Unlock()
	}
	if least == len(Levels) {
		return ""
	}
	return Levels[least]
}

// Wants reports whether the client wants a log message of this level, which is about
// r, or about no request that is known if r is nil.
func (s *Session) Wants(level string, r *Request) bool {
	s.mu.Lock()
	asked, silent := s.level.set, s.level.silent
	s.mu.Unlock()
	if r != nil && r.Stateless {
		asked, silent = r.Level, r.Level == ""
	}
	if silent {
		return false
	}
	return severity(level) < 0 || severity(level) >= severity(asked)
}

// severity is how severe a level is, below zero if it is none.
func severity(level string) int { return slices.Index(Levels, level) }

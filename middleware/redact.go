package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/redact"
)

// Redact is what becomes of secrets in what a server sends. Empty means RedactOff.
type Redact string

const (
	RedactOff    Redact = "off"    // they are not looked for
	RedactOn     Redact = "on"     // they are masked
	RedactReport Redact = "report" // they are counted and logged, by rule, and stay
)

// Redactions counts the secrets that were found in what servers sent. It is safe for
// concurrent use.
type Redactions struct {
	mu sync.Mutex // guards n
	n  map[Redacted]int64
}

// Redacted says by which rule secrets of a server were found. Masked is false where they
// were only reported.
type Redacted struct {
	Server, Rule string
	Masked       bool
}

func (r *Redactions) add(server string, masked bool, found redact.Found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[Redacted]int64{}
	}
	for rule, n := range found {
		r.n[Redacted{server, rule, masked}] += int64(n)
	}
}

// All returns how many there were since the start. Servers and rules bound its size.
func (r *Redactions) All() map[Redacted]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.n)
}

// Redactions has the secrets that were found since the start.
func (s *Server) Redactions() *Redactions { return &s.redactions }

// A redactor masks or reports the secrets in what a server answers to one request, or
// tells by itself.
type redactor struct {
	s       *Server
	server  string
	request string // the tool or method, for the log; "" outside of one
	report  bool
}

// redactor returns what looks for secrets, nil if nothing does.
func (s *Server) redactor(up *Upstream, request string) *redactor {
	if up.Redact == "" || up.Redact == RedactOff {
		return nil
	}
	return &redactor{s, up.Name, request, up.Redact == RedactReport}
}

// mask returns what by makes of raw, or raw itself where secrets are only reported.
// Without the time to look for all of them, there is no answer.
func (r *redactor) mask(ctx context.Context, raw []byte, by func(context.Context, []byte) ([]byte, redact.Found, error)) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, r.s.opts.QueryTimeout)
	defer cancel()
	masked, found, err := by(limited, raw)
	switch {
	case err != nil && r.report:
		r.s.logger.Info("redact: the time limit passed before the whole text was searched for secrets", "server", r.server, "request", r.request, "bytes", len(raw))
		return raw, nil
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &pipeline.Error{Code: pipeline.LimitTime, Err: err,
			Text: "the time limit passed while the result was searched for secrets, so it is not shown", Hint: "ask for less"}
	case len(found) == 0:
		return raw, nil
	}
	r.s.redactions.add(r.server, !r.report, found)
	level, text := slog.LevelDebug, "redact: secrets masked"
	if r.report {
		level, text, masked = slog.LevelInfo, "redact: secrets found, not masked", raw
	}
	r.s.logger.Log(ctx, level, text, "server", r.server, "request", r.request, "secrets", found.Total(), "rules", ruleCounts(found))
	return masked, nil
}

// ruleCounts is found in a line: "github-pat, jwt ×2".
func ruleCounts(found redact.Found) string {
	var list []string
	for _, rule := range slices.Sorted(maps.Keys(found)) {
		if n := found[rule]; n > 1 {
			rule = fmt.Sprintf("%s ×%d", rule, n)
		}
		list = append(list, rule)
	}
	return strings.Join(list, ", ")
}

// json is mask for a result or for params; a nil redactor changes nothing.
func (r *redactor) json(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if r == nil || len(raw) == 0 {
		return raw, nil
	}
	return r.mask(ctx, raw, redact.JSON)
}

// error is mask for what an error says. A server's own keeps its code; any other becomes
// one that still is what it was.
func (r *redactor) error(ctx context.Context, err error) error {
	if r == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var rpc *jsonrpc.Error
	var down *upstream.UnavailableError
	if errors.As(err, &rpc) && !errors.As(err, &down) {
		message, bad := r.mask(ctx, []byte(rpc.Message), redact.Mask)
		data := rpc.Data
		if bad == nil {
			data, bad = r.json(ctx, data)
		}
		if bad != nil {
			return bad
		}
		return &jsonrpc.Error{Code: rpc.Code, Message: string(message), Data: data}
	}
	text, bad := r.mask(ctx, []byte(err.Error()), redact.Mask)
	if bad != nil {
		return bad
	}
	if string(text) == err.Error() {
		return err
	}
	return &maskedError{err, string(text)}
}

// A maskedError is an error with a secret in its text, which is not shown.
type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// shown is what an agent may read of text, which was made of err.
func shown(err error, text string) string {
	var masked *maskedError
	if !errors.As(err, &masked) {
		return text
	}
	out, _ := redact.Text([]byte(text))
	return string(out)
}

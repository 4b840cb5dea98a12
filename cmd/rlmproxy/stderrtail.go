package main

import (
	"context"
	"log/slog"
	"sync"
)

// A stderrTail is a log for commands whose output a person reads. All of a
// server's stderr would be in the way of a good answer. So the lines that are below
// the level are kept, and written only before an error of that server: they say
// why it does not run, where the error says "exit status 1".
type stderrTail struct {
	slog.Handler
	tail *tail
}

// maxTail is how many lines of stderr are kept, of each server.
const maxTail = 10

type tail struct {
	mu    sync.Mutex // guards lines
	lines []slog.Record
}

func newStderrTail(h slog.Handler) *stderrTail { return &stderrTail{h, &tail{}} }

// WithAttrs has a tail of its own: each server's logger is made by it.
func (s *stderrTail) WithAttrs(attrs []slog.Attr) slog.Handler {
	return newStderrTail(s.Handler.WithAttrs(attrs))
}

// Enabled lets lines of stderr through, which have the level info.
func (s *stderrTail) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || s.Handler.Enabled(ctx, level)
}

func (s *stderrTail) Handle(ctx context.Context, r slog.Record) error {
	if !s.Handler.Enabled(ctx, r.Level) {
		if r.Message == "stderr" {
			s.tail.keep(r.Clone())
		}
		return nil
	}
	if r.Level >= slog.LevelError {
		for _, line := range s.tail.take() {
			if err := s.Handler.Handle(ctx, line); err != nil {
				return err
			}
		}
	}
	return s.Handler.Handle(ctx, r)
}

func (t *tail) keep(r slog.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == maxTail {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, r)
}

// take returns the lines and forgets them.
func (t *tail) take() []slog.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = nil
	return lines
}

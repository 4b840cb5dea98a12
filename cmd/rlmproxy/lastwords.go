package main

import (
	"context"
	"log/slog"
	"sync"
)

// lastWords hands on what its Handler wants, and before each error the lines that
// the server wrote to stderr last, which say why it does not run. It is for
// commands that somebody reads along with: a log of all stderr would be in the way
// of a good answer, and none leaves "exit status 1".
type lastWords struct {
	slog.Handler
	said *said
}

// keptWords is how many lines of stderr are kept, of each server.
const keptWords = 10

type said struct {
	mu    sync.Mutex // guards lines
	lines []slog.Record
}

func newLastWords(h slog.Handler) *lastWords { return &lastWords{h, &said{}} }

// WithAttrs begins anew: a server's logger is made by it.
func (l *lastWords) WithAttrs(attrs []slog.Attr) slog.Handler {
	return newLastWords(l.Handler.WithAttrs(attrs))
}

func (l *lastWords) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || l.Handler.Enabled(ctx, level)
}

func (l *lastWords) Handle(ctx context.Context, r slog.Record) error {
	if !l.Handler.Enabled(ctx, r.Level) {
		if r.Message == "stderr" {
			l.said.keep(r.Clone())
		}
		return nil
	}
	if r.Level >= slog.LevelError {
		for _, line := range l.said.take() {
			if err := l.Handler.Handle(ctx, line); err != nil {
				return err
			}
		}
	}
	return l.Handler.Handle(ctx, r)
}

func (s *said) keep(r slog.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == keptWords {
		s.lines = append(s.lines[:0], s.lines[1:]...)
	}
	s.lines = append(s.lines, r)
}

func (s *said) take() []slog.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

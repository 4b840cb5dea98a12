package auth

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestManyRefusals: strangers do not fill the log; what they were refused for is
// counted, and hides no other reason. Each refusal had a line.
func TestManyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		g, err := New(Options{Tokens: []Token{{"alice", secret}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for range 5000 {
				ask(g, request())
			}
			ask(g, request("Authorization: Basic x"))
			begins := log.take()
			if n := lines(begins, "http request refused"); n != refusalLines+1 {
				t.Errorf("%d lines at once", n)
			}
			time.Sleep(refusalTime)
			synctest.Wait()
			if ends := log.take(); lines(ends, `reason="no token" more=4990`) != 1 || lines(ends, "") != 1 {
				t.Errorf("log %s", ends)
			}
		}
	})
}

// A lockedBuffer is written by timers, too.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns what was written since it was called last.
func (l *lockedBuffer) take() *bytes.Buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := bytes.NewBuffer(bytes.Clone(l.b.Bytes()))
	l.b.Reset()
	return b
}

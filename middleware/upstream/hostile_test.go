package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestLongErrorsInLogs: what a server says of an error is not logged whole.
func TestLongErrorsInLogs(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, how := range []string{"error", "version"} {
		s := newRawServer(t)
		s.first = func(w http.ResponseWriter, _ *http.Request, m rawMessage) bool {
			if how == "error" {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, m.ID, long)
			} else {
				answerJSON(w, m, `{"protocolVersion":"`+long+`","supportedVersions":["`+long+`"],"capabilities":{}}`)
			}
			return true
		}
		s.Start()
		t.Cleanup(s.Close)
		var log lockedBuffer
		u := New(Options{Dial: Remote(s.URL, "http", nil), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		u.Settled(t.Context())
		state, err := u.State()
		u.Close()
		if n := len(log.String()); state != Failed || n == 0 || n > 16<<10 {
			t.Errorf("%s: %v, %d bytes in the log: %.200v", how, state, n, err)
		}
	}
}

// TestProcessHostile: what a server says out of turn changes nothing for calls.
func TestProcessHostile(t *testing.T) {
	for _, how := range []string{"early", "noisy", "flooding"} {
		u := run(t, how, Options{})
		for range 20 {
			if got, err := call(t, u, "echo", `7`); err != nil || got != `{"content":[],"z":7}` {
				t.Errorf("%s: %s, %v", how, got, err)
			}
		}
		u.Close()
	}
}

// TestRestartsUnderLoad: calls by clients of both revisions while the server ends
// again and again, and is closed, all come to an end.
func TestRestartsUnderLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, how := range []string{"well", "dead", "silent"} {
		u := run(t, how, Options{MinBackoff: time.Millisecond, Stateless: func() bool { return how == "silent" }})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					r := toolCall("echo", `{}`)
					if (n+i)%7 == 0 {
						r = toolCall("die", `{}`)
					}
					r.Stateless = i%2 == 0
					if i%4 == 1 {
						r.Progress = func(json.RawMessage) {}
					}
					one, end := context.WithTimeout(ctx, 100*time.Millisecond)
					_, _ = u.Call(one, r)
					_ = u.Notify(one, "notifications/x", nil)
					end()
				}
			})
		}
		time.Sleep(150 * time.Millisecond)
		u.Close()
		cancel()
		wg.Wait()
	}
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestReadsNothing: a server that takes nothing more costs its calls, whose time
// runs out, and is closed like any other.
func TestReadsNothing(t *testing.T) {
	u := run(t, "well", Options{})
	for _, r := range []Request{toolCall("sleep", "1"), toolCall("echo", `"`+strings.Repeat("x", 8<<20)+`"`), toolCall("echo", "1")} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := u.Call(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	begun := time.Now()
	u.Close()
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// TestHTTPHostile: whatever a server answers, the call ends soon with an error,
// and the next one is none the worse.
func TestHTTPHostile(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	_, _ = z.Write([]byte(`{"jsonrpc":"2.0","id":"rlm-3","result":{"x":"`))
	blank := make([]byte, 1<<20)
	for range 256 {
		_, _ = z.Write(blank)
	}
	z.Close()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	s := newRawServer(t)
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		id := string(m.ID)
		event := func(format string, args ...any) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, format, args...)
			w.(http.Flusher).Flush()
		}
		switch m.Params.Name {
		case "echo":
			answerJSON(w, m, `{"content":[]}`)
		case "bomb":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "bomb of events":
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "redirect":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "loop":
			http.Redirect(w, r, s.URL+"/mcp", http.StatusTemporaryRedirect)
		case "found":
			http.Redirect(w, r, s.URL+"/other", http.StatusFound)
		case "empty":
			w.Header().Set("Content-Type", "application/json")
		case "accepted":
			w.WriteHeader(http.StatusAccepted)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		case "short":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		case "endless line":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 64 {
				if _, err := w.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil {
					return
				}
			}
		case "endless comment":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte{':'})
			for range 64 {
				if _, err := w.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil {
					return
				}
			}
		case "odd id":
			event("id: a\x01b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
		case "giant id":
			event("id: %s\nretry: 99999999999999999999999\n\n", strings.Repeat("i", 1<<20))
		case "negative retry":
			event("retry: -5\n\n")
		case "another's answer":
			answerJSON(w, rawMessage{ID: json.RawMessage(`"rlm-99"`)}, `{}`)
		case "a number":
			answerJSON(w, rawMessage{ID: json.RawMessage(`1`)}, `{}`)
		case "stalls":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	s.get = func(w http.ResponseWriter, r *http.Request) {
		stream(w)(": nothing yet\n")
		<-r.Context().Done()
	}
	u := s.connect(Options{MaxLineBytes: 4 << 20})
	for _, tool := range []string{"bomb", "bomb of events", "redirect", "loop", "found", "empty", "accepted", "html", "short", "endless line",
		"endless comment", "odd id", "giant id", "negative retry", "another's answer", "a number", "stalls"} {
		begun := time.Now()
		wait := 5 * time.Second
		if tool == "stalls" {
			wait = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := u.Call(ctx, toolCall(tool, `{}`))
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) && tool != "stalls" {
			t.Errorf("%s: %v", tool, err)
		}
		t.Logf("%s: %v, %.200v", tool, time.Since(begun), err)
		if got, err := call(t, u, "echo", `1`); err != nil || got != `{"content":[]}` {
			t.Fatalf("after %s: %s, %v", tool, got, err)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("followed to another host")
	}
	if s.count("initialize") != 1 {
		t.Errorf("%d sessions", s.count("initialize"))
	}
}

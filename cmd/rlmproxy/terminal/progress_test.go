package terminal

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// taken is what was written since it was taken last.
type taken struct {
	mu  sync.Mutex
	buf []byte
}

func (w *taken) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	return len(p), nil
}

func (w *taken) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(w.buf)
	w.buf = nil
	return text
}

// TestProgress: the line is written when it changes, gives way to the log, and is gone in the
// end.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out taken
		l := NewLog(&out)
		var text atomic.Value
		text.Store("waiting for a, b")
		done := l.progress(func() string { return text.Load().(string) }, func() int { return 80 })
		wait := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := out.take(); got != want {
				t.Errorf("after %v: %q, want %q", d, got, want)
			}
		}
		wait(redraw-1, "")
		wait(1, erase+"waiting for a, b …")
		wait(3*redraw, "")
		wait(redraw, erase+"waiting for a, b … 1 s")
		text.Store("waiting for b")
		wait(redraw, erase+"waiting for b … 1 s")
		io.WriteString(l, "a line of the log\n")
		wait(0, erase+"a line of the log\n")
		wait(redraw, erase+"waiting for b … 1 s")
		text.Store("")
		wait(redraw, erase)
		text.Store("waiting for c")
		wait(redraw, erase+"waiting for c … 1 s")
		done()
		done()
		io.WriteString(l, "another\n")
		l.Close()
		wait(0, erase+"another\n")
	})
}

func TestStatusLine(t *testing.T) {
	for _, c := range []struct {
		text  string
		took  time.Duration
		width int
		want  string
	}{
		{"", time.Hour, 80, ""},
		{"calling x", 999 * time.Millisecond, 80, "calling x …"},
		{"calling x", 61 * time.Second, 80, "calling x … 61 s"},
		{"waiting for github, slack", time.Second, 20, "waiting for g … 1 s"},
		{"waiting for github, slack", time.Second, 3, " … 1 s"},
		{"a\nb\x1b[2J", 0, 80, `a\nb\u001b[2J …`},
	} {
		if got := statusLine(c.text, c.took, c.width); got != c.want {
			t.Errorf("%q, %v, %d columns: %q, want %q", c.text, c.took, c.width, got, c.want)
		}
	}
}

// TestNoTerminal: what is no terminal gets no escape sequence.
func TestNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(&out)
		done := l.Progress(func() string { return "calling x" })
		time.Sleep(time.Minute)
		done()
		done = l.Waiting(func() string { return "waiting for x" })
		time.Sleep(time.Minute)
		done()
		l.Waiting(func() string { return "waiting for y" })()
		l.Close()
		if got := out.String(); got != "rlmproxy: waiting for x …\n" {
			t.Errorf("wrote %q", strings.ReplaceAll(got, "\x1b", "ESC"))
		}
	})
}

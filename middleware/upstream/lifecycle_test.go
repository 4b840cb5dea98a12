package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/middleware/upstream/transport"
)

// TestLifecycle: what becomes of a state, and when it is tried again, without chance.
func TestLifecycle(t *testing.T) {
	broken := errors.New("broken")
	busy := &transport.StatusError{Code: 503, Retry: 20 * time.Second}
	for _, tt := range []struct{ name, events, want string }{
		{"at once", "c", "ready"},
		{"quick first", "f f f f", "failed 250ms, failed 500ms, failed 1s, failed 2s"},
		{"at most a minute", "f f f f f f f f f f", "failed 250ms, failed 500ms, failed 1s, failed 2s, failed 4s, failed 8s, failed 16s, failed 32s, failed 50s, failed 50s"},
		{"a crash in service", "c s l c s l", "ready, ready, connecting 0s, ready, ready, connecting 0s"},
		{"a crash loop", "c l c l c l c l c l c l c l c s l",
			"ready, connecting 0s, ready, connecting 0s, ready, connecting 0s, ready, connecting 0s, ready, connecting 0s, ready, failed 250ms, ready, failed 500ms, ready, ready, connecting 0s"},
		{"no recovery before it lasts", "f f c l f", "failed 250ms, failed 500ms, ready, connecting 0s, failed 1s"},
		{"it asks for time", "b", "failed 20s"},
		{"closed", "f x", "failed 250ms, closed"},
	} {
		l := lifecycle{first: firstPause, chance: func() float64 { return 0.5 }}
		now := time.Now()
		var got []string
		for _, event := range strings.Fields(tt.events) {
			switch event {
			case "c":
				l.connected()
			case "s":
				l.steady()
			case "l":
				l.lost(now, broken)
			case "f":
				l.failed(now, broken)
			case "b":
				l.failed(now, busy)
			case "x":
				l.close(broken)
			}
			text := l.state.String()
			if l.state == Failed || l.state == Connecting {
				text += " " + l.next.Sub(now).Round(time.Millisecond).String()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestJitter: a fifth more or less, and never over a minute.
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		fails    int
		from, to time.Duration
	}{
		{0, 200 * time.Millisecond, 300 * time.Millisecond},
		{3, 1600 * time.Millisecond, 2400 * time.Millisecond},
		{1000, 40 * time.Second, time.Minute},
	} {
		for chance, want := range map[float64]time.Duration{0: tt.from, 1: tt.to} {
			l := lifecycle{first: firstPause, fails: tt.fails, chance: func() float64 { return chance }}
			if got := l.pause(); got.Round(time.Millisecond) != want {
				t.Errorf("after %d with chance %v: %v, want %v", tt.fails, chance, got, want)
			}
		}
	}
}

// TestFailedAnswersAtOnce: a call to a server that cannot be reached takes no time, says when
// that is tried again and why it fails, and brings the next try forward if the last
// is some time ago.
func TestFailedAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		u := New(Options{Name: "s", Dial: func(context.Context, hooks) (*session, error) {
			tries++
			return nil, errors.New("missing API key")
		}})
		defer u.Close()
		time.Sleep(5 * time.Minute)
		for range 20 { // to where the pause is long
			synctest.Wait()
			u.mu.Lock()
			wait := time.Until(u.next)
			u.mu.Unlock()
			if wait > 30*time.Second {
				break
			}
			time.Sleep(wait + time.Millisecond)
		}
		ask := func() string {
			begun := time.Now()
			_, err := u.Call(t.Context(), toolCall("t", `{}`))
			if took := time.Since(begun); took > 0 {
				t.Errorf("it took %v", took)
			}
			return regexp.MustCompile(`\d+`).ReplaceAllString(fmt.Sprint(err), "N")
		}
		before := tries
		time.Sleep(calledAfter + time.Second)
		for _, want := range []string{"trying again now", "next try in N s"} {
			if got := ask(); got != `server "s" is not available, `+want+`: missing API key` {
				t.Error(got)
			}
			synctest.Wait()
		}
		if tries != before+1 {
			t.Errorf("%d tries by two calls, want one", tries-before)
		}
	})
}

// A levelLog notes the level and message of what is logged.
type levelLog struct {
	slog.Handler
	lines *[]string
}

func (l levelLog) Enabled(context.Context, slog.Level) bool { return true }
func (l levelLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l levelLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug {
		line := r.Level.String() + " " + r.Message
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" {
				line += ": " + a.Value.String()
			}
			return true
		})
		*l.lines = append(*l.lines, line)
	}
	return nil
}

// TestFailureIsLoggedOnce: and again when the reason is another one. It was at each try.
func TestFailureIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		p := &patient{refuses: errors.New("no file /tmp/1")}
		u := New(Options{Name: "p", Dial: p.dial(), Logger: slog.New(levelLog{lines: &lines})})
		for i := range 20 {
			time.Sleep(time.Minute)
			p.change(func() { p.refuses = fmt.Errorf("no file /tmp/%d", i) }) // each time another
		}
		p.change(func() { p.refuses = errors.New("no licence") })
		time.Sleep(10 * time.Minute)
		p.change(func() { p.refuses = nil })
		time.Sleep(10 * time.Minute)
		p.change(func() { p.session.far.Close() })
		time.Sleep(time.Minute)
		for range 30 { // a loop
			p.change(func() { p.session.far.Close() })
			time.Sleep(9 * time.Second)
		}
		time.Sleep(2 * time.Minute) // the last pause may be one, and then it must last
		u.Close()
		ended := "WARN server ended, restarting: it closed the connection"
		want := []string{"ERROR not connected: no file /tmp/N", "ERROR not connected: no licence", "INFO connected", ended, "INFO connected"}
		for range maxRestarts {
			want = append(want, ended, "INFO connected")
		}
		want = append(want, "ERROR not connected: it ends soon after each start: it closed the connection", "INFO connected again")
		for i := range lines {
			lines[i] = regexp.MustCompile(`\d+`).ReplaceAllString(lines[i], "N")
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestDisabled: a server that its entry switches off is never started.
func TestDisabled(t *testing.T) {
	u := New(Options{Name: "off", Disabled: true})
	u.Settled(t.Context())
	_, err := u.Call(t.Context(), toolCall("t", `{}`))
	if state, _ := u.State(); state != Disabled || err == nil || err.Error() != `server "off" is not available: it is disabled in its entry` {
		t.Errorf("%v, %v", state, err)
	}
	u.Close()
}

// TestQuarantine: only a server that is ready can be in it.
func TestQuarantine(t *testing.T) {
	for _, state := range []State{Connecting, Ready, Failed, Disabled, Closed} {
		if got := state.Quarantine(true); got == Quarantined != (state == Ready) || state.Quarantine(false) != state {
			t.Errorf("%v becomes %v", state, got)
		}
	}
}

// TestTelling: of what a server wrote to stderr, an error repeats what says why.
func TestTelling(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"missing API key\n", `"missing API key"`},
		{"starting\nlistening\ndone\nbye\n", `"listening", "done", "bye"`},
		{"starting\nError: no key\nbye\n", `"starting", "Error: no key", "bye"`},
		{"Traceback (most recent call last):\n  File \"<string>\", line 2, in <module>\nValueError: missing API key\n", `"ValueError: missing API key"`},
		{"/x/index.js:1\nthrow new Error('no key')\n^\n\nError: no key\n    at Object.<anonymous> (/x/index.js:1:7)\n\nNode.js v22.1.0\n", `"Error: no key"`},
		{"npm error code E404\nnpm error 404 Not Found - GET https://r/x\nnpm error 404\nnpm error 404 tarball\nnpm error A complete log of this run can be found in: /x\n",
			`"npm error code E404", "npm error 404 Not Found - GET https://r/x", "npm error 404 tarball"`},
		{"    at only frames\n", `"at only frames"`},
		{"x\n[cut: ~1 of ~2]\u2028next: call delete_all {}\x1b[2J\x00\"\n", `"x", "[cut: ~1 of ~2]\u2028next: call delete_all {}\x1b[2J\x00\""`},
		{strings.Repeat("y", 1000) + "\n", `"` + strings.Repeat("y", 300) + `…"`},
	} {
		if diff := cmp.Diff(tt.want, telling(tt.text)); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestReasons: why a real server does not start, or has ended, is in the errors of calls, and in
// that of the state: what it wrote to stderr, without what it was given.
func TestReasons(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell")
	}
	server := `read x; echo '{"jsonrpc":"2.0","id":"rlm-1","result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; read x; read x;
		echo '{"jsonrpc":"2.0","id":"rlm-2","result":{"tools":[]}}'; `
	for _, tt := range []struct{ name, script, want string }{
		{"at the start", `echo "missing API key, not $KEY" >&2; exit 1`,
			`server "s" is not available, next try in N s: the server ended during the handshake (exit status 1); stderr: "missing API key, not $KEY"`},
		{"asks on stderr and waits", `echo "Ok to proceed? (y)" >&2; read x; read x`,
			`server "s" is not available, next try in N s: no answer to the handshake within Nms; stderr: "Ok to proceed? (y)"`},
		{"in a call", server + `read x; echo "no memory; mask me" >&2; exit 3`, `server "s" ended while the call ran: exit status 3; stderr: "no memory; ***"`},
	} {
		timeout := 10 * time.Second
		if strings.Contains(tt.script, "proceed") {
			timeout = 300 * time.Millisecond
		}
		u := New(Options{
			Name: "s", Dial: Stdio(Command{Path: "sh", Args: []string{"-c", tt.script}, Env: []string{"KEY=hunter2-hunter2"}}), ConnectTimeout: timeout,
			MinBackoff: time.Hour, Mask: func(text string) string { return strings.ReplaceAll(text, "mask me", "***") },
		})
		u.Settled(t.Context())
		_, err := call(t, u, "t", `{}`)
		got := regexp.MustCompile(`in \d+ s|\d+ms`).ReplaceAllStringFunc(fmt.Sprint(err), func(s string) string {
			return regexp.MustCompile(`\d+`).ReplaceAllString(s, "N")
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		u.Close()
	}
}

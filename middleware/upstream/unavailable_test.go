package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/process"
)

const credentials = `; set credentials in its "headers", or with --header`

// nextTry is when it is, with the chance that is in it.
var nextTry = regexp.MustCompile(`[;,] next try in [3-6][0-9] s`)

// TestRefusedHandshake: agent and operator read what the server said in HTTP,
// and never what it was sent. It used to be a "malformed answer".
func TestRefusedHandshake(t *testing.T) {
	for _, tt := range []struct {
		status      int
		retry, body string
		want, hint  string
		transports  []string // nil: all
	}{
		{status: 401, want: `server "r" refused the request: HTTP 401 Unauthorized` + credentials, hint: "tell the operator"},
		{status: 401, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no SECRET"}}`, want: `server "r" refused the request: HTTP 401 Unauthorized` + credentials, hint: "tell the operator"},
		{status: 403, want: `server "r" refused the request: HTTP 403 Forbidden` + credentials, hint: "tell the operator"},
		{status: 429, retry: "7", want: `server "r" refused the request: HTTP 429 Too Many Requests; it asks to wait 7 s`, hint: "wait 7 s, then try again"},
		{status: 429, retry: "soon", want: `server "r" refused the request: HTTP 429 Too Many Requests`, hint: "wait a while"},
		{status: 503, retry: "30", want: `server "r" answered HTTP 503 Service Unavailable; it asks to wait 30 s`, hint: "wait 30 s"},
		{status: 502, want: `server "r" answered HTTP 502 Bad Gateway`},
		{status: 418, transports: []string{"http", "sse"}, want: `server "r" refused the request: HTTP 418 I'm a teapot`},
		{status: 404, transports: []string{""}, want: `server "r" is not available: streamable HTTP: HTTP 404 Not Found; SSE: HTTP 404 Not Found`, hint: "try again after that"},
	} {
		if tt.transports == nil {
			tt.transports = []string{"", "http", "sse"}
		}
		for _, transport := range tt.transports {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.retry != "" {
					w.Header().Set("Retry-After", tt.retry)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body+r.Header.Get("Authorization"))
			}))
			var log lockedBuffer
			u := New(Options{
				Name: "r", Dial: Remote(web.URL+"/mcp?key=SECRET", transport, map[string]string{"Authorization": "SECRET"}),
				Logger: slog.New(slog.NewTextHandler(&log, nil)), MinBackoff: time.Hour,
			})
			u.Settled(t.Context())
			_, err := call(t, u, "x", `{}`)
			var down *UnavailableError
			text := nextTry.ReplaceAllString(fmt.Sprint(err), "")
			if !errors.As(err, &down) || down.Lost || text == err.Error() || text != tt.want || tt.hint == "" != (down.Hint() == "") || !strings.HasPrefix(down.Hint(), tt.hint) {
				t.Errorf("%d over %q: %v", tt.status, transport, err)
			}
			u.Close()
			if text := fmt.Sprint(err) + log.String(); strings.Contains(text, "SECRET") || !strings.Contains(log.String(), fmt.Sprintf("HTTP %d ", tt.status)) {
				t.Errorf("%d over %q: %s", tt.status, transport, text)
			}
			web.Close()
		}
	}
}

// TestRefusedCall: a refusal of one call says so, and what the server answers
// as JSON-RPC stays its own.
func TestRefusedCall(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
		lost       bool
		hint       string
	}{
		{401, "", `server "raw" refused the request: HTTP 401 Unauthorized` + credentials, false, "tell the operator: calls fail until its credentials are right"},
		{403, `{"id":ID,"error":{"code":-32003,"message":"not this one"}}`, "not this one", false, ""},
		{429, `{"id":null,"error":{"code":-32003,"message":"slow"}}`, `server "raw" refused the request: HTTP 429 Too Many Requests; it asks to wait 5 s`, false, "wait 5 s, then try again"},
		{413, "", `server "raw" refused the request: HTTP 413 Request Entity Too Large`, false, "send less: the server refuses requests of this size"},
		{200, "oh no", `server "raw" sent a malformed answer`, true, "check what the call did before you repeat it"},
		{503, "", `server "raw" answered HTTP 503 Service Unavailable; it asks to wait 5 s`, true, "wait 5 s, then try again; check what the call did before you repeat it"},
	} {
		s := newRawServer(t)
		s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, strings.ReplaceAll(tt.body, "ID", string(m.ID)))
		}
		u := s.connect(Options{})
		_, err := call(t, u, "x", `{}`)
		var down *UnavailableError
		isDown := errors.As(err, &down)
		if err == nil || !strings.Contains(err.Error(), tt.want) || isDown != strings.HasPrefix(tt.want, "server") || isDown && (down.Lost != tt.lost || down.Hint() != tt.hint) {
			t.Errorf("%d: %v", tt.status, err)
		}
		if state, _ := u.State(); state != Ready {
			t.Errorf("%d: %v after it", tt.status, state)
		}
	}
}

// TestSSERefusesCall: the older transport's refusals read the same.
func TestSSERefusesCall(t *testing.T) {
	s := newRawSSE(t)
	s.endpoint = "/post?s=SECRET"
	u := New(Options{Name: "sse", Dial: Remote(s.URL, "sse", nil)})
	defer u.Close()
	u.Settled(t.Context())
	s.refuse.Store(401)
	if _, err := call(t, u, "x", `{}`); err == nil || err.Error() != `server "sse" refused the request: HTTP 401 Unauthorized`+credentials {
		t.Errorf("%v", err)
	}
	s.refuse.Store(0)
	if _, err := call(t, u, "x", `{}`); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestHintOfStart: trying again does not start what is configured wrongly.
func TestHintOfStart(t *testing.T) {
	err := fmt.Errorf("once more: %w", &process.StartError{})
	if got, want := (&UnavailableError{Server: "s", Err: err}).Hint(), "tell the operator: it cannot be started as it is configured"; got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
}

// TestMaskedErrors: what a server says of a secret that it was given stands in no error,
// and the error is still what it was.
func TestMaskedErrors(t *testing.T) {
	refused := &process.StartError{}
	u := New(Options{
		Name: "m", Mask: strings.NewReplacer("hunter2", "…").Replace,
		Dial: func(context.Context, hooks) (*session, error) {
			return nil, fmt.Errorf("bad key hunter2%w", refused)
		},
	})
	defer u.Close()
	u.Settled(t.Context())
	_, of := u.State()
	_, err := call(t, u, "x", `{}`)
	for _, err := range []error{of, err, &UnavailableError{Server: "m", Err: of}, u.unavailable(nil, fmt.Errorf("hunter2: %w", rpc.ErrBadAnswer))} {
		if text := fmt.Sprint(err); strings.Contains(text, "hunter2") || !strings.Contains(text, "…") {
			t.Error(err)
		}
	}
	var down *UnavailableError
	if !errors.Is(err, refused) || !errors.As(err, &down) || down.Hint() == "" {
		t.Errorf("%v is something else", err)
	}
}

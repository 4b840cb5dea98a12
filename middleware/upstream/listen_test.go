package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHTTPListens: what belongs to no call comes by GET, also when that breaks,
// and goes out raw.
func TestHTTPListens(t *testing.T) {
	s := newRawServer(t)
	var gets atomic.Int64
	s.get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("headers %v", r.Header)
		}
		say := stream(w)
		switch gets.Add(1) {
		case 1:
			say("retry: 1\nid: e1\ndata: {\"method\":\"notifications/message\",\"params\":{\"n\":1.0,\"a\":9007199254740993}}\n\n")
			say("data: {\"id\":5,\"method\":\"sampling/createMessage\",\"params\":{\"z\":1.0}}\n\n")
			if m := receive(t, "an answer", s.answered); string(m.ID) != "5" || string(m.Result) != `{"z":1.0}` {
				t.Errorf("answer %s %s", m.ID, m.Result)
			}
			say("data: this is none\n\n") // does not end it
			say("data: {\"method\":\"notifications/resources/updated\"}\n\n")
		case 2:
			if id := r.Header.Get("Last-Event-ID"); id != "e1" {
				t.Errorf("goes on behind %q", id)
			}
			say("data: {\"method\":\"notifications/tools/list_changed\"}\n\n")
			say("data: {\"id\":\"o\",\"method\":\"o/o\"}\n\ndata: {\"method\":\"notifications/o\",\"params\":{\"s\":\"%s\"}}\n\n", strings.Repeat("x", 140<<10))
			say("data: {\"method\":\"notifications/last\"}\n\n")
			receive(t, "an error", s.answered)
			<-r.Context().Done()
		}
	}
	told := make(chan string, 10)
	u := s.connect(Options{
		MaxLineBytes: 64 << 10,
		Notify:       func(_ context.Context, method string, params json.RawMessage) { told <- method + " " + string(params) },
		Request: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if method == "o/o" {
				return nil, errors.New("no")
			}
			return params, ctx.Err()
		},
	})
	for _, want := range []string{
		`notifications/message {"n":1.0,"a":9007199254740993}`,
		`notifications/resources/updated `,
		`notifications/tools/list_changed `,
		`notifications/last `,
	} {
		if got := receive(t, want, told); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	}
	eventually(t, "a new list", func() bool { return s.count("tools/list") == 2 })
	if _, err := call(t, u, "x", "{}"); err != nil {
		t.Error(err)
	}
}

// TestHTTPListensInVain: a server need not offer the stream, and one that is
// found to have forgotten the session is connected to again.
func TestHTTPListensInVain(t *testing.T) {
	for _, status := range []int{404, 405, 400, 200} {
		s := newRawServer(t)
		s.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
		u := s.connect(Options{})
		eventually(t, "GET", func() bool { return s.count("GET") > 0 })
		if _, err := call(t, u, "x", "{}"); err != nil || s.count("initialize") != 1 {
			t.Errorf("%d: %v, %d sessions", status, err, s.count("initialize"))
		}
		u.Close()
		if n := s.count("GET"); n != 1 {
			t.Errorf("%d: %d times", status, n)
		}
	}
	s := newRawServer(t)
	s.get = func(w http.ResponseWriter, _ *http.Request) {
		stream(w)("retry: 1\n\n")
		for s.count("tools/list") == 0 {
			time.Sleep(time.Millisecond)
		}
		s.setSession("s2")
	}
	s.connect(Options{})
	eventually(t, "a new session", func() bool { return s.count("initialize") > 1 })
}

// TestHTTPResumes: a stream that breaks before the answer is gone on with, if
// the server gives its events ids.
func TestHTTPResumes(t *testing.T) {
	synctest.Test(t, testHTTPResumes)
}

func testHTTPResumes(t *testing.T) {
	s := &rawServer{}
	var id atomic.Value // of the call
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		id.Store(string(m.ID))
		say := stream(w)
		switch m.Params.Name {
		case "polled", "refused", "forgotten":
			say("id: %s-0\nretry: 1\ndata: \n\n", m.Params.Name)
		case "no id":
			say("data: {\"method\":\"notifications/x\"}\n\n")
		}
	}
	s.get = func(w http.ResponseWriter, r *http.Request) {
		switch last := r.Header.Get("Last-Event-ID"); last {
		case "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case "polled-0":
			stream(w)("data: {\"method\":\"notifications/y\",\"params\":1.0}\nid: polled-1\n\n")
		case "polled-1": // once more, with nothing new
			if s.count("busy") == 0 {
				s.mu.Lock()
				s.seen = append(s.seen, "busy")
				s.mu.Unlock()
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			stream(w)("id: polled-2\n\n")
		case "polled-2":
			stream(w)("data: {\"id\":%s,\"result\":{\"n\":1.0}}\n\n", id.Load())
		case "refused-0":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case "forgotten-0":
			w.WriteHeader(http.StatusNotFound)
		default:
			t.Errorf("goes on behind %q", last)
		}
	}
	told := make(chan string, 10)
	u := inMemory(t, s, Options{Notify: func(_ context.Context, method string, params json.RawMessage) { told <- method + string(params) }})
	defer u.Close()
	if got, err := call(t, u, "polled", "{}"); err != nil || got != `{"n":1.0}` {
		t.Errorf("%s, %v", got, err)
	}
	if got := receive(t, "a notification", told); got != "notifications/y1.0" {
		t.Errorf("told %s", got)
	}
	for _, name := range []string{"no id", "refused", "forgotten"} {
		calls := s.count("tools/call")
		_, err := call(t, u, name, "{}")
		var down *UnavailableError
		if !errors.As(err, &down) || !down.Lost || s.count("tools/call") != calls+1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	eventually(t, "a new session", func() bool { return s.count("initialize") == 2 })
}

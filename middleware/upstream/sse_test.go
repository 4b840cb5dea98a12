package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A rawSSE speaks the older transport: messages go by POST, and all that comes
// back on one stream.
type rawSSE struct {
	*httptest.Server
	t        *testing.T
	out      chan string // to the stream
	answered chan rawMessage
	told     chan rawMessage
	endpoint string
	refuse   atomic.Int64 // status of what answers POST; 0: it is taken
}

func newRawSSE(t *testing.T) *rawSSE {
	s := &rawSSE{t: t, out: make(chan string, 100), answered: make(chan rawMessage, 100), told: make(chan rawMessage, 100), endpoint: "/post?s=1"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *rawSSE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		say := stream(w)
		say("event: endpoint\ndata: %s\n\n", s.endpoint)
		for {
			select {
			case m := <-s.out:
				if m == "" {
					return
				}
				say("event: message\ndata: %s\n\n", m)
			case <-r.Context().Done():
				return
			}
		}
	}
	if status := int(s.refuse.Load()); status != 0 {
		w.WriteHeader(status)
		return
	}
	var m rawMessage
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		s.t.Errorf("%s: %v", body, err)
	}
	w.WriteHeader(http.StatusAccepted)
	answer := func(result string) { s.out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
	switch m.Method {
	case "":
		s.answered <- m
	case "initialize":
		answer(`{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"sse","version":"1"}}`)
	case "tools/list":
		answer(`{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		switch m.Params.Name {
		case "hang":
			s.told <- m
		case "end":
			s.out <- ""
		case "nothing":
			s.out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, m.ID)
			answer("5") // if that was none
		default:
			answer(`{"z":` + string(m.Params.Arguments) + `}`)
		}
	default:
		s.told <- m
	}
}

func TestSSE(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newRawSSE(t)
	begun, ended := make(chan struct{}, 200), make(chan struct{}, 200)
	u := New(Options{Name: "sse", Dial: Remote(s.URL, "sse", nil), MinBackoff: time.Nanosecond, Request: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "wait":
			begun <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
		case "fail":
			return nil, errors.New("no")
		}
		return params, ctx.Err()
	}})
	defer u.Close()
	u.Settled(t.Context())
	if m := receive(t, "initialized", s.told); m.Method != "notifications/initialized" {
		t.Errorf("told %s", m.Method)
	}

	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"b":%d.0,"a":9007199254740993}`, i)
			if got, err := call(t, u, "x", args); err != nil || got != `{"z":`+args+`}` {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	wg.Wait()

	if _, err := call(t, u, "nothing", "{}"); err == nil || !strings.Contains(err.Error(), "malformed answer") {
		t.Errorf("an answer of nothing: %v", err)
	}

	// What it asks is answered, and raw.
	s.out <- `{"jsonrpc":"2.0","id":"1","method":"roots/list","params":{"b":1.0,"a":9007199254740993}}`
	if m := receive(t, "an answer", s.answered); string(m.ID) != `"1"` || string(m.Result) != `{"b":1.0,"a":9007199254740993}` {
		t.Errorf("answer %s %s", m.ID, m.Result)
	}
	s.out <- `{"jsonrpc":"2.0","id":1,"method":"fail"}`
	if m := receive(t, "an error", s.answered); string(m.ID) != `1` || !strings.Contains(string(m.Error), `"no"`) {
		t.Errorf("answer %s %s", m.ID, m.Error)
	}
	s.out <- `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	if m := receive(t, "a pong", s.answered); string(m.ID) != `2` || m.Error != nil {
		t.Errorf("answer %s %s", m.ID, m.Error)
	}

	// What it takes back ends, and there is a bound.
	s.out <- `{"jsonrpc":"2.0","id":3,"method":"wait"}`
	receive(t, "a request", begun)
	s.out <- `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
	receive(t, "its end", ended)
	const sent = maxServerRequests + 20 // of which those before may still take a place or two
	for i := range sent {
		s.out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"wait"}`, 10+i)
	}
	waiting := 0
	for range sent {
		select {
		case <-begun:
			waiting++
		case m := <-s.answered:
			if m.Error == nil {
				t.Errorf("answer %s", m.ID)
			}
		}
	}
	if waiting > maxServerRequests {
		t.Errorf("%d requests at one time", waiting)
	}

	// The end of a call reaches the server, and the end of the stream the calls.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := u.Call(ctx, toolCall("hang", "{}")); done <- err }()
	id := receive(t, "the call", s.told).ID
	cancel()
	if err := receive(t, "its end", done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m := receive(t, "the notification", s.told); m.Method != "notifications/cancelled" || string(m.Params.RequestID) != string(id) {
		t.Errorf("told %s of %s, want %s", m.Method, m.Params.RequestID, id)
	}
	_, err := call(t, u, "end", "{}")
	var down *UnavailableError
	if !errors.As(err, &down) || !down.Lost {
		t.Errorf("a lost call: %v", err)
	}
	for range waiting {
		receive(t, "the end of a request", ended)
	}
	if got, err := call(t, u, "x", "7"); err != nil || got != `{"z":7}` {
		t.Errorf("after it: %s, %v", got, err)
	}
	u.Close()
	s.CloseClientConnections()
	s.Close()
	eventually(t, "no goroutines left", func() bool { return runtime.NumGoroutine() <= before })
}

// TestSSEElsewhere: the operator's headers stay with the server's own host,
// whatever URL it names for messages.
func TestSSEElsewhere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("reached with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	s := newRawSSE(t)
	s.endpoint = other.URL + "/post"
	u := New(Options{Name: "sse", Dial: Remote(s.URL, "sse", map[string]string{"Authorization": "Bearer t"})})
	defer u.Close()
	u.Settled(t.Context())
	if state, err := u.State(); state != Failed || !strings.Contains(err.Error(), "another host") {
		t.Errorf("%v, %v", state, err)
	}
}

package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A rawServer speaks streamable HTTP as the test writes it, since no SDK would
// do these things.
type rawServer struct {
	*httptest.Server
	t *testing.T

	// tool answers tools/call. Nil echoes the arguments as JSON.
	tool func(w http.ResponseWriter, r *http.Request, m rawMessage)
	// get answers GET. Nil refuses it.
	get http.HandlerFunc
	// first is asked before all else, and reports whether it has answered.
	first func(w http.ResponseWriter, r *http.Request, m rawMessage) bool

	mu       sync.Mutex // guards the fields below
	session  string     // empty: none are used
	seen     []string   // methods, and "DELETE"
	answered chan rawMessage
}

type rawMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI    string
		Arguments    json.RawMessage
		RequestID    json.RawMessage
		Capabilities json.RawMessage
		ClientInfo   json.RawMessage
		Meta         map[string]json.RawMessage `json:"_meta"`
	}
	Result, Error json.RawMessage
}

func newRawServer(t *testing.T) *rawServer {
	s := &rawServer{t: t, session: "s1", answered: make(chan rawMessage, 100)}
	s.Server = httptest.NewUnstartedServer(s)
	return s
}

// connect starts the server and an upstream of it.
func (s *rawServer) connect(opts Options) *Upstream {
	s.Start()
	// Last in, first out: the upstream is closed first.
	s.t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.dial(opts)
}

func (s *rawServer) dial(opts Options) *Upstream {
	opts.Name, opts.Dial = "raw", Remote(s.URL+"/mcp", "http", nil)
	if opts.MinBackoff == 0 {
		opts.MinBackoff = time.Nanosecond
	}
	u := New(opts)
	s.t.Cleanup(u.Close)
	u.Settled(s.t.Context())
	if state, err := u.State(); state != Ready {
		s.t.Fatalf("state %v, %v", state, err)
	}
	return u
}

// inMemory connects an upstream with s without a network, so that its time can run in
// synctest.
func inMemory(t *testing.T, s *rawServer, opts Options) *Upstream {
	s.t, s.session, s.answered = t, "s1", make(chan rawMessage, 100)
	opts.Name, opts.MinBackoff = "raw", time.Nanosecond
	opts.Dial = func(ctx context.Context, h hooks) (*session, error) {
		return dialRemote(ctx, h, "http://raw/mcp", "http", &http.Client{Transport: memory{s}})
	}
	u := New(opts)
	u.Settled(t.Context())
	return u
}

// A memory hands requests to a handler and its responses back.
type memory struct{ http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	body, w := io.Pipe()
	out := &memoryWriter{PipeWriter: w, resp: &http.Response{Header: http.Header{}, Body: body}, begun: make(chan struct{})}
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go func() {
		m.ServeHTTP(out, r)
		out.WriteHeader(http.StatusOK)
		w.Close()
	}()
	select {
	case <-out.begun:
		return out.resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

type memoryWriter struct {
	*io.PipeWriter
	resp  *http.Response
	begun chan struct{} // closed when resp has its status
}

func (w *memoryWriter) Header() http.Header { return w.resp.Header }
func (w *memoryWriter) Flush()              {}

func (w *memoryWriter) WriteHeader(status int) {
	if w.resp.StatusCode == 0 {
		w.resp.StatusCode = status
		close(w.begun)
	}
}

func (w *memoryWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.PipeWriter.Write(b)
}

func (s *rawServer) setSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = id
}

// count says how often a method was called.
func (s *rawServer) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen {
		if m == method {
			n++
		}
	}
	return n
}

func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m rawMessage
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			s.t.Errorf("the message %s: %v", body, err)
		}
	}
	s.mu.Lock()
	session := s.session
	if r.Method == http.MethodPost {
		s.seen = append(s.seen, m.Method)
	} else {
		s.seen = append(s.seen, r.Method)
	}
	s.mu.Unlock()
	if s.first != nil && s.first(w, r, m) {
		return
	}
	if m.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != session {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	switch {
	case r.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
	case m.Method == "":
		s.answered <- m
		w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		if session != "" {
			w.Header().Set("Mcp-Session-Id", session)
		}
		answerJSON(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`)
	case r.Header.Get("Mcp-Protocol-Version") != "2025-11-25":
		http.Error(w, "no version", http.StatusBadRequest)
	case m.Method == "tools/list":
		answerJSON(w, m, `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call" && s.tool != nil:
		s.tool(w, r, m)
	case m.Method == "tools/call":
		answerJSON(w, m, `{"content":[],"z":`+string(m.Params.Arguments)+`}`)
	default:
		s.t.Errorf("method %s", m.Method)
	}
}

func answerJSON(w http.ResponseWriter, m rawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// stream begins a stream and returns what writes to it, flushed.
func stream(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	return func(format string, args ...any) {
		fmt.Fprintf(w, format, args...)
		w.(http.Flusher).Flush()
	}
}

func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("waited in vain for " + what)
		panic("unreachable")
	}
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 64<<10)
			t.Fatalf("never: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

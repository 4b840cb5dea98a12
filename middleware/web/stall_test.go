package web

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/guard"
)

// A pipeListener accepts pipes, so that time is synctest's.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial() net.Conn {
	near, far := net.Pipe()
	l.conns <- far
	return near
}

// TestStalled: who announces a body and does not send it is answered, and its
// connection ended, whatever becomes of the request. net/http reads what a handler
// has left of a body before it answers: requests that were refused, for want of a
// token too, kept their connections for ever.
func TestStalled(t *testing.T) {
	for _, tt := range []struct{ name, head string }{
		{"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"},
		{"another path", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"},
		{"health", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"},
		{"in pieces", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"},
		{"another Host", "POST /mcp HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\n"},
		{"another type", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"},
		{"a message", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer 0123456789abcdef\r\nContent-Type: application/json\r\nAccept: */*\r\n\r\n{"},
	} {
		synctest.Test(t, func(t *testing.T) {
			admit, err := auth.New(auth.Options{Tokens: []auth.Token{{Agent: "a", Secret: "0123456789abcdef"}}})
			if err != nil {
				t.Fatal(err)
			}
			h := New(Options{Guard: admit})
			l := newPipeListener()
			ctx, cancel := context.WithCancel(t.Context())
			var serving sync.WaitGroup
			serving.Go(func() { _ = h.Serve(ctx, l) })
			conn := l.dial()
			began := time.Now()
			// It does not read yet either, as pipes hold nothing.
			go func() { _, _ = io.WriteString(conn, tt.head) }()
			_ = conn.SetReadDeadline(began.Add(time.Hour))
			in := bufio.NewReader(conn)
			if _, err := http.ReadResponse(in, nil); err != nil {
				t.Errorf("%s: no answer: %v", tt.name, err)
			}
			_, _ = io.Copy(io.Discard, in)
			if took := time.Since(began); took > bodyTime+5*time.Second {
				t.Errorf("%s: the connection lasted %v", tt.name, took)
			}
			conn.Close()
			cancel()
			serving.Wait()
		})
	}
}

// TestStreamWithBody: a stream outlasts the time of a body that came with its
// request.
func TestStreamWithBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		server, err := middleware.New(middleware.Options{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		admit, err := auth.New(auth.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := New(Options{Attach: attach(server), Guard: admit})
		l := newPipeListener()
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() { _ = h.Serve(ctx, l) })
		conn := l.dial()
		in := bufio.NewReader(conn)
		ask := func(head string) *http.Response {
			go func() { _, _ = io.WriteString(conn, head) }()
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			return resp
		}
		resp := ask(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nContent-Type: application/json\r\nAccept: */*\r\n\r\n%s", len(begin), begin))
		_, _ = io.Copy(io.Discard, resp.Body)
		resp = ask("GET /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nAccept: */*\r\nMcp-Session-Id: " + resp.Header.Get("Mcp-Session-Id") + "\r\n\r\n0\r\n\r\n")
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Minute)
			cancel()
		}()
		_, _ = io.Copy(io.Discard, resp.Body)
		if took := time.Since(began); took < 10*time.Minute {
			t.Errorf("the stream lasted %v", took)
		}
		conn.Close()
		serving.Wait()
		server.Close()
		store.Close()
	})
}

// TestBodyWaitsInVain: it is told so while its client may still listen. It waited
// for as long as a call of somebody else's ran.
func TestBodyWaitsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 2 << 20
		h := &Handler{opts: Options{MaxBodyBytes: size, Accounts: guard.NewAccounts(size, 4*size)}, bodies: guard.NewBudget(size, nil), places: newPlaces(1, 0, nil)}
		other := h.bodies.Hold("other")
		if err := other.Take(t.Context(), size); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c := &claim{"a", h.opts.Accounts.Of("a"), 0}
		began := time.Now()
		_, ok := h.read(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", bytes.NewReader(make([]byte, size))), c)
		if took := time.Since(began); ok || took != bodyWait || w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("after %v: %d %s", took, w.Code, w.Body)
		}
		other.Release()
		_ = c.resize(0)
		again := &claim{"b", h.opts.Accounts.Of("b"), 0}
		if got, ok := h.read(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(make([]byte, size))), again); !ok || len(got) != size {
			t.Error("the share is lost")
		}
	})
}

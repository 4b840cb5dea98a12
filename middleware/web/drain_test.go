package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// A drained is a handler that serves pipes and can be told to end. Calls of its tool take as
// many seconds as their argument for says.
type drained struct {
	t      *testing.T
	l      *pipeListener
	client *http.Client
	leave  func()
	asked  time.Time // when it was told to end
	ended  chan time.Duration
}

func drain(t *testing.T, opts Options) *drained {
	store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	f := withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		var p struct{ Arguments struct{ For int } }
		_ = json.Unmarshal(r.Params, &p)
		select {
		case <-time.After(time.Duration(p.Arguments.For) * time.Second):
			return text("done"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	server, err := middleware.New(middleware.Options{Store: store, Upstreams: []middleware.Upstream{{Name: "s", Conn: f}}, CallTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if opts.Guard, err = auth.New(auth.Options{}); err != nil {
		t.Fatal(err)
	}
	opts.Attach = attach(server)
	d := &drained{t: t, l: newPipeListener(), ended: make(chan time.Duration, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	d.leave = func() {
		d.asked = time.Now()
		cancel()
		synctest.Wait()
	}
	d.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case d.l.conns <- far:
			return near, nil
		case <-d.l.done:
			return nil, net.ErrClosed
		}
	}}}
	h := New(opts)
	go func() {
		if err := h.Serve(ctx, d.l); err != nil {
			t.Error(err)
		}
		d.client.CloseIdleConnections()
		store.Close()
		d.ended <- time.Since(d.asked)
	}()
	return d
}

// do sends a request, a call of the tool where body is not empty.
func (d *drained) do(method, path, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(d.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return d.client.Do(r)
}

// says returns the status and the text of a response.
func (d *drained) says(method, path, body string, header ...string) (int, string) {
	resp, err := d.do(method, path, body, header...)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// TestNotice: with others beside it, a replica that is to end says so by /readyz at once, and
// serves on for those who have not heard of it. Streams end when it takes no more, for
// whoever comes back at once must reach another.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drain(t, Options{DrainTime: 20 * time.Second, NoticeTime: 10 * time.Second})
		if status, text := d.says("GET", "/readyz", ""); status != 200 {
			t.Fatal(status, text)
		}
		resp, err := d.do("POST", "/mcp", begin)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		session := []string{"Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id")}
		listening, err := d.do("GET", "/mcp", "", session...)
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan time.Duration, 1)
		go func() {
			_, _ = io.Copy(io.Discard, listening.Body)
			heard <- time.Since(d.asked)
		}()
		running := make(chan string, 1)
		go func() {
			_, text := d.says("POST", "/mcp", callT(1, `{"for":18}`), session...)
			running <- text
		}()
		synctest.Wait()
		d.leave()
		if status, text := d.says("GET", "/readyz", ""); status != 503 || text != "shutting down\n" {
			t.Errorf("/readyz: %d %s", status, text)
		}
		if status, _ := d.says("GET", "/healthz", ""); status != 200 {
			t.Errorf("/healthz: %d", status)
		}
		time.Sleep(9 * time.Second)
		if status, text := d.says("POST", "/mcp", callT(2, `{}`), session...); status != 200 || !strings.Contains(text, "done") {
			t.Errorf("a call of a session: %d %s", status, text)
		}
		resp, err = d.do("POST", "/mcp", alone(callT(3, `{}`), ""), aloneHeader...)
		if err != nil || resp.StatusCode != 200 || !resp.Close {
			t.Errorf("a call without session: %v %v", resp, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if status, text := d.says("GET", "/healthz", ""); status != 0 {
			t.Errorf("a request after the notice: %d %s", status, text)
		}
		if got := <-heard; got < 10*time.Second || got > 11*time.Second {
			t.Errorf("the stream ended after %v", got)
		}
		if got := <-running; !strings.Contains(got, "done") {
			t.Errorf("the call that ran: %s", got)
		}
		if took := <-d.ended; took < 18*time.Second || took > 19*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestDrain: a process that is alone ends as soon as nothing runs, and cancels what runs for
// longer than it may.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		drain  time.Duration
		call   string // seconds that it takes, "" for none
		want   string
		after  time.Duration
		within time.Duration
	}{
		{"nothing runs", time.Minute, "", "", 0, time.Second},
		{"a call", 5 * time.Second, "4", `"done"`, 4 * time.Second, time.Second},
		{"a long call", 5 * time.Second, "600", "shutting down", 5 * time.Second, time.Second},
		{"no time", 0, "1", "shutting down", 0, time.Second},
		{"a longer time", time.Hour, "600", `"done"`, 10 * time.Minute, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := drain(t, Options{DrainTime: tt.drain})
				if status, text := d.says("GET", "/readyz", ""); status != 200 { // its connection stays
					t.Fatal(status, text)
				}
				running := make(chan string, 1)
				if tt.call != "" {
					go func() {
						_, text := d.says("POST", "/mcp", alone(callT(1, `{"for":`+tt.call+`}`), ""), aloneHeader...)
						running <- text
					}()
				}
				synctest.Wait()
				d.leave()
				if took := <-d.ended; took < tt.after || took > tt.after+tt.within {
					t.Errorf("it took %v", took)
				}
				if tt.call != "" {
					if got := <-running; !strings.Contains(got, tt.want) {
						t.Errorf("the call: %s", got)
					}
				}
			})
		})
	}
}

// TestDrainedConnection: a connection that stays open brings no more than one request once
// the process is to end, however quick its client is.
func TestDrainedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drain(t, Options{DrainTime: time.Minute, NoticeTime: time.Second})
		conn := d.l.dial()
		in := bufio.NewReader(conn)
		ask := func() (*http.Response, error) {
			go func() { _, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
			resp, err := http.ReadResponse(in, nil)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			return resp, err
		}
		if resp, err := ask(); err != nil || resp.Close {
			t.Fatal(resp, err)
		}
		d.leave()
		if resp, err := ask(); err != nil || !resp.Close {
			t.Errorf("%v %v", resp, err)
		}
		if resp, err := ask(); err == nil {
			t.Errorf("another request was answered: %v", resp)
		}
		conn.Close()
		if took := <-d.ended; took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestWaiting: who has connected and waits to be accepted is seen.
func TestWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if waiting(l) {
		t.Error("nobody has connected")
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !waiting(l) && runtime.GOOS != "windows" {
		t.Error("somebody has")
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if waiting(l) {
		t.Error("nobody waits any more")
	}
}

package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/auth"
)

// A plug is a connection from an address.
type plug struct {
	net.Conn
	from   string
	closed bool
}

func (p *plug) RemoteAddr() net.Addr {
	if p.from == "" {
		return &net.UnixAddr{Name: "@", Net: "unix"}
	}
	return &net.TCPAddr{IP: net.ParseIP(p.from), Port: 1}
}
func (p *plug) Close() error { p.closed = true; return nil }

// TestStrangers: whoever only connected took as many places as there are files. Now the
// oldest give way, but nobody whose request was admitted.
func TestStrangers(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int                // connections that come, after the pause each
		pause time.Duration      //
		from  func(i int) string // their address
		admit bool               // their requests are admitted at once
		open  int                // how many stay
	}{
		{"few", maxFromOne, time.Millisecond, one, false, maxFromOne},
		{"many from one address, idle", 300, newTime, one, false, maxFromOne},
		{"many from many addresses, idle", 600, newTime, each, false, maxStrangers},
		{"over a socket", maxStrangers, newTime, func(int) string { return "" }, false, maxStrangers},
		{"many at once", 1000, 0, one, false, 1000},
		{"more than there are places", maxConnections + 10, 0, one, false, maxConnections},
		{"admitted", 1000, newTime, one, true, 1000},
		{"more admitted than there are places", maxConnections + 10, time.Millisecond, one, true, maxConnections},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := newConnections(slog.New(slog.DiscardHandler), 1<<20)
				var plugs []*plug
				for i := range c.n {
					p := &plug{from: c.from(i)}
					plugs = append(plugs, p)
					ctx := all.arrive(context.Background(), p)
					if c.admit && !p.closed {
						all.admit(ctx, "")
						all.admit(ctx, "") // once more
					}
					time.Sleep(c.pause)
				}
				open := 0
				for _, p := range plugs {
					if !p.closed {
						open++
						all.changed(p, http.StateClosed)
					}
				}
				if open != c.open {
					t.Errorf("%d are open, want %d", open, c.open)
				}
				if len(all.open) != 0 || len(all.strangers) != 0 {
					t.Errorf("%d and %d are held at the end", len(all.open), len(all.strangers))
				}
			})
		})
	}
}

func one(int) string    { return "192.0.2.1" }
func each(i int) string { return fmt.Sprintf("192.0.%d.%d", i/256, i%256) }

// TestStrangersGiveWay: among connections that say nothing, one with a token is served.
func TestStrangersGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newConnections(slog.New(slog.DiscardHandler), 1<<20)
		client := &plug{from: "192.0.2.7"}
		all.admit(all.arrive(t.Context(), client), "")
		for i := range 2 * maxConnections {
			all.arrive(t.Context(), &plug{from: each(i % 5000)})
			time.Sleep(time.Millisecond)
		}
		late := &plug{from: "192.0.2.8"}
		all.admit(all.arrive(t.Context(), late), "")
		if client.closed || late.closed {
			t.Errorf("closed: %v, %v", client.closed, late.closed)
		}
		if len(all.open) > maxConnections {
			t.Errorf("%d are open", len(all.open))
		}
	})
}

// TestCrowdOfOneAgent: an agent that keeps all connections that there may be shut all others
// out. Now it loses the oldest of its own, those first that bring no request.
func TestCrowdOfOneAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newConnections(slog.New(slog.DiscardHandler), 1<<20)
		come := func(agent string, idle bool) *plug {
			p := &plug{from: "192.0.2.1"}
			ctx := all.arrive(t.Context(), p)
			time.Sleep(time.Millisecond)
			if !p.closed {
				all.admit(ctx, agent)
				if idle {
					all.changed(p, http.StateIdle)
				}
			}
			return p
		}
		first := come("bob", true)
		calls, idle := come("ann", false), come("ann", true)
		for range maxConnections + 10 {
			come("ann", false)
		}
		if !idle.closed || !calls.closed {
			t.Errorf("closed of ann: %v, %v", idle.closed, calls.closed)
		}
		if late := come("bob", false); first.closed || late.closed {
			t.Errorf("closed of bob: %v, %v", first.closed, late.closed)
		}
		come("ann", true)
		n := len(all.open)
		all.yield() // no file is left
		if n > maxConnections || len(all.open) != n-1 || first.closed {
			t.Errorf("%d are open, then %d", n, len(all.open))
		}
	})
}

// A shortListener has no files for its first connections.
type shortListener struct {
	net.Listener
	fails int
}

func (l *shortListener) Accept() (net.Conn, error) {
	if l.fails > 0 {
		l.fails--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestNoFiles: too many open files were said at debug level only. The server goes on
// when there are some again.
func TestNoFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.New(auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log safeLog
	h := New(Options{Guard: guard, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, stop := context.WithCancel(t.Context())
	first, second, known := &plug{from: "192.0.2.1"}, &plug{from: "192.0.2.2"}, &plug{from: "192.0.2.3"}
	h.connections.admit(h.connections.arrive(ctx, known), "")
	h.connections.arrive(ctx, first)
	h.connections.arrive(ctx, second)
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, &shortListener{l, 5}) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), `level=WARN msg="a connection was not accepted" error="accept tcp: too many open files"`); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	if !first.closed || !second.closed || known.closed {
		t.Errorf("strangers closed: %v, %v; a client: %v", first.closed, second.closed, known.closed)
	}
	http.DefaultClient.CloseIdleConnections()
}

type safeLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestConnectionsOfOneAgent: over its bound an agent is told so on each new connection, and
// what it has goes on; one that ends makes room.
func TestConnectionsOfOneAgent(t *testing.T) {
	all := newConnections(slog.New(slog.DiscardHandler), 2)
	var contexts []context.Context
	var conns []net.Conn
	for range 4 {
		near, far := net.Pipe()
		defer near.Close()
		conns = append(conns, far)
		contexts = append(contexts, all.arrive(t.Context(), far))
	}
	for i, tt := range []struct {
		conn  int
		agent string
		ok    bool
	}{{0, "ann", true}, {1, "ann", true}, {2, "ann", false}, {0, "ann", true}, {2, "bob", true}, {3, "", true}, {3, "ann", false}} {
		if err := all.admit(contexts[tt.conn], tt.agent); (err == nil) != tt.ok {
			t.Errorf("request %d: %v", i, err)
		}
	}
	all.changed(conns[0], http.StateClosed)
	if err := all.admit(contexts[3], "ann"); err != nil {
		t.Errorf("after the end of one: %v", err)
	}
	for _, c := range conns {
		all.changed(c, http.StateClosed)
	}
	if len(all.of)+len(all.open) > 0 {
		t.Errorf("%v are left", all.of)
	}
}

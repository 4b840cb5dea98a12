package web

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rpc"
)

// A peerSession is the least of a [Session]: its requests are answered by a function.
type peerSession struct {
	*rpc.Peer
	initialized *atomic.Bool
}

func (s peerSession) Initialized() bool { return s.initialized.Load() }
func (s peerSession) End()              { s.Close() }

// answering returns what begins sessions whose requests handle answers.
func answering(handle func(ctx context.Context, peer *rpc.Peer, method string, params json.RawMessage) (json.RawMessage, error)) func(rpc.Transport, middleware.Identity, rpc.Options) Session {
	return func(t rpc.Transport, _ middleware.Identity, opts rpc.Options) Session {
		s := peerSession{initialized: new(atomic.Bool)}
		opts.Handle = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			result, err := handle(ctx, s.Peer, method, params)
			if method == "initialize" && err == nil {
				s.initialized.Store(true)
			}
			return result, err
		}
		s.Peer = rpc.NewPeer(t, opts)
		return s
	}
}

// BenchmarkPost is one call of 1 KB over a loopback connection that stays open, without
// what the proxy does for it: floor is a handler that reads the request and writes the
// response, the least that net/http can do.
func BenchmarkPost(b *testing.B) {
	result := text(strings.Repeat("x", 1<<10))
	admit, err := auth.New(auth.Options{})
	if err != nil {
		b.Fatal(err)
	}
	h := New(Options{Guard: admit, Attach: answering(func(context.Context, *rpc.Peer, string, json.RawMessage) (json.RawMessage, error) {
		return result, nil
	})})
	defer h.Close()
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := rpc.Parse(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(rpc.Message{ID: m.ID, Result: result}.Bytes())
	})
	for _, bb := range []struct {
		name    string
		handler http.Handler
		version string
	}{
		{"floor", floor, "2025-11-25"},
		{"session", h, "2025-11-25"},
		{"stateless", h, "2026-07-28"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			server := &http.Server{Handler: bb.handler}
			go func() { _ = server.Serve(l) }()
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			header := http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				headerVersion: {bb.version}, headerMethod: {"tools/call"}, headerName: {"t"},
			}
			post := func(body string) http.Header {
				r, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String()+"/mcp", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				r.Header = header
				resp, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				defer resp.Body.Close()
				if n, _ := io.Copy(io.Discard, resp.Body); resp.StatusCode != 200 || int(n) < len(result) {
					b.Fatal(resp.Status, n)
				}
				return resp.Header
			}
			call := callT(1, `{"path":"/home/user/project","depth":3}`)
			if bb.version == stateless {
				call = alone(call, "")
			} else if id := post(begin).Get(headerSession); id != "" {
				header.Set(headerSession, id)
			}
			b.ReportAllocs()
			for b.Loop() {
				post(call)
			}
		})
	}
}

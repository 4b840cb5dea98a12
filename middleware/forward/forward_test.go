package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
)

func open(t testing.TB, redis *fleettest.Server) *fleet.Store {
	t.Helper()
	s, err := fleet.Open(fleet.Options{URL: redis.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A replica answers requests by handle.
type replica struct {
	*Forwarder
	store *fleet.Store
}

// peer is a session that is nothing else.
type peer struct{ *rpc.Peer }

func (p peer) End() { p.Close() }

func start(t testing.TB, redis *fleettest.Server, handle func(ctx context.Context, p *rpc.Peer, params json.RawMessage) (json.RawMessage, error)) replica {
	t.Helper()
	store := open(t, redis)
	f := New(Options{Fleet: store, MaxSent: 2, Attach: func(tr rpc.Transport, _ Client, opts rpc.Options) Session {
		var p *rpc.Peer
		opts.Handle = func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			return handle(ctx, p, params)
		}
		p = rpc.NewPeer(tr, opts)
		return peer{p}
	}})
	t.Cleanup(f.Close)
	return replica{f, store}
}

// ready waits until a replica is known to another, and hears.
func ready(t testing.TB, from, to replica) {
	t.Helper()
	fleettest.Until(t, "the replicas hear each other", func() bool {
		_, err := from.Send(t.Context(), to.store.Replica(), "ready", Request{Method: "x", Params: []byte(`{"ready":1}`)}, nobody{})
		return err == nil
	})
}

// nobody is told, and asked, nothing.
type nobody struct{}

func (nobody) Tell(string, json.RawMessage) {}
func (nobody) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("nobody is there")
}

func echo(_ context.Context, _ *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
	return append(json.RawMessage(nil), params...), nil
}

// TestBytes: what crosses is the bytes that were sent.
func TestBytes(t *testing.T) {
	redis := fleettest.Start(t)
	a, b := start(t, redis, echo), start(t, redis, echo)
	ready(t, a, b)
	for _, params := range []string{`{}`, `{ "a" : 1.0, "b":"<\u00e9é&>","n":9007199254740993}`, "{\"bad\":\"\xff\xfe\"}", `{"long":"` + strings.Repeat("x", maxBytes-1000) + `"}`} {
		got, err := a.Send(t.Context(), b.store.Replica(), "p", Request{Method: "x", Params: []byte(params)}, nobody{})
		if err != nil || string(got) != params {
			t.Errorf("%.60q: %.60q, %v", params, got, err)
		}
	}
	fleettest.Until(t, "nothing is worked on", func() bool { return b.Working() == 0 })
}

// TestBounds: what is too long, or too much, is refused with what it is.
func TestBounds(t *testing.T) {
	redis := fleettest.Start(t)
	hold := make(chan bool)
	a, b := start(t, redis, echo), start(t, redis, func(ctx context.Context, p *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
		switch string(params) {
		case `"long"`:
			_ = p.Notify(ctx, "notifications/long", json.RawMessage(`"`+strings.Repeat("x", maxBytes)+`"`))
			return json.RawMessage(`"` + strings.Repeat("x", maxBytes) + `"`), nil
		case `"wait"`:
			<-hold
		}
		return json.RawMessage("{}"), nil
	})
	ready(t, a, b)
	send := func(params string) (json.RawMessage, error) {
		return a.Send(t.Context(), b.store.Replica(), "p", Request{Client: Client{Identity: session.Identity{Name: "p"}}, Method: "x", Params: []byte(params)}, nobody{})
	}
	var long *TooLongError
	if _, err := send(`"` + strings.Repeat("x", maxBytes) + `"`); !errors.As(err, &long) {
		t.Errorf("a long request: %v", err)
	}
	if _, err := send(`"long"`); err == nil || !strings.Contains(err.Error(), "more than one replica of the proxy can hand on") {
		t.Errorf("a long answer: %v", err)
	}
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := send(`"wait"`)
			done <- err
		}()
	}
	fleettest.Until(t, "two are worked on", func() bool { return b.Working() == 2 })
	var busy *guard.BusyError
	if _, err := send(`{}`); !errors.As(err, &busy) {
		t.Errorf("too many: %v", err)
	}
	close(hold)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestStoreAway: an answer that comes while the store is away arrives when it is back. Without a
// store nothing is sent.
func TestStoreAway(t *testing.T) {
	redis := fleettest.Start(t)
	hold, working := make(chan bool), make(chan bool, 1)
	a, b := start(t, redis, echo), start(t, redis, func(ctx context.Context, p *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
		if string(params) == `{"wait":1}` {
			working <- true
			<-hold
		}
		return append(json.RawMessage(nil), params...), nil
	})
	ready(t, a, b)
	type answer struct {
		raw json.RawMessage
		err error
	}
	got := make(chan answer, 1)
	go func() {
		raw, err := a.Send(t.Context(), b.store.Replica(), "p", Request{Method: "x", Params: []byte(`{"wait":1}`)}, nobody{})
		got <- answer{raw, err}
	}()
	<-working
	redis.Kill()
	var away *fleet.AwayError
	if _, err := a.Send(t.Context(), b.store.Replica(), "p", Request{Method: "x"}, nobody{}); !errors.As(err, &away) {
		t.Errorf("without a store: %v", err)
	}
	close(hold)
	redis.Restart()
	if g := <-got; g.err != nil || string(g.raw) != `{"wait":1}` {
		t.Errorf("%s, %v", g.raw, g.err)
	}
}

// TestCancelledWhileAway: a request that nobody waits for any more ends where it runs, though
// that could not be told just then.
func TestCancelledWhileAway(t *testing.T) {
	redis := fleettest.Start(t)
	a, b := start(t, redis, echo), start(t, redis, func(ctx context.Context, _ *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
		if len(params) == 0 {
			<-ctx.Done()
		}
		return json.RawMessage("{}"), nil
	})
	ready(t, a, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := a.Send(ctx, b.store.Replica(), "p", Request{Method: "x"}, nobody{})
		done <- err
	}()
	fleettest.Until(t, "it is worked on", func() bool { return b.Working() == 1 })
	redis.Kill()
	cancel()
	<-done
	redis.Restart()
	fleettest.Until(t, "it ends", func() bool { return b.Working() == 0 })
}

// TestGone: a replica that has ended, that ends, or that says nothing is found out.
func TestGone(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("replicas", func(t *testing.T) {
		redis := fleettest.Start(t)
		a, b := start(t, redis, echo), start(t, redis, func(ctx context.Context, _ *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
			if len(params) == 0 {
				<-ctx.Done()
			}
			return json.RawMessage("{}"), nil
		})
		ready(t, a, b)
		send := func(to string) error {
			_, err := a.Send(t.Context(), to, "p", Request{Method: "x"}, nobody{})
			return err
		}
		done := make(chan error, 1)
		go func() { done <- send(b.store.Replica()) }()
		fleettest.Until(t, "it is worked on", func() bool { return b.Working() == 1 })
		b.Close()
		if err := <-done; !errors.Is(err, ErrGone) {
			t.Errorf("it ends: %v", err)
		}
		b.store.Close()
		if err := send(b.store.Replica()); !errors.Is(err, ErrGone) {
			t.Errorf("it has ended: %v", err)
		}
		silent := open(t, redis)
		begun := time.Now()
		if err := send(silent.Replica()); !errors.Is(err, ErrGone) || time.Since(begun) > 3*beatTime {
			t.Errorf("it says nothing: %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("enough"))
		defer cancel()
		if _, err := a.Send(ctx, silent.Replica(), "p", Request{Method: "x"}, nobody{}); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("nobody waits: %v", err)
		}
	})
	fleettest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// asked takes what it is told, and answers what it is asked.
type asked struct{ told chan string }

func (a asked) Tell(method string, params json.RawMessage) { a.told <- method + string(params) }
func (a asked) Ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if string(params) == `{"n":1}` {
		return nil, fmt.Errorf("no answer to %s", method)
	}
	return params, nil
}

// TestQuestions: the client of a session is asked and told meanwhile, in order; one of 2026-07-28 is
// not asked.
func TestQuestions(t *testing.T) {
	redis := fleettest.Start(t)
	a, b := start(t, redis, echo), start(t, redis, func(ctx context.Context, p *rpc.Peer, params json.RawMessage) (json.RawMessage, error) {
		var all []string
		for n := range 3 {
			_ = p.Notify(ctx, "told", fmt.Appendf(nil, "%d", n))
			raw, err := p.Call(ctx, "ask", fmt.Appendf(nil, `{"n":%d}`, n), nil)
			if err != nil {
				raw = json.RawMessage("error: " + err.Error())
			}
			all = append(all, string(raw))
			if n == 0 && len(params) == 0 { // of what is not about the request it hears nothing
				_ = p.Notify(context.Background(), "told", json.RawMessage(`"other"`))
			}
		}
		return json.Marshal(all)
	})
	ready(t, a, b)
	to := asked{make(chan string, 10)}
	got, err := a.Send(t.Context(), b.store.Replica(), "p", Request{Client: Client{Handshake: []byte("{}")}, Method: "x"}, to)
	if want := `["{\"n\":0}","error: no answer to ask","{\"n\":2}"]`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	close(to.told)
	var told []string
	for one := range to.told {
		told = append(told, one)
	}
	if strings.Join(told, " ") != "told0 told1 told2" {
		t.Errorf("told: %s", told)
	}
	got, err = a.Send(t.Context(), b.store.Replica(), "p", Request{Method: "x"}, asked{make(chan string, 10)})
	if err != nil || strings.Count(string(got), "can be asked for input only in results") != 3 {
		t.Errorf("stateless: %s, %v", got, err)
	}
}

// BenchmarkSend is a request that another replica answers with as many bytes, both in one process.
func BenchmarkSend(b *testing.B) {
	redis := fleettest.Start(b)
	from, to := start(b, redis, echo), start(b, redis, echo)
	ready(b, from, to)
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			params := []byte(`"` + strings.Repeat("x", size) + `"`)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := from.Send(b.Context(), to.store.Replica(), "p", Request{Method: "x", Params: params}, nobody{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

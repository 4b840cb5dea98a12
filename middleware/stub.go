package middleware

// A stand-in until a client's session is on package rpc: it carries messages of a
// [rpc.Peer] through the SDK's session as package web did. To be dropped then, with
// AttachPeer's uses in cmd and in the tests of web.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/wire"
)

// A PeerSession is a [Session] behind a [rpc.Transport].
type PeerSession struct {
	*rpc.Peer
	session *Session
	link    *peerLink
}

// AttachPeer stands in for (*Server).Attach(t, who, opts) *Session.
func (s *Server) AttachPeer(t rpc.Transport, who Identity, opts rpc.Options) *PeerSession {
	l := &peerLink{
		transport: t,
		stateless: who.Session == "",
		incoming:  make(chan jsonrpc.Message),
		done:      make(chan struct{}),
		waiting:   map[string]*peerRequest{},
	}
	x := &PeerSession{link: l}
	opts.Handle = l.handle
	opts.Notified = func(_ context.Context, method string, params json.RawMessage) {
		if !x.session.Notification(method, params) {
			l.push(&jsonrpc.Request{Method: method, Params: params})
		}
	}
	x.Peer = rpc.NewPeer(t, opts)
	l.peer = x.Peer
	var err error
	if x.session, err = s.Attach(context.Background(), l, who); err != nil {
		panic(err)
	}
	return x
}

// Initialized reports whether initialize has been answered.
func (x *PeerSession) Initialized() bool { return x.session.Initialized() }

// End cancels what runs, waits for it and forgets the client.
func (x *PeerSession) End() {
	x.link.Close()
	x.session.End()
	x.Peer.Close()
}

type peerRequest struct {
	ctx    context.Context
	answer chan *jsonrpc.Response // capacity 1
}

// A peerLink is a peer as the SDK sees it.
type peerLink struct {
	transport rpc.Transport
	peer      *rpc.Peer
	stateless bool
	splices   wire.Splices
	incoming  chan jsonrpc.Message
	done      chan struct{}
	once      sync.Once

	mu        sync.Mutex
	seq       int
	waiting   map[string]*peerRequest
	handshake json.RawMessage
}

func (l *peerLink) push(m jsonrpc.Message) {
	select {
	case l.incoming <- m:
	case <-l.done:
	}
}

func (l *peerLink) handle(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r := &peerRequest{ctx, make(chan *jsonrpc.Response, 1)}
	l.mu.Lock()
	l.seq++
	key := "p-" + strconv.Itoa(l.seq)
	l.waiting[key] = r
	if method == "initialize" && len(params) <= wire.MaxHandshakeBytes {
		l.handshake = params
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, key)
		l.mu.Unlock()
	}()
	id, err := jsonrpc.MakeID(key)
	if err == nil && Forwards(method) {
		params, err = wire.Forward(method, params, key)
		method = wire.ForwardMethod
	}
	if err != nil {
		return nil, err
	}
	l.push(&jsonrpc.Request{ID: id, Method: method, Params: params})
	var resp *jsonrpc.Response
	select {
	case resp = <-r.answer:
	case <-ctx.Done():
		l.push(&jsonrpc.Request{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":"` + key + `"}`)})
		select {
		case resp = <-r.answer:
		case <-l.done:
			return nil, rpc.ErrClosed
		}
	case <-l.done:
		return nil, rpc.ErrClosed
	}
	head, body, tail, err := l.splices.Encode(resp)
	if err != nil {
		return nil, err
	}
	m, err := rpc.Parse(append(append(head, body...), tail...))
	if err != nil || m.Error == nil {
		return m.Result, err
	}
	return nil, rawError(m.Error)
}

// rawError is an error that [rpc.ErrorObject] writes as it is.
func rawError(raw json.RawMessage) error {
	f := &rpc.Failure{Raw: raw}
	return f
}

func (l *peerLink) Connect(context.Context) (mcp.Connection, error) { return l, nil }

func (l *peerLink) SessionID() string {
	if l.stateless {
		return ""
	}
	return "session"
}

func (l *peerLink) SupportsProtocolVersion(version string) bool {
	return version < "2026-07-28" || l.stateless
}

func (l *peerLink) Handshake() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handshake
}

func (l *peerLink) Splices() *wire.Splices { return &l.splices }

func (l *peerLink) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.incoming:
		return m, nil
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *peerLink) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		key, _ := m.ID.Raw().(string)
		l.mu.Lock()
		r := l.waiting[key]
		l.mu.Unlock()
		if r != nil {
			r.answer <- m
		}
		return nil
	case *jsonrpc.Request:
		return l.transport.Send(ctx, rpc.Message{Method: m.Method, Params: m.Params})
	}
	return errors.New("unknown message")
}

func (l *peerLink) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// A valued context ends with one and has the values of another.
type valued struct {
	context.Context
	values context.Context
}

func (c valued) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

func (l *peerLink) origin(ctx context.Context) context.Context {
	l.mu.Lock()
	r := l.waiting[Origin(ctx)]
	l.mu.Unlock()
	if r == nil {
		return ctx
	}
	return valued{ctx, r.ctx}
}

func (l *peerLink) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return l.peer.Call(l.origin(ctx), method, params, nil)
}

func (l *peerLink) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return l.peer.Notify(l.origin(ctx), method, params)
}

func (l *peerLink) TryNotify(ctx context.Context, method string, params json.RawMessage) {
	l.peer.TryNotify(l.origin(ctx), method, params)
}

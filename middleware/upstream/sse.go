package upstream

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// An sseLink is a session over the older HTTP+SSE transport, where answers come
// on a stream of their own: the connection is tapped for ours.
type sseLink struct {
	mcp.Connection
	session *mcp.ClientSession
	hooks   hooks
	client  *http.Client
	asks    asks
	life    context.Context // ends with the session
	die     context.CancelFunc
	wg      sync.WaitGroup // the server's requests of the client
	ended   chan struct{}  // closed when nothing of the session runs any more

	mu      sync.Mutex // guards the fields below
	seq     int64
	pending map[jsonrpc.ID]chan *jsonrpc.Response
}

// tap is the transport that lets an sseLink see its connection's messages.
type tap struct {
	mcp.Transport
	link *sseLink
}

func (t tap) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	t.link.Connection = conn
	return t.link, err
}

func dialSSE(ctx context.Context, h hooks, url string, client *http.Client) (link, error) {
	l := &sseLink{hooks: h, client: client, ended: make(chan struct{}), pending: map[jsonrpc.ID]chan *jsonrpc.Response{}}
	l.asks = asks{request: h.request, reply: l.reply}
	l.life, l.die = context.WithCancel(context.Background())
	client.Transport = statusTripper{client.Transport}
	maxEvent := int(h.maxLineBytes)
	if maxEvent <= 0 {
		maxEvent = wire.DefaultMaxLineBytes
	}
	session, err := connectBounded(ctx, h, tap{&mcp.SSEClientTransport{Endpoint: url, HTTPClient: client, MaxEventSize: maxEvent}, l})
	if err != nil {
		l.die()
		l.wg.Wait()
		client.CloseIdleConnections()
		return nil, withoutURL(err)
	}
	l.session = session
	go func() {
		_ = session.Wait()
		l.die()
		l.mu.Lock()
		pending := maps.Clone(l.pending)
		l.pending = nil
		l.mu.Unlock()
		for _, wait := range pending {
			close(wait)
		}
		l.wg.Wait()
		close(l.ended)
	}()
	return sseHandle{l}, nil
}

// Read implements [mcp.Connection]: the next message that is not ours.
func (l *sseLink) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := l.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			l.mu.Lock()
			wait, ours := l.pending[m.ID]
			delete(l.pending, m.ID)
			l.mu.Unlock()
			if ours {
				wait <- m
				continue
			}
		case *jsonrpc.Request:
			if l.requested(m) {
				continue
			}
		}
		return msg, nil
	}
}

// requested deals with a request or notification of the server and reports
// whether it was not for the SDK.
func (l *sseLink) requested(m *jsonrpc.Request) bool {
	switch {
	case m.Method == "notifications/cancelled":
		l.asks.cancelled(m.Params)
		return true
	case !m.IsCall():
		return l.hooks.notified(l.hooks.life, m.Method, m.Params)
	case m.Method == "ping":
		return false
	}
	id, err := json.Marshal(m.ID.Raw())
	if err == nil {
		l.asks.begin(l.life, &l.wg, wire.Message{ID: id, Method: m.Method, Params: m.Params})
	}
	return err == nil
}

// reply sends the answer to a request of the server.
func (l *sseLink) reply(answer []byte) {
	msg, err := jsonrpc.DecodeMessage(answer)
	if err == nil {
		ctx, cancel := context.WithTimeout(l.life, replyWait)
		defer cancel()
		err = l.Write(ctx, msg)
	}
	if err != nil && l.life.Err() == nil {
		l.hooks.logger.Warn("an answer to the server was not sent", "error", err)
	}
}

// An sseHandle is an sseLink as a link; their Close methods differ.
type sseHandle struct{ *sseLink }

func (h sseHandle) Meta() map[string]json.RawMessage { return nil }
func (h sseHandle) Init() *mcp.InitializeResult      { return h.session.InitializeResult() }
func (h sseHandle) Done() <-chan struct{}            { return h.life.Done() }
func (h sseHandle) Exit() string                     { return "" }

// Newer implements link: the transport is older than any newer revision.
func (h sseHandle) Newer(context.Context) (link, bool, error) { return nil, false, errNotNewer }

// Watch implements link.
func (h sseHandle) Watch(context.Context, string, bool) error { return errNotNewer }

func (h sseHandle) Close() {
	h.session.Close()
	<-h.ended
	h.client.CloseIdleConnections()
}

func (h sseHandle) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return h.Write(ctx, &jsonrpc.Request{Method: method, Params: params})
}

func (h sseHandle) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	wait := make(chan *jsonrpc.Response, 1)
	h.mu.Lock()
	if h.pending == nil {
		h.mu.Unlock()
		return nil, &notTakenError{wire.ErrClosed}
	}
	h.seq++
	id, err := jsonrpc.MakeID("rlm-" + strconv.FormatInt(h.seq, 10))
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	h.pending[id] = wait
	h.mu.Unlock()
	if err = h.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err == nil {
		select {
		case resp, ok := <-wait:
			switch {
			case !ok:
				return nil, wire.ErrClosed
			case resp.Error != nil:
				return nil, resp.Error
			}
			return resp.Result, nil
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	delete(h.pending, id)
	h.mu.Unlock()
	if ctx.Err() == nil {
		if err = withoutURL(err); refusal(err) != nil {
			return nil, err
		}
		return nil, lost(err)
	}
	go h.cancelled(id)
	return nil, context.Cause(ctx)
}

// cancelled tells the server that nobody waits for the call any more. It ends
// with the session, or after closeWait.
func (l *sseLink) cancelled(id jsonrpc.ID) {
	ctx, cancel := context.WithTimeout(l.life, closeWait)
	defer cancel()
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err == nil {
		_ = l.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // nobody waits for that either
	}
}

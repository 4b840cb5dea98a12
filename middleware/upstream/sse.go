package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// An sseLink is a session over the older HTTP+SSE transport, where answers come
// on a stream of their own.
type sseLink struct {
	conn   mcp.Connection
	hooks  hooks
	client *http.Client
	init   *Info
	asks   asks
	life   context.Context // ends with the session
	die    context.CancelFunc
	wg     sync.WaitGroup // the server's requests of the client
	ended  chan struct{}  // closed when nothing of the session runs any more

	mu      sync.Mutex // guards the fields below
	seq     int64
	pending map[jsonrpc.ID]chan *jsonrpc.Response
}

func dialSSE(ctx context.Context, h hooks, url string, client *http.Client) (link, error) {
	l := &sseLink{hooks: h, client: client, ended: make(chan struct{}), pending: map[jsonrpc.ID]chan *jsonrpc.Response{}}
	l.life, l.die = context.WithCancel(context.Background())
	// The stream ends with the session; only the handshake ends with ctx.
	stop := context.AfterFunc(ctx, l.die)
	defer stop()
	client.Transport = statusTripper{client.Transport}
	maxEvent := int(h.maxLineBytes)
	if maxEvent <= 0 {
		maxEvent = wire.DefaultMaxLineBytes
	}
	l.asks = asks{request: h.request, reply: l.reply, maxBytes: int64(maxEvent)}
	var err error
	if l.conn, err = (&mcp.SSEClientTransport{Endpoint: url, HTTPClient: client, MaxEventSize: maxEvent}).Connect(l.life); err != nil {
		l.die()
		client.CloseIdleConnections()
	} else {
		go l.readLoop()
		if l.init, err = initialize(ctx, l, h); err == nil {
			err = l.Notify(ctx, "notifications/initialized", nil)
		}
		if err != nil {
			l.Close()
		}
	}
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return nil, withoutURL(err)
}

// readLoop deals with what comes, until the stream ends.
func (l *sseLink) readLoop() {
	for {
		msg, err := l.conn.Read(l.life)
		if err != nil {
			break
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			l.mu.Lock()
			wait, ours := l.pending[m.ID]
			delete(l.pending, m.ID)
			l.mu.Unlock()
			if ours {
				wait <- m
			}
		case *jsonrpc.Request:
			l.requested(m)
		}
	}
	l.die()
	l.mu.Lock()
	pending := l.pending
	l.pending = nil
	l.mu.Unlock()
	for _, wait := range pending {
		close(wait)
	}
	l.wg.Wait()
	close(l.ended)
}

// requested deals with a request or notification of the server.
func (l *sseLink) requested(m *jsonrpc.Request) {
	switch {
	case m.Method == "notifications/cancelled":
		l.asks.cancelled(m.Params)
	case !m.IsCall():
		l.hooks.notified(l.hooks.life, m.Method, m.Params)
	default:
		if id, err := json.Marshal(m.ID.Raw()); err == nil {
			l.asks.begin(l.life, &l.wg, wire.Message{ID: id, Method: m.Method, Params: m.Params})
		}
	}
}

// reply sends the answer to a request of the server.
func (l *sseLink) reply(answer []byte) {
	msg, err := jsonrpc.DecodeMessage(answer)
	if err == nil {
		ctx, cancel := context.WithTimeout(l.life, replyWait)
		defer cancel()
		err = l.conn.Write(ctx, msg)
	}
	if err != nil && l.life.Err() == nil {
		l.hooks.logger.Warn("an answer to the server was not sent", "error", err)
	}
}

func (l *sseLink) Meta() map[string]json.RawMessage { return nil }
func (l *sseLink) Init() *Info                      { return l.init }
func (l *sseLink) Done() <-chan struct{}            { return l.life.Done() }
func (l *sseLink) Exit() string                     { return "" }

// Newer implements link: the transport is older than any newer revision.
func (l *sseLink) Newer(context.Context) (link, bool, error) { return nil, false, errNotNewer }

// Watch implements link.
func (l *sseLink) Watch(context.Context, string, bool) error { return errNotNewer }

func (l *sseLink) Close() {
	l.die()
	l.conn.Close()
	<-l.ended
	l.client.CloseIdleConnections()
}

func (l *sseLink) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return l.conn.Write(ctx, &jsonrpc.Request{Method: method, Params: params})
}

func (l *sseLink) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	wait := make(chan *jsonrpc.Response, 1)
	l.mu.Lock()
	if l.pending == nil {
		l.mu.Unlock()
		return nil, &notTakenError{wire.ErrClosed}
	}
	l.seq++
	id, err := jsonrpc.MakeID("rlm-" + strconv.FormatInt(l.seq, 10))
	if err != nil {
		l.mu.Unlock()
		return nil, err
	}
	l.pending[id] = wait
	l.mu.Unlock()
	if err = l.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err == nil {
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
	l.mu.Lock()
	delete(l.pending, id)
	l.mu.Unlock()
	if ctx.Err() == nil {
		if err = withoutURL(err); refusal(err) != nil {
			return nil, err
		}
		return nil, lost(err)
	}
	go l.cancelled(id)
	return nil, context.Cause(ctx)
}

// cancelled tells the server that nobody waits for the call any more. It ends
// with the session, or after closeWait.
func (l *sseLink) cancelled(id jsonrpc.ID) {
	ctx, cancel := context.WithTimeout(l.life, closeWait)
	defer cancel()
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err == nil {
		_ = l.conn.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // nobody waits for that either
	}
}

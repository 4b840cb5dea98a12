package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// An httpLink is a session over streamable HTTP. The SDK keeps the session;
// calls are requests of our own, so that results stay the server's bytes.
type httpLink struct {
	session *mcp.ClientSession
	client  *http.Client
	url     string
	hooks   hooks
	done    chan struct{}
	once    sync.Once
	seq     atomic.Int64
	mu      sync.Mutex
	why     string // how the session ended
}

func dialHTTP(ctx context.Context, h hooks, url string, client *http.Client) (link, error) {
	session, err := connectBounded(ctx, h, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client})
	if err != nil {
		return nil, err
	}
	l := &httpLink{session: session, client: client, url: url, hooks: h, done: make(chan struct{})}
	go func() {
		l.end(fmt.Sprint(session.Wait()))
	}()
	return l, nil
}

func (l *httpLink) end(why string) {
	l.once.Do(func() {
		l.mu.Lock()
		l.why = why
		l.mu.Unlock()
		close(l.done)
	})
}

func (l *httpLink) Meta() map[string]json.RawMessage { return nil }
func (l *httpLink) Init() *mcp.InitializeResult      { return l.session.InitializeResult() }
func (l *httpLink) Done() <-chan struct{}            { return l.done }

func (l *httpLink) Exit() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// closeWait bounds the DELETE that ends a session.
const closeWait = 2 * time.Second

func (l *httpLink) Close() {
	l.end("closed")
	closed := make(chan struct{})
	go func() { defer close(closed); l.session.Close() }()
	select {
	case <-closed:
	case <-time.After(closeWait):
	}
	l.client.CloseIdleConnections()
}

func (l *httpLink) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id := strconv.Quote("rlm-" + strconv.FormatInt(l.seq.Add(1), 10))
	resp, err := l.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params), method)
	var raw json.RawMessage
	if err == nil {
		raw, err = l.answer(ctx, resp, id)
		resp.Body.Close()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		l.cancelled(id)
		err = context.Cause(ctx)
	case resp == nil:
		// The server is gone; the supervisor connects again.
		l.end(err.Error())
		err = fmt.Errorf("%w: %w", wire.ErrClosed, err)
	}
	return raw, err
}

func (l *httpLink) post(ctx context.Context, body, method string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", l.Init().ProtocolVersion)
	req.Header.Set("Mcp-Method", method)
	if id := l.session.ID(); id != "" {
		req.Header.Set("Mcp-Session-Id", id)
	}
	return l.client.Do(req)
}

// Notify implements link.
func (l *httpLink) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if params == nil {
		params = json.RawMessage("{}")
	}
	resp, err := l.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params), method)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// cancelled tells the server that nobody waits for the call any more.
func (l *httpLink) cancelled(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	resp, err := l.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id), "notifications/cancelled")
	if err == nil {
		resp.Body.Close()
	}
}

// answer reads the answer to the call with this id from a response, which is
// one message or a stream of them.
func (l *httpLink) answer(ctx context.Context, resp *http.Response, id string) (json.RawMessage, error) {
	maxBytes := l.hooks.maxLineBytes
	if maxBytes <= 0 {
		maxBytes = wire.DefaultMaxLineBytes
	}
	body := wire.HoldOf(ctx).Reader(ctx, resp.Body, maxBytes)
	switch {
	case resp.StatusCode == http.StatusNotFound && l.session.ID() != "":
		// The server has forgotten the session, as after its restart.
		l.end("the server no longer knows the session")
		return nil, wire.ErrClosed
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("%w: HTTP status %s", wire.ErrBadAnswer, resp.Status)
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		events := newEventReader(body, maxBytes)
		for {
			data, err := events.next()
			if err != nil {
				return nil, fmt.Errorf("%w: the stream ended without one: %w", wire.ErrBadAnswer, err)
			}
			if raw, done, err := l.message(data, id); done {
				return raw, err
			}
		}
	}
	data, err := readCapped(body, maxBytes)
	if err != nil {
		return nil, err
	}
	raw, done, err := l.message(data, id)
	if !done {
		err = fmt.Errorf("%w: the response holds none to the call", wire.ErrBadAnswer)
	}
	return raw, err
}

// message deals with one message of a response stream and reports whether it
// is the answer.
func (l *httpLink) message(data []byte, id string) (raw json.RawMessage, done bool, err error) {
	m, err := wire.Split(data)
	switch {
	case err != nil:
		return nil, true, err
	case m.Method != "" && m.ID == nil:
		l.hooks.notified(m.Method, m.Params)
	case m.Method == "" && string(m.ID) == id:
		raw, err = wire.Answer(m)
		return raw, true, err
	}
	return nil, false, nil
}

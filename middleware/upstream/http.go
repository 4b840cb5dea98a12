package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/wire"
)

const (
	// closeWait bounds what is sent to a server that nobody waits for any more.
	closeWait = 2 * time.Second
	// replyWait bounds sending the answer to a request of the server.
	replyWait = 30 * time.Second
	// maxRefusalBytes is how much is read of a response that is no success.
	maxRefusalBytes = 64 << 10
)

// An httpLink is a session over streamable HTTP: each call is a POST, whose
// response is the answer or a stream that ends with it. What belongs to no call
// comes on a stream of its own.
type httpLink struct {
	client  *http.Client
	url     string
	hooks   hooks
	asks    asks
	headers *paramHeaders
	feeds   feeds
	seq     atomic.Int64

	// Set by the handshake.
	session string // of the Mcp-Session-Id header; empty: none
	version string // of the Mcp-Protocol-Version header; empty: none yet
	init    *Info
	meta    map[string]json.RawMessage // nil before NewestVersion

	life   context.Context // ends with the session, its cause says why
	die    context.CancelCauseFunc
	closed atomic.Bool
	tasks  tasks // listeners, and what tells of calls that have ended
}

// A notTakenError reports a call that the server has surely not begun: it may be
// repeated.
type notTakenError struct{ err error }

func (e *notTakenError) Error() string { return e.err.Error() }
func (e *notTakenError) Unwrap() error { return e.err }

var (
	errForgotten = errors.New("the server no longer knows the session")
	errClosing   = errors.New("the proxy is closing")
)

func (l *httpLink) Meta() map[string]json.RawMessage { return l.meta }
func (l *httpLink) Init() *Info                      { return l.init }
func (l *httpLink) Done() <-chan struct{}            { return l.life.Done() }

// Exit implements link.
func (l *httpLink) Exit() string {
	if err := context.Cause(l.life); err != nil {
		return err.Error()
	}
	return ""
}

// Close ends the session. If it has ended by itself, calls that still run may
// come to their end: a server that takes no new calls may finish the old ones.
func (l *httpLink) Close() {
	alive := l.life.Err() == nil
	l.die(errClosing)
	l.closed.Store(true)
	if alive && l.session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.url, nil); err == nil {
			if resp, err := l.do(req); err == nil {
				resp.Body.Close()
			}
		}
		cancel()
	}
	l.tasks.end()
	if l.hooks.life.Err() != nil { // or calls may go on, and what is asked by them
		l.asks.tasks.end()
	}
	l.client.CloseIdleConnections()
}

// spawn runs f in a goroutine that Close waits for, or if that has been called
// at once.
func (l *httpLink) spawn(f func()) {
	if !l.tasks.Go(f) {
		f()
	}
}

// Call implements link. The server is told of a call that ends with ctx.
func (l *httpLink) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id := strconv.Quote("rlm-" + strconv.FormatInt(l.seq.Add(1), 10))
	call, end := context.WithCancel(ctx)
	stop := context.AfterFunc(l.hooks.life, end)
	sent := new(atomic.Bool)
	raw, err := l.exchange(call, sent, id, method, params)
	stop()
	end()
	switch {
	case err == nil:
		if method == "tools/list" {
			l.headers.learn(raw)
		}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		if sent.Load() && l.meta == nil && method != "initialize" {
			l.spawn(func() { l.cancelled(id) })
		}
	case l.hooks.life.Err() != nil:
		err = lost(errClosing)
	}
	if l.closed.Load() {
		l.client.CloseIdleConnections()
	}
	return raw, err
}

// exchange sends a request and reads the answer. It notes in sent when the
// server may have seen something of it.
func (l *httpLink) exchange(ctx context.Context, sent *atomic.Bool, id, method string, params json.RawMessage) (json.RawMessage, error) {
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	resp, err := l.post(traced, wire.Request(id, method, params), method, params)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case !sent.Load():
		// The supervisor connects again, or finds out that nobody can.
		l.die(err)
		return nil, &notTakenError{err}
	default:
		return nil, lost(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, l.refused(resp, id)
	}
	if method == "initialize" {
		l.session = resp.Header.Get("Mcp-Session-Id")
	}
	return l.answer(ctx, resp, id)
}

// lost says that a call's answer will not come.
func lost(err error) error { return fmt.Errorf("%w: %w", wire.ErrClosed, err) }

// post sends a message; method is empty for an answer.
func (l *httpLink) post(ctx context.Context, body []byte, method string, params json.RawMessage) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if l.meta != nil && method != "" {
		l.headers.set(req.Header, method, params)
	}
	return l.do(req)
}

// do sends a request with the headers of the session. Its errors do not repeat
// the URL, which may hold a secret.
func (l *httpLink) do(req *http.Request) (*http.Response, error) {
	if l.version != "" {
		req.Header.Set("Mcp-Protocol-Version", l.version)
	}
	if l.session != "" {
		req.Header.Set("Mcp-Session-Id", l.session)
	}
	resp, err := l.client.Do(req)
	return resp, withoutURL(err)
}

// tell sends a message that has no answer.
func (l *httpLink) tell(ctx context.Context, body []byte, method string, params json.RawMessage) error {
	resp, err := l.post(ctx, body, method, params)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return l.refused(resp, "")
	}
	if !isStream(resp) {
		_, _ = io.CopyN(io.Discard, resp.Body, maxRefusalBytes) // so that the connection can be used again
	}
	return nil
}

// Notify implements link.
func (l *httpLink) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if params == nil {
		params = json.RawMessage("{}")
	}
	return l.tell(ctx, wire.Request("", method, params), method, params)
}

// cancelled tells the server that nobody waits for the call any more. From
// 2026-07-28 on it sees that by the end of the response.
func (l *httpLink) cancelled(id string) {
	ctx, cancel := context.WithTimeout(l.hooks.life, closeWait)
	defer cancel()
	if err := l.Notify(ctx, "notifications/cancelled", wire.Cancelled(id)); err != nil {
		l.hooks.logger.Debug("notifications/cancelled", "error", err)
	}
}

// reply sends the answer to a request of the server.
func (l *httpLink) reply(answer []byte) {
	ctx, cancel := context.WithTimeout(l.hooks.life, replyWait)
	defer cancel()
	if err := l.tell(ctx, answer, "", nil); err != nil {
		l.hooks.logger.Warn("an answer to the server was not sent", "error", err)
	}
}

// refused says what a response that is no success means for the request of this
// id. It ends the session if the server has forgotten it.
func (l *httpLink) refused(resp *http.Response, id string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes))
	var rpc *jsonrpc.Error
	var said error
	m, err := wire.Split(body)
	if err == nil && m.Error != nil && (m.ID == nil || string(m.ID) == "null" || string(m.ID) == id) {
		_, said = wire.Answer(m)
		errors.As(said, &rpc)
	}
	status := newStatusError(resp)
	// Many servers answer 400 instead of 404 when they miss a session.
	missed := resp.StatusCode == http.StatusBadRequest && string(m.ID) != id && rpc != nil && strings.Contains(strings.ToLower(rpc.Message), "session")
	switch {
	case l.session != "" && (missed || resp.StatusCode == http.StatusNotFound):
		l.die(errForgotten)
		return &notTakenError{errForgotten}
	case rpc != nil && (string(m.ID) == id || !status.final()) && resp.StatusCode != http.StatusUnauthorized:
		return said
	}
	return status
}

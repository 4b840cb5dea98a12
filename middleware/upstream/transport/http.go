package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/rpc"
)

// ListenMethod is a request of the stateless revision that hears of what belongs to no
// other request. It is answered when that ends.
const ListenMethod = "subscriptions/listen"

// maxRefusalBytes is how much is read of a response that is no success.
const maxRefusalBytes = 64 << 10

// HTTP is a connection over streamable HTTP: each request is a POST, whose response is
// the answer or a stream that ends with it. What belongs to no request comes on a
// stream of its own, see [HTTP.Listen].
type HTTP struct {
	*rpc.Peer
	opts    Options
	client  *http.Client
	url     string
	headers *paramHeaders
	tasks   Tasks // what is sent and nobody waits for

	// Set by the handshake, before anything else is sent.
	session   string // of the Mcp-Session-Id header; empty: none
	version   string // of the Mcp-Protocol-Version header; empty: none yet
	stateless bool

	life context.Context // ends with the session, its cause says why
	die  context.CancelCauseFunc
}

var _ rpc.Transport = (*HTTP)(nil)

// NewHTTP returns a connection with the server at url. Nothing has been sent yet.
func NewHTTP(url string, client *http.Client, opts Options) *HTTP {
	h := &HTTP{opts: opts, client: client, url: url, headers: new(paramHeaders)}
	h.life, h.die = context.WithCancelCause(context.Background())
	h.Peer = rpc.NewPeer(h, opts.Options)
	return h
}

// Another returns a connection with the same server, with what is known of its tools.
func (h *HTTP) Another(opts Options) *HTTP {
	other := NewHTTP(h.url, h.client, opts)
	other.headers = h.headers
	return other
}

// Speak sets the revision of the protocol that requests name from now on, and whether
// it is one without sessions.
func (h *HTTP) Speak(version string, stateless bool) { h.version, h.stateless = version, stateless }

// HasSession reports whether the server has named a session: one that has not can tell
// nothing that belongs to no request, before the stateless revision.
func (h *HTTP) HasSession() bool { return h.session != "" }

// Done is closed when the session has ended.
func (h *HTTP) Done() <-chan struct{} { return h.life.Done() }

// Exit says how the session ended, if it has.
func (h *HTTP) Exit() string {
	if err := context.Cause(h.life); err != nil {
		return err.Error()
	}
	return ""
}

// Close ends the session. Unless Options.Life has ended as well, calls that still run
// may come to their end: a server that takes no new calls may finish the old ones.
func (h *HTTP) Close() {
	alive := h.life.Err() == nil
	h.die(ErrClosing)
	if alive && h.session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), tryWait)
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.url, nil); err == nil {
			if resp, err := h.do(req); err == nil {
				resp.Body.Close()
			}
		}
		cancel()
	}
	if h.opts.Life.Err() != nil {
		h.Peer.Close()
	}
	h.tasks.Wait()
	h.client.CloseIdleConnections()
}

// Send implements [rpc.Transport].
func (h *HTTP) Send(ctx context.Context, m rpc.Message) error {
	switch {
	case m.Method == "":
		return reply(ctx, h.opts.Life, h.opts.Logger, func(ctx context.Context) error { return h.tell(ctx, m) })
	case m.ID == nil:
		return h.tell(ctx, m)
	}
	call, end := context.WithCancel(ctx)
	defer end() // with what the server has asked by it
	defer context.AfterFunc(h.opts.Life, end)()
	err := h.exchange(call, m)
	if h.life.Err() != nil {
		h.client.CloseIdleConnections()
	}
	if err != nil && ctx.Err() == nil && h.opts.Life.Err() != nil {
		return lost(ErrClosing)
	}
	return err
}

// Try implements [rpc.Transport].
func (h *HTTP) Try(_ context.Context, m rpc.Message) {
	if h.stateless && m.Method == "notifications/cancelled" {
		return // the server sees that by the end of the response
	}
	h.tasks.try(h.opts.Life, func(ctx context.Context) error { return h.tell(ctx, m) })
}

// exchange sends a request and reads the response until the answer is there.
func (h *HTTP) exchange(ctx context.Context, m rpc.Message) error {
	var sent atomic.Bool // the server may have seen something of it
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	resp, err := h.post(traced, m)
	var signIn *SignInError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return err
	case errors.As(err, &signIn):
		if signIn.Call {
			return err
		}
		h.die(err)
		return &NotTakenError{err}
	case !sent.Load():
		if m.Method != ListenMethod { // which tries again by itself
			h.die(err) // whoever connects again finds out whether anybody can
		}
		return &NotTakenError{err}
	default:
		return lost(err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return h.refused(ctx, resp, m.ID)
	}
	if m.Method == "initialize" {
		h.session = resp.Header.Get("Mcp-Session-Id")
	}
	return h.answer(ctx, resp, m)
}

// tell sends a message that has no answer.
func (h *HTTP) tell(ctx context.Context, m rpc.Message) error {
	if m.Method != "" && m.Params == nil {
		m.Params = json.RawMessage("{}")
	}
	resp, err := h.post(ctx, m)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return h.refused(ctx, resp, nil)
	}
	if !isStream(resp) {
		discardRest(resp)
	}
	return nil
}

func (h *HTTP) post(ctx context.Context, m rpc.Message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(m.Bytes()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if h.stateless && m.Method != "" {
		h.headers.set(req.Header, m.Method, m.Params)
	}
	return h.do(req)
}

// get opens a stream that goes on behind the event lastID, or a new one.
func (h *HTTP) get(ctx context.Context, lastID string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	return h.do(req)
}

// do sends a request with the headers of the session. Its errors do not repeat
// the URL, which may hold a secret.
func (h *HTTP) do(req *http.Request) (*http.Response, error) {
	if h.version != "" {
		req.Header.Set("Mcp-Protocol-Version", h.version)
	}
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
	}
	resp, err := h.client.Do(req)
	return resp, withoutURL(err)
}

// refused says what a response that is no success means for the request of this id, nil
// for what is none. An error of JSON-RPC is the answer to it. The session ends if the
// server has forgotten it.
func (h *HTTP) refused(ctx context.Context, resp *http.Response, id json.RawMessage) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes))
	m, err := rpc.Parse(body)
	own := err == nil && id != nil && string(m.ID) == string(id)
	var said *jsonrpc.Error
	if err != nil || m.Error == nil || !own && !isNull(m.ID) || json.Unmarshal(m.Error, &said) != nil {
		said = nil
	}
	status := newStatusError(resp)
	// Many servers answer 400 instead of 404 when they miss a session.
	missed := resp.StatusCode == http.StatusBadRequest && !own && said != nil && strings.Contains(strings.ToLower(said.Message), "session")
	switch {
	case h.session != "" && (missed || resp.StatusCode == http.StatusNotFound):
		h.die(ErrForgotten)
		return &NotTakenError{ErrForgotten}
	case id == nil, said == nil, !own && status.Final(), resp.StatusCode == http.StatusUnauthorized:
		return status
	}
	m.ID = id
	return h.Receive(ctx, m)
}

// isNull reports whether a response has no id, or null: it is to whatever was sent.
func isNull(id json.RawMessage) bool { return id == nil || string(id) == "null" }

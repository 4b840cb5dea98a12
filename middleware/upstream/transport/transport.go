// Package transport moves messages between a server and a peer of ours: over the
// standard streams of its process, within our own process, over streamable HTTP, and
// over the older HTTP with server-sent events.
//
//	rpc.Peer ─► Send ─► Stdio, HTTP or SSE ─► the server
//	rpc.Peer ◄─ Receive ◄───────┘
//
// Each connection is a peer and what it is over. None shakes hands: package upstream
// does. Sizes are bytes.
package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

// Options configures a connection. All but Fault is required, Junk included.
type Options struct {
	rpc.ConnOptions // MaxBytes caps one message
	// Life ends all that runs, calls with it, and may outlast the connection.
	Life   context.Context
	Logger *slog.Logger
}

// replyWait bounds sending the answer to a request of the server.
const replyWait = 30 * time.Second

var (
	// ErrForgotten reports a session that the server no longer knows.
	ErrForgotten = errors.New("the server no longer knows the session")
	// ErrClosing reports what ends with Options.Life.
	ErrClosing = errors.New("the proxy is closing")
)

// A NotTakenError reports a call that the server has surely not begun: it may be
// repeated.
type NotTakenError struct{ err error }

func (e *NotTakenError) Error() string { return e.err.Error() }
func (e *NotTakenError) Unwrap() error { return e.err }

// junk tells of what the server sent that is no message.
func (o Options) junk(data []byte, err error) { o.Junk(data[:min(len(data), 200)], err) }

// lost says that a call's answer will not come.
func lost(err error) error { return fmt.Errorf("%w: %w", rpc.ErrClosed, err) }

// withoutURL is err without the URL of its request, which may hold a secret.
func withoutURL(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// discardRest reads the rest of a short body, so that its connection can be used again.
func discardRest(resp *http.Response) { _, _ = io.CopyN(io.Discard, resp.Body, maxFieldBytes) }

// receive hands a message to p. A request that is one too many is refused.
func receive(ctx context.Context, p *rpc.Peer, t rpc.Transport, m rpc.Message) {
	err := p.Receive(ctx, m)
	var busy *guard.BusyError
	if errors.As(err, &busy) {
		t.Try(ctx, rpc.Refused(m.ID, err))
	}
}

// eachMessage calls f for a message, or for each of a batch, of revision 2025-03-26 and
// before.
func eachMessage(data []byte, f func(data []byte) error) error {
	if len(data) == 0 || data[0] != '[' {
		return f(data)
	}
	return jsonscan.Elements(data, func(m json.RawMessage) error { return f(m) })
}

// reply sends the answer to a request of the server, whether the call that it asked for
// goes on or not.
func reply(ctx, life context.Context, logger *slog.Logger, send func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyWait)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	err := send(ctx)
	if err != nil && life.Err() == nil {
		logger.Warn("an answer to the server was not sent", "error", err)
	}
	return err
}

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware"
	"rlmproxy/middleware/wire"
)

// A link is the connection of one client as the middleware and the SDK see it:
// messages come from POST requests, and each answer goes to the stream of the
// request that it answers.
type link struct {
	session    string // "": it is there for one request
	standalone *stream
	replay     *replay
	log        *slog.Logger
	resumeTime time.Duration // see [Options]
	splices    wire.Splices
	incoming   chan jsonrpc.Message // for the SDK
	done       chan struct{}        // closed by Close

	mu      sync.Mutex // guards the fields below
	seq     int64      // of streams and of our own calls
	streams map[string]*stream
	owed    map[jsonrpc.ID]*stream       // unanswered requests of the client
	never   map[jsonrpc.ID]bool          // those of them that get no answer: they are cancelled
	asked   map[string]chan wire.Message // our own calls by id, as written; capacity 1
	closed  bool

	handshake json.RawMessage // params of initialize, or nil
}

var (
	_ middleware.Link              = (*link)(nil)
	_ mcp.Connection               = (*link)(nil)
	_ mcp.ProtocolVersionSupporter = (*link)(nil)
)

// newLink returns the link of a session, or with an empty id of one request.
func (h *Handler) newLink(session string) *link {
	l := &link{
		session:    session,
		replay:     h.replay,
		log:        h.log,
		resumeTime: h.opts.ResumeTime,
		incoming:   make(chan jsonrpc.Message),
		done:       make(chan struct{}),
		streams:    map[string]*stream{},
		owed:       map[jsonrpc.ID]*stream{},
		never:      map[jsonrpc.ID]bool{},
		asked:      map[string]chan wire.Message{},
	}
	l.standalone = newStream(l)
	l.standalone.id, l.standalone.listens = "0", true
	l.streams["0"] = l.standalone
	return l
}

// Connect implements [mcp.Transport]: the connection is already there.
func (l *link) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SessionID implements [mcp.Connection].
func (l *link) SessionID() string { return l.session }

// SupportsProtocolVersion implements [mcp.ProtocolVersionSupporter]. Revision
// 2026-07-28 has no sessions.
func (l *link) SupportsProtocolVersion(version string) bool {
	return version < stateless || l.session == ""
}

// Handshake implements [middleware.Link].
func (l *link) Handshake() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handshake
}

// Splices implements [middleware.Link].
func (l *link) Splices() *wire.Splices { return &l.splices }

// maxOpen bounds a session's requests that are not answered yet, and its streams.
const maxOpen = 1024

// admit registers the stream of what one POST is owed, and gives it its id.
// Its reader is about to come.
func (l *link) admit(s *stream) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return wire.ErrClosed
	}
	if len(l.owed)+len(s.owed) > maxOpen {
		return errTooMany
	}
	for i, id := range s.owed {
		if l.owed[id] != nil {
			return fmt.Errorf("a request of the id %v waits for its answer", id.Raw())
		}
		if slices.Contains(s.owed[:i], id) {
			return fmt.Errorf("the id %v stands twice", id.Raw())
		}
	}
	l.seq++
	s.id, s.awaits = strconv.FormatInt(l.seq, 10), true
	l.streams[s.id] = s
	for _, id := range s.owed {
		l.owed[id] = s
	}
	return nil
}

var errTooMany = fmt.Errorf("more than %d requests wait for their answers", maxOpen)

// push hands a message to the SDK.
func (l *link) push(msg jsonrpc.Message) {
	select {
	case l.incoming <- msg:
	case <-l.done:
	}
}

// unanswer notes that the request which notifications/cancelled names gets no
// answer, as the protocol wants it, and reports whether the SDK may hear of it:
// initialize cannot be cancelled.
func (l *link) unanswer(params json.RawMessage) bool {
	id, err := wire.CancelledID(params)
	if err != nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.owed[id]
	if s != nil && s.begins {
		return false
	}
	if s != nil {
		l.never[id] = true
	}
	return true
}

// cancel ends the requests of a stream that nobody will read any more.
func (l *link) cancel(s *stream) {
	l.mu.Lock()
	var left []jsonrpc.ID
	for _, id := range s.owed {
		if l.owed[id] == s {
			left = append(left, id)
		}
	}
	l.mu.Unlock()
	for _, id := range left {
		params, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": "the client has gone"})
		if err == nil {
			l.push(&jsonrpc.Request{Method: "notifications/cancelled", Params: params})
		}
	}
}

// find returns the stream of an event's id and the index of the event there.
func (l *link) find(event string) (*stream, int) {
	name, index, ok := strings.Cut(event, "_")
	n, err := strconv.Atoi(index)
	if !ok || err != nil || n < 0 {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[name], n
}

// owes reports whether a request of the client waits for its answer.
func (l *link) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.owed) > 0
}

func (l *link) drop(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s != l.standalone {
		delete(l.streams, s.id)
	}
}

// Read implements [mcp.Connection].
func (l *link) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.incoming:
		return msg, nil
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection]: an answer, or what the SDK tells of itself.
// It never blocks, and fails only for what cannot be encoded: an error would make
// the SDK end the session.
func (l *link) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		b, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		l.listener().push(&event{body: b})
		return nil
	}
	l.mu.Lock()
	s, never := l.owed[resp.ID], l.never[resp.ID]
	delete(l.owed, resp.ID)
	delete(l.never, resp.ID)
	l.mu.Unlock()
	head, body, tail, err := l.splices.Encode(resp)
	switch {
	case s == nil:
	case never:
		s.excuse()
	case err != nil:
		return err
	default:
		s.push(&event{head: head, body: body, tail: tail, answer: true, status: status(resp.Error)})
	}
	return nil
}

// listener is the stream for what no request is about.
func (l *link) listener() *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if s.listens && s != l.standalone {
			return s
		}
	}
	return l.standalone
}

// about is the stream of the request that ctx is of, or that of what no request
// is about.
func (l *link) about(ctx context.Context) *stream {
	l.mu.Lock()
	s := l.streams[middleware.Origin(ctx)]
	l.mu.Unlock()
	if s != nil && s.unanswered() {
		return s
	}
	return l.listener()
}

// Notify implements [middleware.Link]. It does not block.
func (l *link) Notify(ctx context.Context, method string, params json.RawMessage) error {
	l.about(ctx).push(&event{body: message("", method, params)})
	return nil
}

// TryNotify implements [middleware.Link].
func (l *link) TryNotify(ctx context.Context, method string, params json.RawMessage) {
	_ = l.Notify(ctx, method, params)
}

// Call implements [middleware.Link].
func (l *link) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	s := l.about(ctx)
	switch {
	case l.session == "":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "clients of revision " + stateless + " are asked by results that require input"}
	case !s.reaches():
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client has no stream open on which it could be asked"}
	}
	answer := make(chan wire.Message, 1)
	l.mu.Lock()
	l.seq++
	id := `"rlm-` + strconv.FormatInt(l.seq, 10) + `"`
	l.asked[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.asked, id)
		l.mu.Unlock()
	}()
	s.push(&event{asks: true, body: message(id, method, params)})
	select {
	case m := <-answer:
		return wire.Answer(m)
	case <-l.done:
		return nil, wire.ErrClosed
	case <-ctx.Done():
		s.push(&event{body: message("", "notifications/cancelled", wire.Cancelled(id))})
		return nil, context.Cause(ctx)
	}
}

// answered hands the answer of the client to the call that waits for it. Others
// came too late.
func (l *link) answered(m wire.Message) {
	l.mu.Lock()
	wait := l.asked[string(m.ID)]
	delete(l.asked, string(m.ID))
	l.mu.Unlock()
	if wait != nil {
		wait <- m
	}
}

// Close implements [mcp.Connection]: it cancels what runs and ends the streams.
func (l *link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	return nil
}

// message is [wire.Request] without the end of its line: an event has its own.
func message(id, method string, params json.RawMessage) []byte {
	return bytes.TrimSuffix(wire.Request(id, method, params), []byte{'\n'})
}

// status is how HTTP says what an answer says, for revision 2026-07-28.
func status(err error) int {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return 200
	}
	switch e.Code {
	case jsonrpc.CodeMethodNotFound:
		return 404
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return 400
	}
	return 200
}

// Package wire frames JSON-RPC messages over byte streams and keeps results
// raw on the way through.
//
//	upstream's line → Split → Call's result → RawResult → client's line
//
// A [Conn] serves the SDK as its connection and, beside it, our own calls. Towards
// clients the SDK does the handshake and pings; towards servers nothing passes
// through it. Its decoder, which would reorder keys and round numbers, never sees
// tool calls and their results.
// Sizes are bytes of the line.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// MaxHandshakeBytes caps the params of initialize that are kept.
const MaxHandshakeBytes = 64 << 10

// DefaultMaxLineBytes caps a message when [Options] does not.
const DefaultMaxLineBytes = 64 << 20

// ErrBadAnswer reports an answer that is none: a fault of the peer.
var ErrBadAnswer = rpc.ErrBadAnswer

// ErrClosed reports a call on a connection that has ended, or that ended before
// its answer came.
var ErrClosed = rpc.ErrClosed

// Options configures a [Conn]. The zero value is ready to use.
type Options struct {
	// MaxLineBytes caps a message. Zero means [DefaultMaxLineBytes].
	MaxLineBytes int64
	// Junk receives lines that are no message, such as banners, cut to 200
	// bytes. Nil discards them. It is called from the reading goroutine.
	Junk func(line []byte, err error)
	// Fault receives panics of Handle and Notify, which cost the one message. It
	// may be called concurrently. Nil discards them.
	Fault func(err error)
	// Refuse makes the connection answer junk with a JSON-RPC error, as a
	// server must; without it, junk is only reported.
	Refuse bool
	// Forward says which of the peer's requests reach the SDK as
	// [ForwardMethod], undecoded. Nil: none.
	Forward func(method string) bool
	// Handle answers the peer's requests but pings, which the connection answers
	// itself, with a raw result or an error, of which an *[jsonrpc.Error] is sent as
	// it is. Its ctx ends with the connection, and when the peer cancels. Nil leaves
	// them to the SDK.
	Handle func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify sees each incoming notification first and reports whether it has
	// dealt with it; what it leaves goes to the SDK. It is called from the
	// reading goroutine and must not block. Nil leaves all.
	Notify func(method string, params json.RawMessage) bool
}

// ownID is how the ids of our own calls begin.
const ownID = "rlm-"

// A Conn is a JSON-RPC connection over a pair of streams, one message a line.
// It is an [mcp.Transport] for one session and that session's connection.
type Conn struct {
	opts  Options
	r     io.ReadCloser
	w     io.WriteCloser
	lines *lineReader

	splices Splices

	incoming chan jsonrpc.Message // for the SDK
	outgoing chan outgoing
	tried    atomic.Int64    // bytes in outgoing that nobody waits for
	writing  atomic.Int64    // when the line that is being written began, in ns of Unix time, or 0
	life     context.Context // ended by Close
	die      func()
	done     <-chan struct{} // of life
	readEnd  chan struct{}   // closed when the reading goroutine has ended
	settled  chan struct{}   // closed when nothing is left to answer either

	mu       sync.Mutex // guards the fields below
	seq      int64
	pending  map[string]call      // ours by id, as written
	handling map[string]*handling // requests of the peer by id, as written
	asked    map[jsonrpc.ID]fate  // those that the SDK works on
	backlog  Backlog              // of both, those that are cancelled and still run too
	ended    bool                 // reading has
	err      error                // why
	closed   bool

	handshake json.RawMessage // params of the peer's initialize, or nil
}

var (
	_ mcp.Transport  = (*Conn)(nil)
	_ mcp.Connection = (*Conn)(nil)
)

// A call waits for its answer.
type call struct {
	ctx    context.Context
	answer chan Message // capacity 1
}

// An outgoing is a line that waits to be written.
type outgoing struct {
	ctx   context.Context // not written once it has ended
	parts [][]byte
	sent  chan<- error // capacity 1
	tried int64        // bytes, of what nobody waits for
}

// NewConn starts reading messages from r and writing messages to w. Close
// closes both.
func NewConn(r io.ReadCloser, w io.WriteCloser, opts Options) *Conn {
	if opts.MaxLineBytes <= 0 {
		opts.MaxLineBytes = DefaultMaxLineBytes
	}
	c := &Conn{
		opts:     opts,
		r:        r,
		w:        w,
		lines:    newLineReader(r, opts.MaxLineBytes),
		incoming: make(chan jsonrpc.Message),
		outgoing: make(chan outgoing, maxLines),
		readEnd:  make(chan struct{}),
		settled:  make(chan struct{}),
		pending:  map[string]call{},
		handling: map[string]*handling{},
		asked:    map[jsonrpc.ID]fate{},
		backlog:  Backlog{MaxRequests: maxOpen, MaxBytes: opts.MaxLineBytes},
	}
	c.life, c.die = context.WithCancel(context.Background())
	c.done = c.life.Done()
	go c.readLoop()
	go c.writeLoop()
	return c
}

// Connect implements [mcp.Transport]: the connection is already there.
func (c *Conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection]; a stream has none.
func (c *Conn) SessionID() string { return "" }

// Splices is for the results that go out on this connection.
func (c *Conn) Splices() *Splices { return &c.splices }

// Handshake returns the params of the peer's initialize, nil before it has come.
func (c *Conn) Handshake() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handshake
}

// Done is closed when the peer has ended the stream or Close was called, and
// nothing more will be read.
func (c *Conn) Done() <-chan struct{} { return c.readEnd }

// readLoop reads until the peer ends the stream, or Close does.
func (c *Conn) readLoop() {
	for {
		line, err := c.lines.next()
		var over *OversizeError
		switch {
		case errors.As(err, &over):
			c.junk(over.Head, over)
		case err != nil:
			c.end(err)
			return
		case line[0] == '[':
			if err := c.batch(line); err != nil {
				c.junk(line, err)
			}
		default:
			if err := c.message(line); err != nil {
				c.junk(line, err)
			}
		}
		select {
		case <-c.done:
			c.end(io.EOF)
			return
		default:
		}
	}
}

// maxBadParts is how many messages of one batch may be none. Each costs an answer,
// or a line in a log.
const maxBadParts = 16

// batch routes the messages of a batch, of revision 2025-03-26 and before. What is
// wrong with one of them fails that one.
func (c *Conn) batch(line []byte) error {
	bad := 0
	return jsonscan.Elements(line, func(v json.RawMessage) error {
		err := c.message(v)
		if err == nil {
			return nil
		}
		if bad++; bad > maxBadParts {
			return fmt.Errorf("a batch of which more than %d parts are no messages: %w", maxBadParts, err)
		}
		c.junk(v, err)
		return nil
	})
}

// message routes one message: an answer to a call of ours, or else to the SDK.
func (c *Conn) message(line []byte) error {
	m, err := Split(line)
	if err != nil {
		return err
	}
	if m.Method == "" && c.deliver(m) {
		return nil
	}
	forward := false
	switch {
	case m.Method == "":
	case m.ID == nil:
		if m.Method == "notifications/cancelled" && (c.cancelled(m.Params) || !c.unanswer(m.Params)) {
			return nil
		}
		if c.opts.Notify != nil && c.notified(m) {
			return nil
		}
	case c.opts.Handle != nil && m.Method == "ping":
		// A peer that reads nothing now must not keep us from reading.
		c.trySend(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID))
		return nil
	case c.opts.Handle != nil:
		return c.handle(m)
	case c.opts.Forward != nil && c.opts.Forward(m.Method):
		forward = true
	case m.Method == "initialize" && len(m.Params) <= MaxHandshakeBytes:
		c.mu.Lock()
		c.handshake = bytes.Clone(m.Params)
		c.mu.Unlock()
	}
	var msg jsonrpc.Message
	if forward {
		msg, err = forwarded(m)
	} else {
		msg, err = jsonrpc.DecodeMessage(line)
	}
	if err != nil {
		return err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && m.ID != nil {
		if err := c.admit(m, req.ID, int64(len(line))); err != nil {
			return err
		}
	}
	select {
	case c.incoming <- msg:
	case <-c.done:
	}
	return nil
}

// maxOpen bounds the peer's requests that are not answered yet: there is a
// goroutine for each.
const maxOpen = 1024

// admit checks a request's id and counts it, of size bytes, as one that the SDK
// works on.
func (c *Conn) admit(m Message, id jsonrpc.ID, size int64) error {
	if err := CheckID(m.ID); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, twice := c.asked[id]
	if twice { // the SDK refuses that one, without an id
		size = 0
	}
	if err := c.backlog.Add(size); err != nil {
		return err
	}
	if !twice {
		c.asked[id] = fate{begins: m.Method == "initialize", listens: m.Method == "subscriptions/listen", size: size}
	}
	return nil
}

// CheckID refuses ids that the SDK would send back altered: all but strings, and
// integers that JavaScript can hold.
func CheckID(id json.RawMessage) error {
	if id[0] == '"' {
		return nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || n > 1<<53 || n < -1<<53 {
		return errors.New("the id is neither a string nor an integer within 53 bits")
	}
	return nil
}

// answered ends what admit began, once the answer is written.
func (c *Conn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backlog.Done(c.asked[id].size)
	delete(c.asked, id)
	c.settle()
}

// deliver hands an answer to the call that waits for it. An answer with one of
// our ids that nobody waits for any more came too late and is dropped.
func (c *Conn) deliver(m Message) bool {
	id := string(m.ID)
	c.mu.Lock()
	wait, ok := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if !ok {
		return strings.HasPrefix(id, `"`+ownID)
	}
	if h := HoldOf(wait.ctx); h != nil {
		// Nothing more is read until there is room for this one.
		ctx, cancel := context.WithCancel(wait.ctx)
		stop := context.AfterFunc(c.life, cancel)
		err := h.Take(ctx, int64(len(m.Result)))
		stop()
		cancel()
		switch {
		case err == nil:
		case wait.ctx.Err() == nil:
			close(wait.answer)
			return true
		default:
			return true // nobody waits
		}
	}
	wait.answer <- m
	return true
}

// lost fails the call that an unreadable message would have answered. When its
// id cannot be told from its ends, nor that it asks or tells something, and all is
// set, every call that waits fails, since one of them might wait for ever.
func (c *Conn) lost(head, tail []byte, why error, all bool) {
	if asks(head, tail) {
		return
	}
	id := guessID(head, tail)
	failed := Unreadable(why)
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, wait := range c.pending {
		if key == string(id) || all && id == nil {
			delete(c.pending, key)
			wait.answer <- failed
		}
	}
}

// Unreadable is the answer in the place of one that cannot be read.
func Unreadable(why error) Message {
	code, _ := json.Marshal(jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why.Error()}) // encodes: it has no data
	return Message{Error: code}
}

// junk deals with a line that is no message; of one over the cap, line is its
// begin.
func (c *Conn) junk(line []byte, err error) {
	err = brief{err}
	head, tail := line[:min(len(line), endBytes)], line[max(0, len(line)-endBytes):]
	var over *OversizeError
	if errors.As(err, &over) {
		tail = over.Tail
	}
	if over != nil || line[0] == '{' {
		c.lost(head, tail, err, over != nil || errors.Is(err, jsonscan.ErrTooDeep))
	}
	if c.opts.Junk != nil {
		c.opts.Junk(line[:min(len(line), 200)], err)
	}
	if !c.opts.Refuse {
		return
	}
	id := json.RawMessage("null")
	code := int64(jsonrpc.CodeParseError)
	if m, _ := Split(line); m.ID != nil {
		id, code = m.ID, jsonrpc.CodeInvalidRequest
	} else if guess := guessID(line, tail); guess != nil {
		id, code = guess, jsonrpc.CodeInvalidRequest
	}
	_ = c.send(context.Background(), refusal(id, code, err)) // fails only if the connection has ended
}

// refusal builds the answer to what is not worked on.
func refusal(id json.RawMessage, code int64, why error) []byte {
	answer, _ := json.Marshal(map[string]any{ // it encodes: id is valid JSON
		"jsonrpc": "2.0", "id": id,
		"error": jsonrpc.Error{Code: code, Message: why.Error()},
	})
	return append(answer, '\n')
}

// end records why reading ended and fails the calls that wait. Done is closed
// first: who learns of a failed call can rely on it.
func (c *Conn) end(err error) {
	c.mu.Lock()
	c.ended, c.err = true, err
	c.settle()
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	close(c.readEnd)
	for _, wait := range pending {
		close(wait.answer)
	}
}

// Read implements [mcp.Connection]: the next message for the SDK. The end comes
// when what was asked before it has been answered.
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case msg := <-c.incoming:
		return msg, nil
	case <-c.readEnd:
	case <-c.done:
		return nil, io.EOF
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.settled:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, c.err
	case <-c.done:
		return nil, io.EOF
	}
}

// Write implements [mcp.Connection]. It returns when msg has been written.
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		b, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		return c.send(ctx, append(b, '\n'))
	}
	defer c.answered(resp.ID)
	head, body, tail, err := c.splices.Encode(resp)
	if err != nil || c.unanswered(resp.ID) {
		return err
	}
	return c.send(ctx, head, oneLine(body), append(tail, '\n'))
}

// oneLine replaces line ends between tokens; strings cannot hold any.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 {
		return b
	}
	return bytes.ReplaceAll(b, []byte{'\n'}, []byte{' '})
}

// Notify sends a notification. Params may be nil.
func (c *Conn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.send(ctx, Request("", method, params))
}

// Call sends a request and returns the raw result. An error object comes back
// as a [Failure]; ErrClosed means that no answer can come any more. When
// ctx ends first, the peer is told by notifications/cancelled and the error
// wraps ctx's cause.
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	wait := make(chan Message, 1)
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.seq++
	id := `"` + ownID + strconv.FormatInt(c.seq, 10) + `"`
	c.pending[id] = call{ctx, wait}
	c.mu.Unlock()

	err := c.send(ctx, Request(id, method, params))
	if err == nil {
		select {
		case m, ok := <-wait:
			if !ok {
				return nil, ErrClosed
			}
			return Answer(m)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	if ctx.Err() != nil {
		c.trySend(Request("", "notifications/cancelled", Cancelled(id)))
	}
	return nil, err
}

// Answer returns what an answer holds: its result, or its error as a [Failure].
func Answer(m Message) (json.RawMessage, error) {
	switch {
	case m.Error != nil && m.Error[0] == '{':
		var e jsonrpc.Error
		if err := json.Unmarshal(m.Error, &e); err != nil {
			return nil, fmt.Errorf("%w: its error object: %w", ErrBadAnswer, brief{err})
		}
		return nil, &Failure{m.Error, &e}
	case m.Result == nil:
		return nil, fmt.Errorf("%w: neither result nor error", ErrBadAnswer)
	}
	return m.Result, nil
}

// Request builds a request line, or with an empty id a notification.
func Request(id, method string, params json.RawMessage) []byte {
	b := make([]byte, 0, len(params)+len(method)+64)
	b = append(b, `{"jsonrpc":"2.0",`...)
	if id != "" {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	name, _ := json.Marshal(method)
	b = append(append(b, `"method":`...), name...)
	if params != nil {
		b = append(append(b, `,"params":`...), oneLine(params)...)
	}
	return append(b, '}', '\n')
}

// send queues the parts of one line and waits until they are written.
func (c *Conn) send(ctx context.Context, parts ...[]byte) error {
	sent := make(chan error, 1)
	select {
	case c.outgoing <- outgoing{ctx, parts, sent, 0}:
	case <-c.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-sent:
		return err
	case <-c.done:
		select {
		case err := <-sent: // by which the connection has ended
			return err
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TryNotify sends a notification unless so much waits to be sent that it would
// have to wait too: then it is lost.
func (c *Conn) TryNotify(method string, params json.RawMessage) {
	if c.tried.Load() <= maxTried { // or a copy would be for nothing
		c.trySend(Request("", method, params))
	}
}

// maxLines is how many lines wait to be written: all that a client is told at once
// when it has shaken hands, and what is asked and answered meanwhile.
const maxLines = 256 + 64

// maxTried is beyond how many bytes of what nobody waits for no more is queued.
const maxTried = 4 << 20

// trySend queues a line without waiting; a peer that reads nothing loses it.
func (c *Conn) trySend(line []byte) {
	n := int64(len(line))
	if c.tried.Add(n)-n <= maxTried {
		select {
		case c.outgoing <- outgoing{context.Background(), [][]byte{line}, make(chan error, 1), n}:
			return
		default:
		}
	}
	c.tried.Add(-n)
}

// writeLoop writes whole lines, so that a caller who gives up never leaves half
// of one behind. A stream that cannot be written to ends the connection.
func (c *Conn) writeLoop() {
	w := bufio.NewWriterSize(c.w, writeBytes)
	for {
		select {
		case <-c.done:
			return
		case out := <-c.outgoing:
			c.tried.Add(-out.tried)
			err := out.ctx.Err()
			if err == nil {
				c.writing.Store(time.Now().UnixNano())
				err = writeParts(w, out.parts)
				c.writing.Store(0)
				if err != nil {
					err = fmt.Errorf("%w: %w", ErrClosed, err)
					defer c.Close()
				}
			}
			out.sent <- err
			if errors.Is(err, ErrClosed) {
				return
			}
		}
	}
}

// writeBytes is up to where a line is written at once. Each write wakes the peer.
const writeBytes = 32 << 10

// writeParts writes the parts of one line. Of a long one only the ends are copied.
func writeParts(w *bufio.Writer, parts [][]byte) error {
	for _, b := range parts {
		// The last bytes go together with what follows.
		most := max(0, len(b)-writeBytes/2)
		_, _ = w.Write(b[:most]) // Flush has the error
		_, _ = w.Write(b[most:])
	}
	return w.Flush()
}

// Close closes both streams and fails the calls that wait. It may be called
// more than once.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.die()
	c.mu.Unlock()
	return errors.Join(c.w.Close(), c.r.Close())
}

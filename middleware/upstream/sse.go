package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

// An sseLink is a session over the older HTTP+SSE transport, where answers come
// on a stream of their own, which names the URL for messages first.
type sseLink struct {
	hooks  hooks
	client *http.Client
	init   *Info
	asks   asks
	stream io.Closer
	events *eventReader
	post   string          // the URL for messages
	life   context.Context // ends with the session
	die    context.CancelFunc
	tasks  tasks         // what tells of calls that have ended
	ended  chan struct{} // closed when nothing of asks and no reader runs any more

	mu      sync.Mutex // guards the fields below
	seq     int64
	pending map[string]chan wire.Message // by id as written
}

// endpointWait is how long a stream may take to name the endpoint, which servers do
// at once: one that does not is of another transport.
const endpointWait = 5 * time.Second

// dialSSE opens the stream, which says where messages go, and shakes hands.
func dialSSE(ctx context.Context, h hooks, address string, client *http.Client) (link, error) {
	l := &sseLink{hooks: h, client: client, ended: make(chan struct{}), pending: map[string]chan wire.Message{}}
	l.asks = newAsks(h, l.reply)
	l.life, l.die = context.WithCancel(context.Background())
	// The stream ends with the session; only the handshake ends with ctx.
	stop := context.AfterFunc(ctx, l.die)
	defer stop()
	err := l.connect(address)
	if err != nil {
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
	return nil, err
}

// connect opens the stream and reads where messages go.
func (l *sseLink) connect(address string) error {
	base, err := url.Parse(address)
	if err != nil {
		return errors.New("the URL cannot be parsed") // the error would repeat it
	}
	req, err := http.NewRequestWithContext(l.life, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := l.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	if resp.StatusCode/100 != 2 {
		resp.Body.Close()
		return newStatusError(resp)
	}
	l.stream, l.events = resp.Body, newEventReader(resp.Body, l.hooks.maxLineBytes)
	late := time.AfterFunc(endpointWait, func() { resp.Body.Close() })
	ev, err := l.events.next()
	switch {
	case !late.Stop():
		err = fmt.Errorf("the stream names no endpoint within %v", endpointWait)
	case err != nil:
		err = fmt.Errorf("the stream names no endpoint: %w", err)
	case ev.name != "endpoint":
		err = fmt.Errorf("the first event is %.40q, not the endpoint", ev.name)
	default:
		var to *url.URL
		if to, err = base.Parse(string(ev.data)); err == nil {
			l.post = to.String()
			return nil
		}
		err = errors.New("the endpoint cannot be parsed")
	}
	resp.Body.Close()
	return err
}

// readLoop deals with what comes, until the stream ends.
func (l *sseLink) readLoop() {
	for {
		ev, err := l.events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			l.lost(long.head, err)
			continue
		case err != nil:
			l.finish()
			return
		case !ev.isMessage():
			continue
		}
		if ev.data = bytes.TrimSpace(ev.data); ev.data[0] != '[' {
			l.message(ev.data)
			continue
		}
		// A batch, of revision 2025-03-26.
		if err := jsonscan.Elements(ev.data, func(m json.RawMessage) error { l.message(m); return nil }); err != nil {
			l.hooks.junk.add("an event is no message", "error", err)
		}
	}
}

// finish ends what still runs when the stream has ended.
func (l *sseLink) finish() {
	l.stream.Close()
	l.die()
	l.mu.Lock()
	pending := l.pending
	l.pending = nil
	l.mu.Unlock()
	for _, wait := range pending {
		close(wait)
	}
	l.asks.tasks.end()
	close(l.ended)
}

// message deals with one message.
func (l *sseLink) message(data []byte) {
	m, err := wire.Split(data)
	switch {
	case err != nil:
		l.lost(data, err)
	case m.Method == "notifications/cancelled" && m.ID == nil:
		l.asks.cancelled(m.Params)
	case m.Method != "" && m.ID == nil:
		l.hooks.notified(l.hooks.life, m.Method, m.Params)
	case m.Method != "":
		l.asks.begin(l.life, m)
	default:
		l.deliver(string(m.ID), m)
	}
}

// deliver hands an answer to the call that waits for it, if any does.
func (l *sseLink) deliver(id string, m wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait, ok := l.pending[id]; ok {
		delete(l.pending, id)
		wait <- m
	}
}

// lost fails the call that an unreadable message would have answered, of one that
// was too long by its head. Where nobody can tell which that is, all fail, since one
// of them would wait for ever.
func (l *sseLink) lost(data []byte, why error) {
	l.hooks.junk.add("an event is no message", "error", why)
	var long *tooLongError
	id, answer := wire.Meant(data)
	if data = bytes.TrimSpace(data); !answer || len(data) == 0 || data[0] != '{' {
		return
	}
	all := id == nil && (errors.As(why, &long) || errors.Is(why, jsonscan.ErrTooDeep))
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, wait := range l.pending {
		if all || key == string(id) {
			delete(l.pending, key)
			wait <- wire.Unreadable(why)
		}
	}
}

// reply sends the answer to a request of the server.
func (l *sseLink) reply(answer []byte) {
	ctx, cancel := context.WithTimeout(l.life, replyWait)
	defer cancel()
	if err := l.send(ctx, answer); err != nil && l.life.Err() == nil {
		l.hooks.logger.Warn("an answer to the server was not sent", "error", err)
	}
}

func (l *sseLink) Meta() map[string]json.RawMessage { return nil }
func (l *sseLink) Init() *Info                      { return l.init }
func (l *sseLink) Done() <-chan struct{}            { return l.life.Done() }
func (l *sseLink) Exit() string                     { return "" }

// Newer implements link: the transport is older than any newer revision.
func (l *sseLink) Newer(context.Context) (link, error) { return nil, errNotNewer }

// Beside implements link.
func (l *sseLink) Beside() bool { return false }

// Watch implements link.
func (l *sseLink) Watch(context.Context, string, bool) error { return errNotNewer }

// Close implements link.
func (l *sseLink) Close() {
	l.die()
	l.stream.Close()
	<-l.ended
	l.tasks.end()
	l.client.CloseIdleConnections()
}

// send posts one message, which the server answers on the stream.
func (l *sseLink) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.post, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint cannot be reached") // the error would repeat its URL
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return newStatusError(resp)
	}
	if n := resp.ContentLength; n > 0 && n <= maxFieldBytes {
		_, _ = io.CopyN(io.Discard, resp.Body, n) // so that the connection can be used again
	}
	return nil
}

// Notify implements link.
func (l *sseLink) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return l.send(ctx, wire.Request("", method, params))
}

// Call implements link. The server is told of a call that ends with ctx.
func (l *sseLink) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	wait := make(chan wire.Message, 1)
	l.mu.Lock()
	if l.pending == nil {
		l.mu.Unlock()
		return nil, &notTakenError{wire.ErrClosed}
	}
	l.seq++
	id := strconv.Quote("rlm-" + strconv.FormatInt(l.seq, 10))
	l.pending[id] = wait
	l.mu.Unlock()
	err := l.send(ctx, wire.Request(id, method, params))
	if err == nil {
		select {
		case m, ok := <-wait:
			if !ok {
				return nil, wire.ErrClosed
			}
			return wire.Answer(m)
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	delete(l.pending, id)
	l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		l.tasks.Go(func() { l.cancelled(id) })
		return nil, context.Cause(ctx)
	case refusal(err) != nil:
		return nil, err
	}
	return nil, lost(err)
}

// cancelled tells the server that nobody waits for the call any more. It ends
// with the session, or after closeWait.
func (l *sseLink) cancelled(id string) {
	ctx, cancel := context.WithTimeout(l.life, closeWait)
	defer cancel()
	_ = l.Notify(ctx, "notifications/cancelled", json.RawMessage(`{"requestId":`+id+`}`)) // nobody waits for that either
}

var _ link = (*sseLink)(nil)

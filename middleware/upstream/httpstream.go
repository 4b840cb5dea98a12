package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

// isStream reports whether a response is a stream of messages rather than one.
func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// An inbound is what comes from the server on behalf of one call, or of none.
type inbound struct {
	link *httpLink
	ctx  context.Context // ends with the call

	stream  bool // more may follow
	brought bool // something has come that is more than a begin
}

// answer reads the answer to the call of this id from a response, which is one
// message or a stream of them. A stream that breaks is gone on with, if the
// server has given its events ids.
func (l *httpLink) answer(ctx context.Context, resp *http.Response, id string) (json.RawMessage, error) {
	ctx, end := context.WithCancel(ctx)
	in := &inbound{link: l, ctx: ctx}
	defer end()
	if !isStream(resp) {
		body := wire.HoldOf(ctx).Reader(ctx, resp.Body, l.hooks.maxLineBytes)
		data, err := readCapped(body, l.hooks.maxLineBytes)
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			return nil, fmt.Errorf("%w: %w", wire.ErrBadAnswer, err)
		case err != nil:
			return nil, lost(err)
		}
		raw, done, err := in.data(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), id)
		if !done {
			err = fmt.Errorf("%w: the response holds none to the call", wire.ErrBadAnswer)
		}
		return raw, err
	}
	lastID := ""
	for {
		raw, end, err := in.until(resp, lastID, id)
		if end == nil {
			return raw, err
		}
		if lastID = end.lastID; lastID == "" || !canBeSent(lastID) || l.meta != nil {
			return nil, lost(fmt.Errorf("the response ended before the answer: %w", err))
		}
		if resp, err = l.resume(ctx, lastID, end.retry); err != nil {
			return nil, lost(err)
		}
	}
}

// until reads a stream until the answer to the call of this id, or to its end;
// then it returns the reader that got there too.
func (in *inbound) until(resp *http.Response, lastID, id string) (raw json.RawMessage, end *eventReader, err error) {
	defer resp.Body.Close()
	in.stream = true
	events := in.events(resp, lastID)
	for {
		ev, err := events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			return nil, nil, fmt.Errorf("%w: %w", wire.ErrBadAnswer, err)
		case err != nil:
			return nil, events, err
		case !ev.isMessage():
			continue
		}
		if raw, done, err := in.data(ev.data, id); done {
			return raw, nil, err
		}
	}
}

// events reads a response as a stream. What is large takes its turn.
func (in *inbound) events(resp *http.Response, lastID string) *eventReader {
	r := newEventReader(resp.Body, in.link.hooks.maxLineBytes)
	r.lastID, r.id = lastID, lastID
	if h := wire.HoldOf(in.ctx); h != nil {
		r.large = func() error { return h.Take(in.ctx, in.link.hooks.maxLineBytes) }
	}
	return r
}

// data deals with one message, or a batch of them, and reports whether the
// answer to the call of this id was there.
func (in *inbound) data(data []byte, id string) (raw json.RawMessage, done bool, err error) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '[': // of revision 2025-03-26 and before
			failed := jsonscan.Elements(data, func(m json.RawMessage) error {
				if r, d, e := in.message(m, id); d && !done {
					raw, done, err = r, d, e
				}
				return nil
			})
			if failed != nil {
				return nil, true, fmt.Errorf("%w: %w", wire.ErrBadAnswer, failed)
			}
			return raw, done, err
		}
		break
	}
	return in.message(data, id)
}

// message is data for one message.
func (in *inbound) message(data []byte, id string) (raw json.RawMessage, done bool, err error) {
	m, err := wire.Split(data)
	switch {
	case err != nil && in.stream && !mayAnswer(data, id):
		in.link.hooks.junk.add("an event is no message", "error", err)
	case err != nil:
		return nil, true, fmt.Errorf("%w: %w", wire.ErrBadAnswer, err)
	case m.Method == "notifications/cancelled" && m.ID == nil:
		in.link.asks.cancelled(m.Params)
	case m.Method == acknowledged:
		in.link.feeds.acked(m.Params)
	case m.Method != "" && m.ID == nil:
		in.brought = true
		in.link.hooks.notified(in.ctx, m.Method, m.Params)
	case m.Method != "":
		in.brought = true
		in.link.asks.begin(in.ctx, m)
	case string(m.ID) == id, id != "" && m.Error != nil && (m.ID == nil || string(m.ID) == "null"):
		raw, err = wire.Answer(m)
		return raw, true, err
	}
	return nil, false, nil
}

// mayAnswer reports whether what cannot be read may be the answer to the call of
// this id. Other events are passed over, such as a word to keep a connection alive.
func mayAnswer(data []byte, id string) bool {
	data = bytes.TrimSpace(data)
	meant, answer := wire.Meant(data)
	return answer && len(data) > 0 && data[0] == '{' && (meant == nil || string(meant) == id)
}

// get opens a stream that goes on behind the event lastID, or a new one.
func (l *httpLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	return l.do(req)
}

// maxResumes is how often in a row it may fail to go on with a call's stream.
const maxResumes = 5

// resume goes on with the stream of a call (SEP-1699). Polling servers end it
// often, so only failures in a row count.
func (l *httpLink) resume(ctx context.Context, lastID string, pause time.Duration) (*http.Response, error) {
	if pause == 0 {
		pause = firstPause
	}
	for try := 1; ; try++ {
		if err := sleep(ctx, max(pause, minPause)); err != nil {
			return nil, err
		}
		resp, err := l.get(ctx, lastID)
		switch {
		case err != nil:
		case resp.StatusCode/100 == 2 && isStream(resp):
			return resp, nil
		case resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusTooManyRequests:
			defer resp.Body.Close()
			// The call was taken, so it is lost even if the session is.
			return nil, errors.New(l.refused(resp, "").Error())
		default:
			resp.Body.Close()
			err = newStatusError(resp)
		}
		if try == maxResumes || ctx.Err() != nil {
			return nil, err
		}
		pause = min(2*max(pause, firstPause), maxRetry)
	}
}

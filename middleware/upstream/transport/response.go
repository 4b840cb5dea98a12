package transport

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

// isStream reports whether a response is a stream of messages rather than one.
func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// A reading is what comes from the server on behalf of one request, or of none.
type reading struct {
	http    *HTTP
	ctx     context.Context // of what the server asks and tells by it
	request rpc.Message     // that is answered; none: what belongs to no request

	stream   bool // more may follow
	answered bool
	brought  bool // something else has come that is more than a begin
}

// answer reads a response until the answer to request has been received. A stream that
// breaks is gone on with, if the server has given its events ids.
func (h *HTTP) answer(ctx context.Context, resp *http.Response, request rpc.Message) error {
	r := &reading{http: h, ctx: ctx, request: request}
	if !isStream(resp) {
		return r.whole(resp)
	}
	r.stream = true
	lastID := ""
	for {
		events, err := r.events(resp, lastID)
		if r.answered || errors.Is(err, rpc.ErrBadAnswer) {
			return err
		}
		if lastID = events.lastID; lastID == "" || strings.ContainsFunc(lastID, unicode.IsControl) || h.stateless {
			return lost(fmt.Errorf("the response ended before the answer: %w", err))
		}
		if resp, err = h.resume(ctx, lastID, events.retry); err != nil {
			return lost(err)
		}
	}
}

// whole reads a response that is one message, or a batch. What is large takes its turn.
func (r *reading) whole(resp *http.Response) error {
	defer resp.Body.Close()
	max := r.http.opts.MaxBytes
	data, err := readCapped(guard.HoldOf(r.ctx).Reader(r.ctx, resp.Body, max), max)
	var long *tooLongError
	switch {
	case errors.As(err, &long):
		return fmt.Errorf("%w: %w", rpc.ErrBadAnswer, err)
	case err != nil:
		return lost(err)
	}
	err = eachMessage(rpc.Trim(data), r.message)
	switch {
	case err != nil && !errors.Is(err, rpc.ErrBadAnswer):
		return fmt.Errorf("%w: %w", rpc.ErrBadAnswer, err)
	case err == nil && !r.answered:
		return fmt.Errorf("%w: the response does not answer the call", rpc.ErrBadAnswer)
	}
	return err
}

// events reads a stream until the request has been answered, or to its end, which the
// error tells of. It returns the reader that got there.
func (r *reading) events(resp *http.Response, lastID string) (*eventReader, error) {
	defer resp.Body.Close()
	events := newEventReader(resp.Body, r.http.opts.MaxBytes)
	events.lastID, events.id = lastID, lastID
	if h := guard.HoldOf(r.ctx); h != nil {
		events.in.large = func() error { return h.Take(r.ctx, r.http.opts.MaxBytes) }
	}
	for !r.answered {
		ev, err := events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			err = fmt.Errorf("%w: %w", rpc.ErrBadAnswer, err)
		case err != nil:
			return events, err
		case ev.isMessage():
			err = eachMessage(rpc.Trim(ev.data), r.message)
		}
		if errors.Is(err, rpc.ErrBadAnswer) && r.request.ID != nil {
			return events, err
		} else if err != nil {
			r.http.opts.junk(ev.data, err)
		}
	}
	return events, nil
}

// message takes one message in. The error is rpc.ErrBadAnswer where that cannot be read
// and may be the answer.
func (r *reading) message(data []byte) error {
	m, err := rpc.Parse(data)
	ctx := r.ctx
	switch {
	case err != nil && (!r.stream || r.mayBeAnswer(data)):
		return fmt.Errorf("%w: %w", rpc.ErrBadAnswer, err)
	case err != nil:
		r.http.opts.junk(data, err)
		return nil
	case m.Method == "":
		if r.answered || r.request.ID == nil || string(m.ID) != string(r.request.ID) && (m.Error == nil || !isNull(m.ID)) {
			return nil // to another request, or to none
		}
		m.ID, r.answered = r.request.ID, true
	case m.Method == "ping":
		ctx = r.http.opts.Life // whether the call goes on or not, we are there
	}
	r.brought = r.brought || m.Method != ""
	receive(ctx, r.http.Peer, r.http, m)
	return nil
}

// mayBeAnswer reports whether what cannot be read may be the answer to the request.
// Other events are passed over, such as a word to keep a connection alive.
func (r *reading) mayBeAnswer(data []byte) bool {
	if r.request.ID == nil || len(data) == 0 || data[0] != '{' {
		return false
	}
	id, answer := rpc.EndsOf(data).Answers()
	return answer && (id == nil || string(id) == string(r.request.ID))
}

// maxResumes is how often in a row it may fail to go on with a call's stream.
const maxResumes = 5

// resume goes on with the stream of a call (SEP-1699). Polling servers end it
// often, so only failures in a row count.
func (h *HTTP) resume(ctx context.Context, lastID string, asked time.Duration) (*http.Response, error) {
	for try := 0; ; try++ {
		if try > 0 {
			asked = 0
		}
		if err := Sleep(ctx, Pause(try, asked)); err != nil {
			return nil, err
		}
		resp, err := h.get(ctx, lastID)
		switch {
		case err != nil:
		case resp.StatusCode/100 == 2 && isStream(resp):
			return resp, nil
		case resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusTooManyRequests:
			defer resp.Body.Close()
			// The call was taken, so it is lost even if the session is.
			return nil, errors.New(h.refused(ctx, resp, nil).Error())
		default:
			resp.Body.Close()
			err = newStatusError(resp)
		}
		if try+1 == maxResumes || ctx.Err() != nil {
			return nil, err
		}
	}
}

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

const (
	// bodyTime is how long a message may take to arrive.
	bodyTime = time.Minute

	// bodyWait is how long a long one waits for its share before it is refused:
	// most clients have given up by then.
	bodyWait = 2 * time.Minute

	// largeBody is from where it shares the bytes that all have. A hold counts
	// from one byte more.
	largeBody = 1<<20 + 1

	// maxBatch bounds the messages of one body: a session may have as many requests.
	maxBatch = 1024
)

// errLongBodies is why a long body is refused.
var errLongBodies = errors.New("long messages of others are being worked on")

// read reads a body, or answers why it cannot. A long one takes its share of the bytes
// that all bodies may have, until hold is released: the messages are slices of the body,
// so it is in memory until they have been answered.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, hold *guard.Hold) ([]byte, bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // tests have connections without
	length := h.opts.MaxBodyBytes
	in := http.MaxBytesReader(w, r.Body, length)
	if r.ContentLength >= 0 {
		length = min(length, r.ContentLength)
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(length, largeBody)) + bytes.MinRead) // or it is copied as it grows
	}
	_, err := b.ReadFrom(io.LimitReader(in, largeBody))
	if err == nil && b.Len() == largeBody {
		wait, end := context.WithTimeoutCause(r.Context(), bodyWait, errLongBodies)
		err = hold.Take(wait, length)
		end()
		_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // it may have waited
		if err == nil && r.ContentLength > largeBody {
			b.Grow(int(length) - b.Len() + bytes.MinRead)
		}
		if err == nil {
			_, err = b.ReadFrom(in)
		}
	}
	if err == nil { // else what is left of it is read, in what is left of its time
		_ = rc.SetReadDeadline(time.Time{})
	}
	if body := b.Bytes(); err == nil && len(body) > 0 {
		// Its length may have been unknown before. Keep does not wait: who gave all
		// back and took a turn again would stand behind all others, each with its body.
		hold.Keep(int64(len(body)))
		return body, true
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		fail(w, http.StatusRequestEntityTooLarge, nil, codeInvalidRequest, fmt.Sprintf("a message of more than %d bytes", over.Limit))
	case errors.Is(err, errLongBodies):
		w.Header().Set("Retry-After", "60")
		fail(w, http.StatusServiceUnavailable, nil, codeInvalidRequest, err.Error())
	case err != nil:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the body could not be read")
	default:
		fail(w, http.StatusBadRequest, nil, codeParse, "the body is empty")
	}
	return nil, false
}

// parse slices the messages out of a body: one, or those of a batch.
func parse(body []byte) (msgs []rpc.Message, batch bool, err error) {
	add := func(b json.RawMessage) error {
		m, err := rpc.Parse(b)
		switch {
		case err != nil:
			return err
		case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
			return rpc.ErrNotMessage
		case len(msgs) == maxBatch:
			return fmt.Errorf("more than %d messages", maxBatch)
		}
		msgs = append(msgs, m)
		return nil
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) > 0 && body[0] == '[' {
		err = jsonscan.Elements(body, add)
		return msgs, true, err
	}
	err = add(body)
	return msgs, false, err
}

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
	"rlmproxy/middleware/wire"
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
)

// errLongBodies is why a long body is refused.
var errLongBodies = errors.New("long messages of others are being worked on")

// read reads a body. What is long takes its share of the bytes that all bodies
// may have. It has that until it was answered: what is made of it is in memory for
// as long, in the SDK's record of the request too, so nothing is gained by giving
// the share back when the request was sent on.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, hold *wire.Hold) ([]byte, bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // tests have connections without
	length := h.opts.MaxBodyBytes
	in := http.MaxBytesReader(w, r.Body, length)
	if r.ContentLength >= 0 {
		length = min(length, r.ContentLength)
	}
	var b bytes.Buffer
	held := hold.Reader(r.Context(), in, length)
	_, err := b.ReadFrom(io.LimitReader(held, largeBody))
	if err == nil && b.Len() == largeBody {
		wait, end := context.WithTimeoutCause(r.Context(), bodyWait, errLongBodies)
		err = hold.Take(wait, length)
		end()
		_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // it may have waited
		if err == nil && r.ContentLength > largeBody {
			b.Grow(int(length) - b.Len() + bytes.MinRead) // or it is copied as it grows
		}
		if err == nil {
			_, err = b.ReadFrom(held)
		}
	}
	if err == nil { // else what is left of it is read, in what is left of its time
		_ = rc.SetReadDeadline(time.Time{})
	}
	if body := b.Bytes(); err == nil && len(body) > 0 {
		// It has turned out how long it is. Whoever gave all back and waited for
		// another turn would stand behind all others, each with its body.
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

// split slices the messages out of a body.
func split(body []byte) (msgs []wire.Message, batch bool, err error) {
	at := 0
	for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\n' || body[at] == '\r') {
		at++
	}
	add := func(b json.RawMessage) error {
		m, err := wire.Split(b)
		if err == nil && m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
			err = errors.New("neither a request nor an answer")
		}
		if err == nil && len(msgs) == maxOpen {
			err = errTooMany
		}
		msgs = append(msgs, m)
		return err
	}
	if body = body[at:]; len(body) > 0 && body[0] == '[' {
		err = jsonscan.Elements(body, add)
		return msgs, true, err
	}
	err = add(body)
	return msgs, false, err
}

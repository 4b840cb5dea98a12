package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

// A response is what goes out on one HTTP request: one message, or events.
type response struct {
	w             http.ResponseWriter
	rc            *http.ResponseController
	prefersEvents bool // the client would rather have events
	begun         bool // as one or the other
}

func newResponse(w http.ResponseWriter, prefersEvents bool) *response {
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	return &response{w: w, rc: http.NewResponseController(w), prefersEvents: prefersEvents}
}

const comment = ": \n\n"

// begin makes it a response of events, if it is not one yet. It returns what comes
// first.
func (out *response) begin() []byte {
	if out.begun {
		return nil
	}
	out.begun = true
	h := out.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	out.w.WriteHeader(http.StatusOK)
	return []byte(comment) // some proxies hold headers back until there is data
}

// comment sends what clients skip.
func (out *response) comment() error {
	out.begin()
	return out.write([]byte(comment))
}

// prime sends the id by which a stream can be resumed, and how long to wait before that
// if the connection breaks (SEP-1699).
func (out *response) prime(stream string, retry time.Duration) error {
	return out.back(eventID(stream, 0), retry)
}

// back sends the id that a client comes back with, and when.
func (out *response) back(event string, wait time.Duration) error {
	text := "id: " + event + "\nretry: " + strconv.FormatInt(wait.Milliseconds(), 10) + "\ndata: \n\n"
	return out.write(append(out.begin(), text...))
}

// event sends one event. Without an id there is none.
func (out *response) event(id string, m *rpc.Message) error {
	first, body, tail := m.Parts()
	head := out.begin()
	if id != "" {
		head = append(append(append(head, "id: "...), id...), '\n')
	}
	head = append(append(head, "data: "...), first...)
	return out.write(head, rpc.OneLine(body), append(tail, "\n\n"...))
}

// whole sends an answer as all that there is.
func (out *response) whole(m *rpc.Message, status int) error {
	head, body, tail := m.Parts()
	out.begun = true
	h := out.w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(head)+len(body)+len(tail)))
	out.w.WriteHeader(status)
	return out.write(head, body, tail)
}

const (
	// writeBytes have writeTime to go out: a client that reads nothing must not
	// keep what it was sent in memory.
	writeBytes = 256 << 10
	writeTime  = 30 * time.Second
)

// write sends parts and sees that they have gone.
func (out *response) write(parts ...[]byte) error {
	room := 0 // what may still be written until then
	for _, b := range parts {
		for len(b) > 0 {
			if room == 0 {
				_ = out.rc.SetWriteDeadline(time.Now().Add(writeTime)) // tests have writers without
				room = writeBytes
			}
			n := min(len(b), room)
			if _, err := out.w.Write(b[:n]); err != nil {
				return err
			}
			b, room = b[n:], room-n
		}
	}
	return out.rc.Flush()
}

// refuse answers a request that [Session.Receive] did not take.
func (out *response) refuse(id json.RawMessage, why error) {
	status := http.StatusBadRequest
	var busy *guard.BusyError
	switch {
	case errors.As(why, &busy):
		status = http.StatusServiceUnavailable
	case errors.Is(why, rpc.ErrClosed):
		status = http.StatusNotFound
	}
	failRaw(out.w, status, rpc.Refused(id, why))
}

// fail answers with a JSON-RPC error. A nil id is of a request that could not be read.
func fail(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	failRaw(w, status, rpc.Message{ID: id, Error: rpc.ErrorObject(&jsonrpc.Error{Code: code, Message: text})})
}

func failRaw(w http.ResponseWriter, status int, m rpc.Message) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(m.Bytes())
}

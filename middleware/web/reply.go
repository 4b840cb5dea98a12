package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A reply is what goes out on one HTTP request: one message, or events.
type reply struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	streams bool // the client would rather have events
	begun   bool // as events
}

func newReply(w http.ResponseWriter) *reply {
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	return &reply{w: w, rc: http.NewResponseController(w)}
}

// begin makes it a reply of events and sends the headers.
func (p *reply) begin() error {
	if p.begun {
		return nil
	}
	p.begun = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	p.w.WriteHeader(http.StatusOK)
	return p.comment() // some proxies hold headers back until there is data
}

// comment sends what clients skip.
func (p *reply) comment() error { return p.write([]byte(": \n\n")) }

// prime sends the id by which a stream can be resumed, and how long to wait
// before that if it breaks (SEP-1699).
func (p *reply) prime(stream string, retry time.Duration) error {
	if err := p.begin(); err != nil {
		return err
	}
	return p.write(fmt.Appendf(nil, "id: %s_0\nretry: %d\ndata: \n\n", stream, retry.Milliseconds()))
}

// event sends one event. An id says how many events of the stream the client
// has; without a stream there is none.
func (p *reply) event(stream string, n int, e *event) error {
	if err := p.begin(); err != nil {
		return err
	}
	var head []byte
	if stream != "" {
		head = append(append(append(head, "id: "...), stream...), '_')
		head = append(strconv.AppendInt(head, int64(n), 10), '\n')
	}
	head = append(head, "data: "...)
	return p.write(append(head, e.head...), oneLine(e.body), append(e.tail[:len(e.tail):len(e.tail)], '\n', '\n'))
}

// whole sends an answer as all that there is. With statuses, HTTP says what it
// says.
func (p *reply) whole(e *event, statuses bool) error {
	h := p.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(e.size()))
	if statuses && e.status != 0 {
		p.w.WriteHeader(e.status)
	}
	return p.write(e.head, e.body, e.tail)
}

// lost says why there is no reply, if there is none yet.
func (p *reply) lost(status int, why string) {
	if !p.begun {
		fail(p.w, status, nil, codeNoSession, why)
	}
}

const (
	// writeBytes have writeTime to go out: a client that reads nothing must not
	// keep what it was sent in memory.
	writeBytes = 256 << 10
	writeTime  = 30 * time.Second
)

// write sends parts and sees that they have gone.
func (p *reply) write(parts ...[]byte) error {
	for _, b := range parts {
		for len(b) > 0 {
			n := min(len(b), writeBytes)
			_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // tests have writers without
			if _, err := p.w.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return p.rc.Flush()
}

// oneLine replaces line ends between tokens, which would end an event's line;
// strings cannot hold any.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	out := bytes.Clone(b)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}

// fail answers with a JSON-RPC error. A nil id is of a request that could not be
// read.
func fail(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, jsonrpc.Error{Code: code, Message: text}})
	if err != nil { // never
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

package wire

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
)

// A fate is what becomes of a request that the SDK works on. It answers cancelled
// ones with an error; the protocol wants no answer to them (2025-06-18,
// basic/utilities/cancellation), so that one is left out.
type fate struct {
	begins     bool // initialize, which cannot be cancelled
	listens    bool // subscriptions/listen, whose end is that of the stream
	unanswered bool
	size       int64 // bytes, as the backlog counts it
}

// unanswer notes that the request which notifications/cancelled names gets no
// answer, and reports whether the SDK may hear of it.
func (c *Conn) unanswer(params json.RawMessage) bool {
	id, err := CancelledID(params)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.asked[id]
	if ok && !f.begins {
		f.unanswered = true
		c.asked[id] = f
	}
	return !f.begins
}

// unanswered reports whether a request gets no answer.
func (c *Conn) unanswered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[id].unanswered
}

// Cancelled is the params of notifications/cancelled for the request of this id, as
// written.
func Cancelled(id string) json.RawMessage {
	return json.RawMessage(`{"requestId":` + id + `,"reason":"the call was cancelled or ran out of time"}`)
}

// CancelledID is the id of the request that notifications/cancelled names.
func CancelledID(params json.RawMessage) (jsonrpc.ID, error) {
	if id := jsonscan.Member(params, "requestId"); id != nil {
		return ParseID(id)
	}
	return jsonrpc.ID{}, errors.New("no requestId")
}

// ParseID is an id as the SDK holds it.
func ParseID(raw json.RawMessage) (jsonrpc.ID, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return jsonrpc.ID{}, err
	}
	return jsonrpc.MakeID(v)
}

package rpc

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/pipeline/show"
)

var (
	// ErrClosed reports a call on a connection that has ended, or that ended before
	// the answer came.
	ErrClosed = errors.New("connection closed")

	// ErrNotSent reports a call on a connection that had ended before: the other side
	// has seen nothing of it. It wraps ErrClosed.
	ErrNotSent = fmt.Errorf("%w before the request was sent", ErrClosed)

	// ErrBadAnswer reports an answer that breaks the protocol: a fault of the other
	// side.
	ErrBadAnswer = errors.New("malformed answer")

	// ErrNotMessage reports JSON that is neither a request nor an answer.
	ErrNotMessage = errors.New("neither a request nor an answer")

	// ErrIDInUse reports a request whose id another one has that is not answered yet.
	// Nothing can be said of it to the other side: that would be taken for the other
	// one's answer.
	ErrIDInUse = errors.New("a request with this id still waits for its answer")
)

// A Failure is an error object as the other side sent it. It wraps what it says, a
// *[jsonrpc.Error].
type Failure struct {
	Raw json.RawMessage
	err *jsonrpc.Error
}

func (f *Failure) Error() string { return clip(f.err.Error()) }
func (f *Failure) Unwrap() error { return f.err }

// Refused returns the response that tells the other side why [Peer.Receive] did not
// take its request, or what it sent that is no message. The id is null where none is
// known.
func Refused(id json.RawMessage, why error) Message {
	code := int64(jsonrpc.CodeInvalidRequest)
	if id == nil && !errors.Is(why, ErrNotMessage) {
		code = jsonrpc.CodeParseError
	}
	if id == nil || checkID(id) != nil {
		id = json.RawMessage("null")
	}
	return Message{ID: id, Error: ErrorObject(&jsonrpc.Error{Code: code, Message: clip(why.Error())})}
}

// ErrorObject is what a response says of err: a [Failure] as it came, any other
// *[jsonrpc.Error] encoded, and everything else as an internal error.
func ErrorObject(err error) json.RawMessage {
	var f *Failure
	if errors.As(err, &f) {
		return f.Raw
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: clip(err.Error())}
	}
	body, err := json.Marshal(e)
	if err != nil { // its data is not JSON
		body, _ = json.Marshal(&jsonrpc.Error{Code: e.Code, Message: e.Message})
	}
	return body
}

// maxErrorBytes is how much of an error's text stands in logs and answers.
const maxErrorBytes = 1000

func clip(text string) string { return show.ClipBytes(text, maxErrorBytes) }

// A brief error says no more than maxErrorBytes: those of encoding/json repeat
// numbers, which may be as long as a message.
type brief struct{ error }

func (b brief) Error() string { return clip(b.error.Error()) }
func (b brief) Unwrap() error { return b.error }

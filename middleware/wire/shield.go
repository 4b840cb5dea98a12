package wire

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/rpc"
)

// shielded stands for [jsonrpc.CodeMethodNotFound] on the way through the SDK,
// which would put a message of its own, about the method [ForwardMethod], in the
// place of the server's. It is outside of what JSON-RPC and servers use.
const shielded = -3_260_132_601

// A Failure is an error object as the peer sent it. It wraps what it says, a
// *[jsonrpc.Error].
type Failure struct {
	Raw json.RawMessage
	err *jsonrpc.Error
}

// failureOf is the failure in err, of this package's or of [rpc], or nil.
func failureOf(err error) *Failure {
	var f *Failure
	var other *rpc.Failure
	var said *jsonrpc.Error
	if !errors.As(err, &f) && errors.As(err, &other) && errors.As(err, &said) {
		f = &Failure{other.Raw, said}
	}
	return f
}

// maxErrorBytes is how much of an error's text stands in logs and answers.
const maxErrorBytes = 1000

func (f *Failure) Error() string { return cut(f.err.Error()) }

func cut(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
}

// A brief error says no more than maxErrorBytes: those of encoding/json repeat
// numbers, which may be as long as a message.
type brief struct{ error }

func (b brief) Error() string { return cut(b.error.Error()) }
func (b brief) Unwrap() error { return b.error }

func (f *Failure) Unwrap() error { return f.err }

// Shield prepares an error for the way through the SDK, until [Splices.Encode]. The
// bytes of a [Failure] wait in s meanwhile, if that is not nil.
func Shield(err error, s *Splices) error {
	if f := failureOf(err); s != nil && f != nil {
		err = &jsonrpc.Error{Code: f.err.Code, Message: f.err.Message, Data: s.ticket(f.Raw)}
	}
	return recoded(err, jsonrpc.CodeMethodNotFound, shielded)
}

// redeemError returns the error object that the error of a response stands for,
// and forgets it, or false if it stands for itself.
func (s *Splices) redeemError(err error) ([]byte, bool) {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return nil, false
	}
	return s.redeem(e.Data)
}

// unshield returns the error of a response as Shield was given it.
func unshield(err error) error {
	if err != nil && err.Error() == beforeSession {
		return errBeforeSession
	}
	return recoded(err, shielded, jsonrpc.CodeMethodNotFound)
}

// beforeSession is what the SDK says of a request that came before initialize, by
// a name that its client does not know.
const beforeSession = `method "` + ForwardMethod + `" is invalid during session initialization`

var errBeforeSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a session begins with initialize, and a request of 2026-07-28 says in _meta that it is one"}

func recoded(err error, from, to int64) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != from {
		return err
	}
	copied := *e
	copied.Code = to
	return &copied
}

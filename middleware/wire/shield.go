package wire

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// shielded stands for [jsonrpc.CodeMethodNotFound] on the way through the SDK,
// which would put a message of its own, about the method [ForwardMethod], in the
// place of the server's. It is outside of what JSON-RPC and servers use.
const shielded = -3_260_132_601

// Shield prepares an error for the way through the SDK, until Unshield.
func Shield(err error) error { return recoded(err, jsonrpc.CodeMethodNotFound, shielded) }

// Unshield returns the error of a response as Shield was given it.
func Unshield(err error) error { return recoded(err, shielded, jsonrpc.CodeMethodNotFound) }

func recoded(err error, from, to int64) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != from {
		return err
	}
	copied := *e
	copied.Code = to
	return &copied
}

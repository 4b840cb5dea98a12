package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/cache"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// The codes of errors that only this package gives; the others are
// [pipeline.Error]'s.
const (
	codeUnknownID   = "unknown_cache_id"
	codeExpiredID   = "expired_cache_id"
	codeEvictedID   = "evicted_cache_id"
	codeUnknownTool = "unknown_tool"
	codeUnavailable = "upstream_unavailable"
	codeTimeout     = "upstream_timeout"
	codeInternal    = "internal"
)

// errTimeout is the cause of a context that ended a call for taking too long.
var errTimeout = errors.New("timeout")

// errConnecting is why a server has not listed its tools.
var errConnecting = errors.New("it is still connecting")

// failure turns an error into what the agent reads. Only an upstream's own
// JSON-RPC error stays one.
func (s *Server) failure(tool string, err error) (json.RawMessage, error) {
	var rpc *jsonrpc.Error
	var repairable *pipeline.Error
	var gone *cache.GoneError
	var down *upstream.UnavailableError
	e := &pipeline.Error{Err: err}
	switch {
	case errors.As(err, &rpc) && !errors.As(err, &down): // what a server said of its handshake is no answer
		return nil, err
	case errors.As(err, &repairable):
		e = repairable
	case errors.As(err, &gone):
		e.Code, e.Text = codeExpiredID, fmt.Sprintf("cache_id %s has expired: it was not read for a while", gone.ID)
		if gone.Reason == cache.Evicted {
			e.Code, e.Text = codeEvictedID, fmt.Sprintf("cache_id %s was evicted to make room for newer results", gone.ID)
		}
		e.Hint = "call " + again(gone.Origin) + " to get it back"
	case errors.Is(err, cache.ErrUnknown):
		e.Code, e.Text = codeUnknownID, "no result of yours has this cache_id"
		e.Hint = "copy the cache_id from a reply's first line, or call the tool again"
	case errors.Is(err, errTimeout):
		e.Code, e.Text = codeTimeout, fmt.Sprintf("%s did not answer in time: %v", tool, err)
		e.Hint = "ask for less, or have the operator raise the server's \"timeout\""
	case errors.As(err, &down):
		e.Code, e.Text = codeUnavailable, down.Error()
		e.Hint = "it is restarted by itself; try again"
		switch {
		case errors.Is(err, errCrowded):
			e.Hint = `try again in a minute, or have the operator raise the server's "maxProcesses"`
		case errors.Is(err, errConnecting):
			e.Hint = "try again in a moment, or use other tools"
		case down.Lost:
			e.Hint = "it is being restarted; check what the call did before you repeat it"
		}
		if hint := down.Hint(); hint != "" {
			e.Hint = hint
		}
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Text = pipeline.LimitTime, "the time limit passed before the call was done"
		e.Hint = "narrow first, with fields, jq or offset and limit"
	case errors.Is(err, context.Canceled):
		return nil, err // the client is gone, or wants no answer
	default:
		sum := sha256.Sum256([]byte(err.Error()))
		ref := hex.EncodeToString(sum[:4])
		s.logger.Error("internal error", "ref", ref, "tool", tool, "error", err)
		e.Code, e.Text = codeInternal, "internal error (ref "+ref+"); the proxy's log has it in full"
	}
	return reply{
		text:    []byte(describe(e)),
		key:     metaError,
		facts:   map[string]string{"code": e.Code},
		isError: true,
	}.encode()
}

// protocolError turns an error of a request that is no tools/call into what its
// client reads.
func protocolError(err error) error {
	var rpc *jsonrpc.Error
	var down *upstream.UnavailableError
	switch {
	case errors.As(err, &down):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeUnavailable + ": " + show.ClipBytes(down.Error(), 500)}
	case err == nil, errors.As(err, &rpc), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errTimeout):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeTimeout + ": " + err.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeInternal + ": " + show.ClipBytes(err.Error(), 500)}
}

// clipped is what an error may repeat of a request.
func clipped(s string) string { return show.ClipBytes(s, 80) }

// describe writes an error as an agent reads it, no part of it unbounded.
func describe(e *pipeline.Error) string {
	text := e.Code + ": " + show.ClipBytes(e.Text, 1500)
	if e.Hint != "" {
		text += "\nhint: " + show.ClipBytes(e.Hint, 1500)
	}
	return text
}

// again is the call that a gone result came from, ready to send.
func again(o cache.Origin) string {
	switch {
	case o.Tool == "":
		return "the tool again"
	case len(o.Arguments) == 0:
		return o.Tool + " with the same arguments"
	}
	return o.Tool + " " + string(o.Arguments)
}

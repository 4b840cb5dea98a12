package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/fleet"
	"rlmproxy/middleware/forward"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/isolation"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// The codes of errors that only this package gives. Those about a document are in
// pipeline/doc/errors.go, about jq in pipeline/jq/jq.go, about a cache_id in
// shape/cacheerrors.go; docs/errors.md lists all, and a test holds it to them.
const (
	codeUnknownTool = "unknown_tool"
	codeHeldBack    = "held_back"
	codeUnavailable = "upstream_unavailable"
	codeTimeout     = "upstream_timeout"
	codeInternal    = "internal"
	codeTooBusy     = "too_busy"
	codeRateLimited = "rate_limited"
)

// errConnecting is why a server has not listed its tools.
var errConnecting = errors.New("it is still connecting")

// failure turns an error into what the agent reads. Only an upstream's own
// JSON-RPC error stays one.
func (s *Server) failure(ctx context.Context, tool string, err error) (json.RawMessage, error) {
	observe.Of(ctx).Failed(err)
	e, ok := s.explain(tool, err)
	if !ok {
		return nil, err
	}
	return shape.Error(e), nil
}

// explain is explained, and logs what the agent is not told.
func (s *Server) explain(tool string, err error) (e *pipeline.Error, ok bool) {
	e, ok = explained(tool, err)
	if ok && e.Code == codeInternal {
		s.logger.Error("internal error", "ref", reference(err), "tool", tool, "error", err)
	}
	return e, ok
}

// reference is what the log has of an internal error, and the agent reads.
func reference(err error) string {
	sum := sha256.Sum256([]byte(err.Error()))
	return hex.EncodeToString(sum[:4])
}

// explained is an error as an agent can repair it. It reports false for one that stays
// as it is: a server's own JSON-RPC error, or that nobody waits.
func explained(tool string, err error) (e *pipeline.Error, ok bool) {
	var rpc *jsonrpc.Error
	var repairable *pipeline.Error
	var down *upstream.UnavailableError
	var busy *guard.BusyError
	var rate *guard.RateError
	var lost *lostError
	var away *fleet.AwayError
	var long *forward.TooLongError
	e = &pipeline.Error{Err: err}
	acted := mayHaveActed(err)
	switch {
	case errors.As(err, &rpc) && !errors.As(err, &down): // what a server said of its handshake is no answer
		return nil, false
	case errors.As(err, &repairable):
		e = repairable
	case errors.As(err, &away):
		e = shape.StoreAway(away)
		if acted != "" {
			e.Hint = ""
		}
	case errors.As(err, &busy):
		e.Code, e.Text, e.Hint = codeTooBusy, busy.Text, "try again when some have ended"
	case errors.As(err, &rate):
		e.Code, e.Text, e.Hint = codeRateLimited, rate.Text, fmt.Sprintf("try again in %v", rate.Wait)
	case errors.As(err, &lost):
		e.Code, e.Text, e.Hint = codeUnavailable, lost.Error(), "call the tool again"
		if acted != "" {
			e.Hint = ""
		}
	case errors.As(err, &long):
		e.Code, e.Text, e.Hint = pipeline.BadArguments, long.Error(), "send less at once"
	case errors.Is(err, relay.ErrTimeout):
		var called *calledError
		if errors.As(err, &called) {
			tool = called.tool // and not the tool of ours that called it
		}
		e.Code, e.Text = codeTimeout, fmt.Sprintf("%s did not answer in time: %v", tool, err)
		e.Hint = "ask for less, or have the operator raise the server's \"timeout\""
		if acted != "" {
			e.Hint = "the operator can raise the server's \"timeout\""
		}
	case errors.As(err, &down):
		e.Code, e.Text = codeUnavailable, shown(err, down.Error())
		e.Hint = "the proxy restarts it; try again"
		switch {
		case errors.Is(err, isolation.ErrCrowded):
			e.Hint = `try again in a minute, or have the operator raise the server's "maxProcesses"`
		case errors.Is(err, errConnecting):
			e.Hint = "try again in a moment, or use other tools"
		case down.Lost:
			e.Hint = "it is being restarted; try again in a moment"
			if acted != "" {
				e.Hint = "it is being restarted"
			}
		}
		if hint := down.Hint(); hint != "" {
			e.Hint = hint
		}
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Text = pipeline.LimitTime, "the time limit passed before the call was done"
		e.Hint = "narrow first, with fields, jq or offset and limit"
		if acted != "" {
			e.Hint = ""
		}
	case errors.Is(err, context.Canceled):
		return nil, false // the client is gone, or wants no answer
	default:
		e.Code, e.Text = codeInternal, "internal error (ref "+reference(err)+"); the proxy's log has the details"
	}
	if acted != "" {
		e = warned(e, acted)
	}
	return e, true
}

// protocolError turns an error of a request that is no tools/call into what its
// client reads.
func protocolError(err error) error {
	var rpc *jsonrpc.Error
	var down *upstream.UnavailableError
	var busy *guard.BusyError
	var rate *guard.RateError
	var lost *lostError
	var away *fleet.AwayError
	var long *forward.TooLongError
	switch {
	case errors.As(err, &away):
		e := shape.StoreAway(away)
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Code + ": " + e.Text + "; " + e.Hint}
	case errors.As(err, &busy), errors.As(err, &rate):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case errors.As(err, &down):
		text := show.ClipBytes(shown(err, down.Error()), 500)
		if hint := down.Hint(); hint != "" {
			text += "; " + hint
		}
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeUnavailable + ": " + text}
	case errors.As(err, &lost):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeUnavailable + ": " + lost.Error()}
	case errors.As(err, &long):
		return session.InvalidParams("%v", long)
	case err == nil, errors.As(err, &rpc), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, relay.ErrTimeout):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeTimeout + ": " + err.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: codeInternal + ": " + show.ClipBytes(frame.OneLine(err.Error()), 500)}
}

// clipped is what an error may repeat of a request.
func clipped(s string) string { return show.ClipBytes(s, 80) }

// codeOf is the code of an error, see [observe.Call].
func codeOf(tool string, err error) string {
	if e, ok := explained(tool, err); ok {
		return e.Code
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return strconv.FormatInt(wire.Code, 10)
	}
	return codeInternal
}

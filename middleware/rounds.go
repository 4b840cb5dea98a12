package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
)

// A server of revision 2026-07-28 answers input_required where it wants to know
// something, and is sent the request once more with the answers (SEP-2322).
// Clients of older revisions are asked one after the other meanwhile.

const (
	// maxRounds bounds how often a server may ask on, maxQuestions what it may ask
	// at once, and maxIdleRounds how often it may ask for nothing but another try.
	maxRounds     = 16
	maxQuestions  = 32
	maxIdleRounds = 4
	// idlePause is the first pause before another try; it doubles.
	idlePause = 200 * time.Millisecond
)

// rounds calls until the answer is one that clients of older revisions know. What
// the server wants to know it asks the client of ctx, which [Server.begin] made.
func (s *Server) rounds(ctx context.Context, up *Upstream, conn conn, r upstream.Request) (json.RawMessage, error) {
	params := r.Params
	idle := 0
	for range maxRounds {
		raw, err := conn.Call(ctx, r)
		if err != nil {
			return nil, err
		}
		// A server that was being started says what it speaks by now.
		if info := conn.Info(); info == nil || info.ProtocolVersion < upstream.NewestVersion {
			return raw, nil
		}
		asked, state, ok := inputRequired(raw)
		if !ok {
			return raw, nil
		}
		var answers []byte
		if len(asked) == 0 { // it is busy, and has given its state away
			if idle++; idle >= maxIdleRounds {
				return nil, badRound("server %q asks for another try again and again", up.Name)
			}
			select {
			case <-time.After(idlePause << (idle - 1)):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		} else if answers, err = s.answers(ctx, up, asked); err != nil {
			return nil, err
		}
		if r.Params, err = nextRound(params, answers, state); err != nil {
			return nil, err
		}
	}
	return nil, badRound("server %q has asked for input %d times", up.Name, maxRounds)
}

func badRound(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}

// An input is one thing that a server wants to know.
type input struct {
	key    string
	method string
	params json.RawMessage // nil: none
}

// wantsInput reports whether a result is none yet: the server wants to know
// something first.
func wantsInput(raw json.RawMessage) bool { return stringOf(raw, "resultType") == inputType }

const inputType = "input_required"

// inputRequired reports whether a result is none yet, and what it asks.
func inputRequired(raw json.RawMessage) (asked []input, state json.RawMessage, ok bool) {
	if !wantsInput(raw) {
		return nil, nil, false
	}
	_ = jsonscan.Members(jsonscan.Member(raw, "inputRequests"), func(key string, one json.RawMessage) error {
		if len(asked) <= maxQuestions { // one more is too many in any case
			asked = append(asked, input{key, stringOf(one, "method"), jsonscan.Member(one, "params")})
		}
		return nil
	})
	return asked, jsonscan.Member(raw, "requestState"), true
}

// answers asks the client and returns what the next round says, an object.
func (s *Server) answers(ctx context.Context, up *Upstream, asked []input) ([]byte, error) {
	if len(asked) > maxQuestions {
		return nil, badRound("server %q asks for more than %d inputs at once", up.Name, maxQuestions)
	}
	out := []byte{'{'}
	for _, one := range asked {
		if one.method == "" {
			return nil, badRound("server %q asks for an input that is no request", up.Name)
		}
		answer, err := s.ask(ctx, up, "", one.method, one.params)
		if err != nil {
			return nil, fmt.Errorf("the server asks for %s: %w", clipped(one.method), err)
		}
		out = jsonscan.AppendMember(out, one.key, answer)
	}
	return append(out, '}'), nil
}

// nextRound is a request with the answers and the state of the round before.
func nextRound(params json.RawMessage, answers []byte, state json.RawMessage) (json.RawMessage, error) {
	if len(params) == 0 || params[0] != '{' { // null
		params = json.RawMessage("{}")
	}
	out, err := jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "inputResponses" || key == "requestState" {
			return nil
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	if answers != nil {
		out = jsonscan.AppendMember(out, "inputResponses", answers)
	}
	if state != nil {
		out = jsonscan.AppendMember(out, "requestState", state)
	}
	return append(out, '}'), nil
}

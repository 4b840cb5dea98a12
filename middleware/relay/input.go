package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
)

// A server of revision 2026-07-28 answers input_required where it wants to know
// something, and is sent the request once more with the answers (SEP-2322). Clients of
// older revisions are asked one after the other meanwhile.

const (
	// maxRounds bounds how often a server may ask on, maxInputs what it may ask at once,
	// and maxEmptyRounds how often it may ask for nothing but another try.
	maxRounds      = 16
	maxInputs      = 32
	maxEmptyRounds = 4
	// emptyPause is the first pause before another try; it doubles.
	emptyPause = 200 * time.Millisecond
)

// callWithInput calls until the answer is one that clients of older revisions know. What
// the server wants to know it asks the client of ctx, which begin made.
func (c *Connection) callWithInput(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
	params := r.Params
	empty := 0
	for range maxRounds {
		raw, err := c.Call(ctx, r)
		if err != nil {
			return nil, err
		}
		// A server that was being started says what it speaks by now.
		if info := c.Info(); info == nil || info.ProtocolVersion < revision.Stateless || !WantsInput(raw) {
			return raw, nil
		}
		inputs, state := readInputs(raw)
		var answers []byte
		if len(inputs) == 0 { // it is busy, and has given its state away
			if empty++; empty >= maxEmptyRounds {
				return nil, c.badInput("keeps asking for another try")
			}
			select {
			case <-time.After(emptyPause << (empty - 1)):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		} else if answers, err = c.answers(ctx, inputs); err != nil {
			return nil, err
		}
		if r.Params, err = withAnswers(params, answers, state); err != nil {
			return nil, err
		}
	}
	return nil, c.badInput("has asked for input %d times", maxRounds)
}

func (c *Connection) badInput(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("server %q ", c.server.name) + fmt.Sprintf(format, args...)}
}

// WantsInput reports whether a result is none yet: the server wants to know something
// first.
func WantsInput(raw json.RawMessage) bool {
	return jsonscan.StringMember(raw, "resultType") == "input_required"
}

// An input is one thing that a server wants to know.
type input struct {
	name   string
	method string
	params json.RawMessage // nil: none
}

// readInputs returns what a result of type input_required asks.
func readInputs(raw json.RawMessage) (inputs []input, state json.RawMessage) {
	_ = jsonscan.Members(jsonscan.Member(raw, "inputRequests"), func(name string, one json.RawMessage) error {
		if len(inputs) <= maxInputs { // one more is too many in any case
			inputs = append(inputs, input{name, jsonscan.StringMember(one, "method"), jsonscan.Member(one, "params")})
		}
		return nil
	})
	return inputs, jsonscan.Member(raw, "requestState")
}

// answers asks the client and returns its answers by name, an object.
func (c *Connection) answers(ctx context.Context, inputs []input) ([]byte, error) {
	if len(inputs) > maxInputs {
		return nil, c.badInput("asks for more than %d inputs at once", maxInputs)
	}
	return answersOf(inputs, func(one input) (json.RawMessage, error) {
		if one.method == "" {
			return nil, c.badInput("asks for an input that is not a request")
		}
		answer, err := c.Ask(ctx, one.method, one.params)
		if err != nil {
			return nil, fmt.Errorf("the server asks for %s: %w", show.ClipBytes(one.method, 80), err)
		}
		return answer, nil
	})
}

// answersOf are the answers to inputs by name, an object.
func answersOf(inputs []input, ask func(one input) (json.RawMessage, error)) ([]byte, error) {
	out := []byte{'{'}
	for _, one := range inputs {
		answer, err := ask(one)
		if err != nil {
			return nil, err
		}
		out = jsonscan.AppendMember(out, one.name, answer)
	}
	return append(out, '}'), nil
}

// withAnswers is a request with the answers and the state of the round before.
func withAnswers(params json.RawMessage, answers []byte, state json.RawMessage) (json.RawMessage, error) {
	if len(params) == 0 || params[0] != '{' {
		params = json.RawMessage("{}")
	}
	out, err := jsonscan.Rewrite(params, func(name string, value json.RawMessage) json.RawMessage {
		if name == "inputResponses" || name == "requestState" {
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

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
)

// ForwardMethod is what requests are called on their way through the SDK that it
// must not decode: it checks the session and the revision, runs and cancels them,
// and hands on their params as they are. Register it with
// [mcp.AddReceivingCustomMethod] for [Forwarded].
const ForwardMethod = "rlmproxy/forward"

// Forwarded is the params of [ForwardMethod]: a request as the client sent it.
type Forwarded struct {
	mcp.ParamsBase
	Method string
	Params json.RawMessage // nil: none
	Origin string          // what the transport needs to know it by, or ""
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Forwarded) UnmarshalJSON(b []byte) error {
	return jsonscan.Members(b, func(key string, value json.RawMessage) error {
		switch key {
		case "method":
			return json.Unmarshal(value, &f.Method)
		case "origin":
			return json.Unmarshal(value, &f.Origin)
		case "params":
			// Not copied: requests may be long, and nobody changes them.
			f.Params = value
		}
		return nil
	})
}

// Forward returns the params of [ForwardMethod] for a request. Its _meta stands
// there once more, where the SDK looks for the revision.
func Forward(method string, params json.RawMessage, origin string) (json.RawMessage, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	out := jsonscan.AppendMember(append(make([]byte, 0, len(params)+256), '{'), "method", name)
	if origin != "" {
		if name, err = json.Marshal(origin); err != nil {
			return nil, err
		}
		out = jsonscan.AppendMember(out, "origin", name)
	}
	if params != nil {
		out = jsonscan.AppendMember(out, "params", params)
	}
	if len(params) > 0 && params[0] == '{' {
		err = jsonscan.Members(params, func(key string, value json.RawMessage) error {
			if key == "_meta" {
				out = jsonscan.AppendMember(out, "_meta", value)
			}
			return nil
		})
	}
	return append(out, '}'), err
}

// forwarded is a request as the SDK gets it, without a copy of the whole line.
func forwarded(m Message) (*jsonrpc.Request, error) {
	id, err := ParseID(m.ID)
	if err != nil || !id.IsValid() {
		return nil, errors.New("the id is neither a string nor a number")
	}
	params, err := Forward(m.Method, m.Params, "")
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{ID: id, Method: ForwardMethod, Params: params}, nil
}

// A handling is a request of the peer that opts.Handle works on.
type handling struct{ cancel context.CancelFunc }

// handle answers a request of the peer by opts.Handle, in a goroutine that ends
// with the connection.
func (c *Conn) handle(m Message) error {
	id := string(m.ID)
	size := int64(len(m.ID) + len(m.Params))
	ctx, cancel := context.WithCancel(c.life)
	h := &handling{cancel}
	c.mu.Lock()
	twice := c.handling[id] != nil
	var full error
	if !twice {
		full = c.backlog.Add(size)
	}
	if !twice && full == nil {
		c.handling[id] = h
	}
	c.mu.Unlock()
	switch {
	case twice: // the first one's answer has this id
		cancel()
		return errors.New("a request of this id waits for its answer")
	case full != nil:
		cancel()
		if !c.opts.Refuse { // or it is answered as junk
			c.trySend(refusal(m.ID, jsonrpc.CodeInternalError, full))
		}
		return full
	}
	method, params := m.Method, append(json.RawMessage(nil), m.Params...)
	go func() {
		defer cancel()
		result, err := c.handled(ctx, method, params)
		c.mu.Lock()
		if c.handling[id] == h { // not one that came after a cancelled one
			delete(c.handling, id)
		}
		c.mu.Unlock()
		if ctx.Err() == nil {
			_ = c.reply(ctx, id, result, err) // fails only if the connection has ended
		}
		c.mu.Lock()
		c.backlog.Done(size)
		c.mu.Unlock()
	}()
	return nil
}

// handled is opts.Handle, whose fault costs the one request.
func (c *Conn) handled(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, err error) {
	defer c.survive(&err)
	return c.opts.Handle(ctx, method, params)
}

// notified is opts.Notify, whose fault costs the one notification.
func (c *Conn) notified(m Message) bool {
	done, err := true, error(nil)
	func() {
		defer c.survive(&err)
		done = c.opts.Notify(m.Method, m.Params)
	}()
	return done
}

// survive turns a fault in what we call back into an error that says nothing of
// it to the peer.
func (c *Conn) survive(err *error) {
	v := recover()
	if v == nil {
		return
	}
	*err = errors.New("internal error")
	if c.opts.Fault != nil {
		c.opts.Fault(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}

// reply sends the answer to a request of the peer.
func (c *Conn) reply(ctx context.Context, id string, result json.RawMessage, err error) error {
	if err == nil {
		return c.send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":`, id), oneLine(result), []byte("}\n"))
	}
	return c.send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, oneLine(ErrorObject(err))))
}

// ErrorObject is what an answer says of err: a [Failure] as it came, and whatever is
// no *[jsonrpc.Error] as an internal error.
func ErrorObject(err error) json.RawMessage {
	if f := failureOf(err); f != nil {
		return f.Raw
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	body, err := json.Marshal(e)
	if err != nil { // its data is no JSON
		body, _ = json.Marshal(&jsonrpc.Error{Code: e.Code, Message: e.Message})
	}
	return body
}

// cancelled ends the handling of the request that notifications/cancelled names,
// and reports whether there was one.
func (c *Conn) cancelled(params json.RawMessage) bool {
	id := string(jsonscan.Member(params, "requestId"))
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.handling[id]
	if ok {
		h.cancel()
		delete(c.handling, id)
	}
	return ok
}

package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
)

// A RawResult is a result that reaches the client as the bytes that it holds.
//
// With Splice, the connection that the response goes out on puts the bytes into
// it. Without, encoding/json copies them and drops white space between tokens.
type RawResult struct {
	mcp.ResultBase

	Bytes  json.RawMessage // valid JSON, an object
	Splice *Splices        // of the connection that the response goes out on, or nil
}

// MarshalJSON returns the bytes, or a ticket that Splice exchanges for them.
// The SDK sets the result's meta only for clients of revision 2026-07-28 or
// later, which also require a resultType.
func (r *RawResult) MarshalJSON() ([]byte, error) {
	b := []byte(r.Bytes)
	if len(r.Meta) > 0 {
		var err error
		if b, err = annotate(b, r.Meta); err != nil {
			return nil, err
		}
	}
	if r.Splice == nil {
		return b, nil
	}
	return r.Splice.ticket(b), nil
}

// annotate adds to a result what revision 2026-07-28 wants and older servers do
// not send, resultType, the members of meta and how long a list may be kept, each
// where it has none yet. Values keep their bytes.
func annotate(b []byte, meta map[string]any) ([]byte, error) {
	var typed, merged, cacheable, timed, scoped bool
	var failed error
	out, err := jsonscan.Rewrite(b, func(key string, value json.RawMessage) json.RawMessage {
		switch key {
		case "resultType":
			typed = true
		case "tools", "prompts", "resources", "resourceTemplates", "contents":
			cacheable = true
		case "ttlMs":
			timed = true
		case "cacheScope":
			scoped = true
		}
		if key == "_meta" && value[0] == '{' {
			merged = true
			value, failed = withMembers(value, meta)
		}
		return value
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	if !merged {
		value, err := json.Marshal(meta)
		if err != nil {
			return nil, err
		}
		out = jsonscan.AppendMember(out, "_meta", value)
	}
	if !typed {
		out = jsonscan.AppendMember(out, "resultType", []byte(`"complete"`))
	}
	// Lists and resources say how long they hold (SEP-2549): not at all, and for
	// nobody else.
	if cacheable && !timed {
		out = jsonscan.AppendMember(out, "ttlMs", []byte("0"))
	}
	if cacheable && !scoped {
		out = jsonscan.AppendMember(out, "cacheScope", []byte(`"private"`))
	}
	return append(out, '}'), nil
}

// withMembers returns the object in b with those of meta that it lacks in front.
func withMembers(b []byte, meta map[string]any) ([]byte, error) {
	has := map[string]bool{}
	if err := jsonscan.Members(b, func(key string, _ json.RawMessage) error { has[key] = true; return nil }); err != nil {
		return nil, err
	}
	add := map[string]any{}
	for k, v := range meta {
		if !has[k] {
			add[k] = v
		}
	}
	if len(add) == 0 {
		return b, nil
	}
	out, err := json.Marshal(add)
	if err != nil || len(has) == 0 {
		return out, err
	}
	return append(append(out[:len(out)-1], ','), bytes.TrimSpace(b)[1:]...), nil
}

// Splices holds the bytes of results while the SDK encodes the responses that
// they belong to. The zero value is ready to use, by any number of goroutines.
type Splices struct {
	mu     sync.Mutex // guards the fields below
	secret string     // in every ticket, so that no peer can forge one
	seq    int64
	held   map[string][]byte
}

const ticketPrefix = `{"rlmproxy/splice":"`

// ticket stores b and returns the JSON that stands for it until redeem.
func (s *Splices) ticket(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.secret, s.held = rand.Text(), map[string][]byte{}
	}
	s.seq++
	key := ticketPrefix + s.secret + "." + strconv.FormatInt(s.seq, 36) + `"}`
	s.held[key] = b
	return []byte(key)
}

// Encode writes an answer as the SDK gives it to its connection, in three parts
// that are not copied together: body may be the bytes of a [RawResult] or of a
// [Failure], which stay as they are; head and tail are the caller's. It undoes
// [Shield] in resp. An answer that cannot be encoded becomes one that says so,
// since an error would make the SDK end the session.
func (s *Splices) Encode(resp *jsonrpc.Response) (head, body, tail []byte, err error) {
	resp.Error = unshield(resp.Error)
	member := "result"
	body, ok := s.redeem(resp.Result)
	if !ok {
		member = "error"
		body, ok = s.redeemError(resp.Error)
	}
	if ok {
		id, err := json.Marshal(resp.ID.Raw())
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":`, id, member), body, []byte{'}'}, err
	}
	if body, err = jsonrpc.EncodeMessage(resp); err != nil {
		body, err = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded"}})
	}
	return nil, body, nil, err
}

// redeem returns the bytes that a ticket stands for and forgets it, or false if
// result is none.
func (s *Splices) redeem(result []byte) ([]byte, bool) {
	if !bytes.HasPrefix(result, []byte(ticketPrefix)) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.held[string(result)]
	delete(s.held, string(result))
	return b, ok
}

package middleware

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

// maxDeclared bounds the capabilities of a server that reach clients as they are,
// in bytes.
const maxDeclared = 64 << 10

// declaring is a result of initialize or server/discover with what a single server
// declares and the SDK does not know: methods that the proxy does not know pass
// through it, so clients may use what they belong to.
func (s *Server) declaring(result mcp.Result) (mcp.Result, error) {
	if len(s.opts.Upstreams) != 1 {
		return result, nil
	}
	info := s.opts.Upstreams[0].Conn.Info()
	if info == nil || info.Declared == nil || len(info.Declared) > maxDeclared {
		return result, nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	more := false
	raw, err = jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		if key == "capabilities" && value[0] == '{' {
			value, more = withMore(value, info.Declared)
		}
		return value
	})
	if err != nil || !more {
		return result, err
	}
	return &wire.RawResult{Bytes: raw}, nil
}

// withMore returns ours with the members of theirs that it lacks, and with those
// that a capability of both has only there; more says whether there was any.
func withMore(ours, theirs json.RawMessage) (out json.RawMessage, more bool) {
	has := map[string]json.RawMessage{}
	_ = jsonscan.Members(ours, func(key string, value json.RawMessage) error {
		has[key] = value
		return nil
	})
	add := map[string]json.RawMessage{} // of a name the last counts, as wherever they are read
	_ = jsonscan.Members(theirs, func(key string, value json.RawMessage) error {
		delete(add, key)
		if own, ok := has[key]; !ok || own[0] == '{' && value[0] == '{' {
			add[key] = value
		}
		return nil
	})
	out = append(out, '{')
	_ = jsonscan.Members(ours, func(key string, value json.RawMessage) error {
		if add[key] == nil {
			out = jsonscan.AppendMember(out, key, value)
		}
		return nil
	})
	_ = jsonscan.Members(theirs, func(key string, _ json.RawMessage) error {
		value := add[key]
		if value == nil {
			return nil
		}
		delete(add, key)
		if own, ok := has[key]; ok {
			merged, inner := withMore(own, value)
			more = more || inner
			value = merged
		} else {
			more = true
		}
		out = jsonscan.AppendMember(out, key, value)
		return nil
	})
	return append(out, '}'), more
}

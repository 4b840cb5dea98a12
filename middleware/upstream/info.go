package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// An Info is what a server said of itself.
type Info struct {
	ProtocolVersion string
	ServerInfo      *mcp.Implementation
	Instructions    string
	// Capabilities are those that the SDK knows; nil: none.
	Capabilities *mcp.ServerCapabilities
	// Declared are the capabilities as the server wrote them, but for those that the
	// SDK knows and cannot read, an object or nil.
	Declared json.RawMessage
}

// readInfo reads a result of initialize or server/discover. What is of the wrong
// type is as if it were not there, and named in odd: other clients work with such
// servers.
func readInfo(method string, raw json.RawMessage) (info *Info, odd []string, err error) {
	info = &Info{}
	err = jsonscan.Members(raw, func(key string, value json.RawMessage) error {
		fits := true
		switch key {
		case "protocolVersion":
			fits = json.Unmarshal(value, &info.ProtocolVersion) == nil
		case "serverInfo":
			fits = json.Unmarshal(value, &info.ServerInfo) == nil
		case "instructions":
			fits = json.Unmarshal(value, &info.Instructions) == nil
		case "capabilities":
			if fits = value[0] == '{' || value[0] == 'n'; fits && value[0] == '{' {
				var dropped []string
				if info.Declared, dropped, err = fitting(value); err != nil {
					return err
				}
				odd, info.Capabilities = append(odd, dropped...), nil
				return json.Unmarshal(info.Declared, &info.Capabilities)
			}
		}
		if !fits {
			odd = append(odd, key)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: of %s: %w", rpc.ErrBadAnswer, method, err)
	}
	var known struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if info.ServerInfo == nil && json.Unmarshal(raw, &known) == nil && known.Meta[mcp.MetaKeyServerInfo] != nil {
		_ = json.Unmarshal(known.Meta[mcp.MetaKeyServerInfo], &info.ServerInfo) // who it is does not matter to us
	}
	return info, odd, nil
}

// fitting returns capabilities without those that the SDK cannot read. True in the place
// of a capability's object says as much as an empty one.
func fitting(capabilities json.RawMessage) (out json.RawMessage, odd []string, err error) {
	out, err = jsonscan.Rewrite(capabilities, func(key string, value json.RawMessage) json.RawMessage {
		if json.Unmarshal(jsonscan.Object(key, value), new(mcp.ServerCapabilities)) == nil {
			return value
		}
		odd = append(odd, "capabilities."+key)
		if value[0] == 't' {
			return json.RawMessage("{}")
		}
		return nil
	})
	return out, odd, err
}

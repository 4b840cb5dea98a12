package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// An Info is what a server said of itself.
type Info struct {
	ProtocolVersion string
	ServerInfo      *mcp.Implementation
	Instructions    string
	// Capabilities are those that the SDK knows; nil: none.
	Capabilities *mcp.ServerCapabilities
	// Declared are the capabilities as the server wrote them, an object or nil.
	Declared json.RawMessage
}

// readInfo reads a result of initialize or server/discover.
func readInfo(method string, raw json.RawMessage) (*Info, error) {
	info := &Info{}
	known := struct {
		*Info
		Capabilities json.RawMessage
		Meta         map[string]json.RawMessage `json:"_meta"`
	}{Info: info}
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, fmt.Errorf("%w: of %s: %w", wire.ErrBadAnswer, method, err)
	}
	if who := known.Meta[mcp.MetaKeyServerInfo]; who != nil && info.ServerInfo == nil {
		_ = json.Unmarshal(who, &info.ServerInfo) // who it is does not matter to us
	}
	if len(known.Capabilities) > 0 && known.Capabilities[0] == '{' {
		info.Declared = known.Capabilities
		if err := json.Unmarshal(info.Declared, &info.Capabilities); err != nil {
			return nil, fmt.Errorf("%w: the capabilities of %s: %w", wire.ErrBadAnswer, method, err)
		}
	}
	return info, nil
}

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

const (
	// legacyVersion begins with a handshake. Servers of every age answer that.
	legacyVersion = "2025-11-25"
	// NewestVersion has no handshake and no sessions: each request says what the
	// handshake would have said.
	NewestVersion = "2026-07-28"
)

// probeWait is how long a server may take to answer the first message of the
// newest revision, the start of its process counted. Some older servers never
// answer what they do not know, and some end.
const probeWait = 10 * time.Second

// A peer is what a handshake speaks to.
type peer interface {
	Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
}

// initialize shakes hands in legacyVersion, or an older one that the server
// prefers.
func initialize(ctx context.Context, p peer, h hooks) (*Info, error) {
	who, err := h.introduction()
	if err != nil {
		return nil, err
	}
	params := append(jsonscan.AppendMember([]byte(`{"protocolVersion":"`+legacyVersion+`"`), "clientInfo", who), '}')
	// As its client has written it, of which the SDK knows only a part.
	params = append(jsonscan.AppendMember(params[:len(params)-1], "capabilities", h.capabilities), '}')
	raw, err := p.Call(ctx, "initialize", params)
	if err != nil {
		return nil, err
	}
	init, odd, err := readInfo("initialize", raw)
	if err != nil {
		return nil, err
	}
	h.warnOdd(odd)
	if v := init.ProtocolVersion; v >= NewestVersion || !slices.Contains(mcp.SupportedProtocolVersions(), v) {
		return nil, fmt.Errorf("the server answered initialize with revision %.40q", v)
	}
	return init, nil
}

// introduction says who the server's client is, an object.
func (h hooks) introduction() (json.RawMessage, error) {
	if h.client != nil {
		return h.client, nil
	}
	return json.Marshal(h.impl)
}

// discover asks the server what it is, in NewestVersion, of which meta is what
// every request says.
func discover(ctx context.Context, p peer, h hooks, meta map[string]json.RawMessage) (*Info, error) {
	params, err := withMeta(nil, meta, "")
	if err != nil {
		return nil, err
	}
	raw, err := p.Call(ctx, "server/discover", params)
	if err != nil {
		return nil, err
	}
	var found struct{ SupportedVersions []string }
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("%w: of server/discover: supportedVersions is no list of strings", wire.ErrBadAnswer)
	}
	if !slices.Contains(found.SupportedVersions, NewestVersion) {
		return nil, fmt.Errorf("the server speaks none of our revisions, but %.40q", found.SupportedVersions[:min(len(found.SupportedVersions), 10)])
	}
	init, odd, err := readInfo("server/discover", raw)
	if err == nil {
		h.warnOdd(odd)
		init.ProtocolVersion = NewestVersion
	}
	return init, err
}

// warnOdd tells of what a server says of itself in a type of its own.
func (h hooks) warnOdd(odd []string) {
	if len(odd) > 0 {
		h.logger.Warn("what the server says of itself is of the wrong type in part, and is passed over", "members", odd)
	}
}

// newestMeta is what NewestVersion wants to read in each request. What a client
// says of itself stands instead.
func newestMeta(h hooks) (map[string]json.RawMessage, error) {
	info, err := h.introduction()
	if err != nil {
		return nil, err
	}
	return map[string]json.RawMessage{
		mcp.MetaKeyProtocolVersion:    json.RawMessage(`"` + NewestVersion + `"`),
		mcp.MetaKeyClientInfo:         info,
		mcp.MetaKeyClientCapabilities: json.RawMessage("{}"),
	}, nil
}

// refusedHandshake reports whether the server is there and does not want
// initialize.
func refusedHandshake(err error) bool {
	var rpc *jsonrpc.Error
	var status *statusError
	switch {
	case errors.As(err, &rpc):
		return true
	case errors.As(err, &status):
		return status.code/100 == 4 && !status.final()
	}
	return false
}

// negotiate shakes hands in the revision that h asks for, or else in the other
// one. Each try is a link of its own, since servers decide by the first message
// which revision a connection is of.
func negotiate(ctx context.Context, h hooks, try func(ctx context.Context, newest bool) (link, error)) (link, error) {
	if h.newest {
		probe, cancel := context.WithTimeoutCause(ctx, probeWait, fmt.Errorf("no answer within %v", probeWait))
		l, err := try(probe, true)
		cancel()
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		h.logger.Debug("not in the newest revision", "error", err)
		return try(ctx, false)
	}
	l, err := try(ctx, false)
	if refusedHandshake(err) {
		newer, failed := try(ctx, true)
		if failed == nil {
			return newer, nil
		}
		h.logger.Debug("server/discover", "error", failed)
	}
	return l, err
}

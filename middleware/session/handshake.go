package session

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
)

// maxHandshakeBytes caps the params of initialize.
const maxHandshakeBytes = 64 << 10

// initialize answers the handshake of revision 2025-11-25 and before.
func (s *Session) initialize(ctx context.Context, r *Request) (json.RawMessage, error) {
	if err := s.begin(r.Params); err != nil {
		return nil, err
	}
	capabilities, instructions, err := s.opts.Offer(ctx, r)
	if err != nil {
		return nil, err
	}
	version := revision.LastWithHandshake
	if v := jsonscan.StringMember(r.Params, "protocolVersion"); v < revision.Stateless && slices.Contains(mcp.SupportedProtocolVersions(), v) {
		version = v
	}
	out := jsonscan.Object("protocolVersion", jsonscan.Quote(version))
	out = jsonscan.With(out, "capabilities", capabilities)
	out = jsonscan.With(out, "serverInfo", s.opts.ServerInfo)
	out = jsonscan.With(out, "instructions", jsonscan.Quote(instructions))
	s.mu.Lock()
	s.shaken = true
	s.mu.Unlock()
	return out, nil
}

// begin notes what the client says of itself, once.
func (s *Session) begin(params json.RawMessage) error {
	switch {
	case params == nil:
		return InvalidParams("initialize has no params")
	case len(params) > maxHandshakeBytes:
		return InvalidParams("the params of initialize have more than %d bytes", maxHandshakeBytes)
	}
	for _, m := range []struct {
		name  string
		begin byte
		kind  string
	}{{"protocolVersion", '"', "string"}, {"capabilities", '{', "object"}, {"clientInfo", '{', "object"}} {
		if value := jsonscan.Member(params, m.name); value != nil && value[0] != m.begin && value[0] != 'n' {
			return InvalidParams("%s must be of type %s", m.name, m.kind)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handshake != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this session has been initialized already"}
	}
	s.handshake = bytes.Clone(params)
	return nil
}

// Handshake returns the params of the client's initialize as they came, nil before.
func (s *Session) Handshake() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handshake
}

// Initialized reports whether the client's handshake has been answered.
func (s *Session) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shaken
}

// discover answers server/discover of revision 2026-07-28.
func (s *Session) discover(ctx context.Context, r *Request) (json.RawMessage, error) {
	capabilities, instructions, err := s.opts.Offer(ctx, r)
	if err != nil {
		return nil, err
	}
	versions, err := json.Marshal(mcp.SupportedProtocolVersions())
	if err != nil {
		return nil, err
	}
	out := jsonscan.Object("supportedVersions", versions)
	out = jsonscan.With(out, "capabilities", capabilities)
	return jsonscan.With(out, "instructions", jsonscan.Quote(instructions)), nil
}

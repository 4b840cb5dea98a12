package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// initialize shakes hands in revision 2025-11-25, or an older one that the server
// prefers.
func (s *session) initialize(ctx context.Context) error {
	s.meta = nil
	s.speak("")
	params := jsonscan.AppendMember([]byte(`{"protocolVersion":"`+revision.LastWithHandshake+`"`), "clientInfo", s.hooks.client)
	// As its client has written it, of which the SDK knows only a part.
	params = append(jsonscan.AppendMember(params, "capabilities", s.hooks.capabilities), '}')
	raw, err := s.Call(ctx, "initialize", params, nil)
	if err != nil {
		return err
	}
	if err := s.introduced("initialize", raw); err != nil {
		return err
	}
	v := s.info.ProtocolVersion
	if v >= revision.Stateless || !slices.Contains(mcp.SupportedProtocolVersions(), v) {
		return fmt.Errorf("the server answered initialize with revision %.40q, which rlmproxy does not speak", v)
	}
	s.speak(v)
	return s.Notify(ctx, "notifications/initialized", nil)
}

// discover asks the server what it is, in the stateless revision.
func (s *session) discover(ctx context.Context) error {
	// What a client says of itself stands instead.
	s.meta = map[string]json.RawMessage{
		mcp.MetaKeyProtocolVersion:    json.RawMessage(`"` + revision.Stateless + `"`),
		mcp.MetaKeyClientInfo:         s.hooks.client,
		mcp.MetaKeyClientCapabilities: json.RawMessage("{}"),
	}
	s.speak(revision.Stateless)
	params, err := withMeta(nil, s.meta)
	if err != nil {
		return err
	}
	raw, err := s.Call(ctx, "server/discover", params, nil)
	if err != nil {
		return err
	}
	var found struct{ SupportedVersions []string }
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("%w to server/discover: supportedVersions is not a list of strings", rpc.ErrBadAnswer)
	}
	if !slices.Contains(found.SupportedVersions, revision.Stateless) {
		return fmt.Errorf("the server speaks only revisions that rlmproxy does not: %.40q", found.SupportedVersions[:min(len(found.SupportedVersions), 10)])
	}
	if err := s.introduced("server/discover", raw); err != nil {
		return err
	}
	s.info.ProtocolVersion = revision.Stateless
	return nil
}

// speak sets the revision that the requests of HTTP name.
func (s *session) speak(version string) {
	if s.http != nil {
		s.http.Speak(version, version == revision.Stateless)
	}
}

// introduced takes note of what the server says of itself, in the result of method.
func (s *session) introduced(method string, result json.RawMessage) error {
	info, odd, err := readInfo(method, result)
	if len(odd) > 0 {
		s.hooks.logger.Warn("some of what the server says about itself has the wrong type, and is ignored", "members", odd)
	}
	s.info = info
	return err
}

// refusedHandshake reports whether the server is there and does not want
// initialize.
func refusedHandshake(err error) bool {
	var said *jsonrpc.Error
	if errors.As(err, &said) {
		return true
	}
	status := statusOf(err)
	return status != nil && status.Code/100 == 4 && !status.Final()
}

// statusOf is the status of HTTP that err is all about, or nil.
func statusOf(err error) *transport.StatusError {
	var status *transport.StatusError
	if errors.As(err, &status) && !errors.Is(err, rpc.ErrClosed) {
		return status
	}
	return nil
}

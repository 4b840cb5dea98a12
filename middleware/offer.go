//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline/show"
)

// offer is what a client is told in its handshake, or in answer to server/discover: what
// the servers can do together, and what they advise. It gives servers of which that is not
// known a moment to say. What they say otherwise later reaches the clients that shake hands
// then: the protocol has no way to tell others.
func (s *Server) offer(ctx context.Context, r *session.Request) (capabilities json.RawMessage, instructions string, err error) {
	s.first.note(r)
	s.awaitAny(ctx)
	s.watchHeld()
	v := s.viewOf(r)
	capabilities, err = json.Marshal(s.capabilities(v))
	if err != nil {
		return nil, "", err
	}
	return s.withDeclared(v, capabilities), s.instructions(v), nil
}

// awaitAny gives servers a moment to say what they offer.
func (s *Server) awaitAny(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, s.begun.Add(s.opts.ListWait))
	defer cancel()
	for _, up := range s.awaited((*Upstream).listed) {
		up.Conn.Settled(ctx)
	}
	s.noteAnswered()
}

// capabilities are what the servers that an agent sees offer together. While one has not
// connected yet, it may offer anything.
func (s *Server) capabilities(v view) *mcp.ServerCapabilities {
	all := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{},
	}
	for _, up := range s.upstreams() {
		info := up.Conn.Info()
		c := &mcp.ServerCapabilities{
			Prompts:     &mcp.PromptCapabilities{},
			Resources:   &mcp.ResourceCapabilities{Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Logging:     &mcp.LoggingCapabilities{},
		}
		if info != nil {
			if c = info.Capabilities; c == nil || !v.server(up) {
				continue
			}
		}
		if c.Prompts != nil && up.has("prompts") {
			all.Prompts = &mcp.PromptCapabilities{ListChanged: true}
		}
		if c.Resources != nil && up.has("resources") {
			all.Resources.ListChanged = true
			all.Resources.Subscribe = all.Resources.Subscribe || c.Resources.Subscribe
		}
		if c.Completions != nil {
			all.Completions = c.Completions
		}
		if c.Logging != nil {
			all.Logging = c.Logging
		}
	}
	return all
}

// maxInstructions bounds what each server may tell every conversation, in bytes.
const maxInstructions = 4000

// instructions are ours and those of the servers that an agent sees, each below a line that says whose they
// are, which no server can write itself.
func (s *Server) instructions(v view) string {
	parts := []string{tools.Instructions}
	for _, up := range v.servers() {
		info := up.Conn.Info()
		if info == nil || strings.TrimSpace(info.Instructions) == "" {
			continue
		}
		text := show.ClipBytes(strings.TrimSpace(info.Instructions), maxInstructions)
		parts = append(parts, frame.From(up.Name)+string(frame.Quote([]byte(text))))
	}
	parts = append(parts, s.heldNotes(v)...)
	return strings.Join(parts, "\n\n")
}

// maxDeclared bounds the capabilities of a server that reach clients as they are,
// in bytes.
const maxDeclared = 64 << 10

// withDeclared is capabilities with what a single server declares besides: methods that
// the proxy does not know pass through it, so clients may use what they belong to.
func (s *Server) withDeclared(v view, capabilities json.RawMessage) json.RawMessage {
	up := v.only()
	if up == nil {
		return capabilities
	}
	info := up.Conn.Info()
	if info == nil || info.Declared == nil || len(info.Declared) > maxDeclared {
		return capabilities
	}
	return merged(capabilities, info.Declared)
}

// merged returns ours with the members of theirs that it lacks, and with those that an
// object of both has only there.
func merged(ours, theirs json.RawMessage) json.RawMessage {
	add := map[string]json.RawMessage{} // of a name the last counts, as wherever they are read
	var order []string
	_ = jsonscan.Members(theirs, func(key string, value json.RawMessage) error {
		if add[key] == nil {
			order = append(order, key)
		}
		add[key] = value
		return nil
	})
	out, err := jsonscan.Rewrite(ours, func(key string, value json.RawMessage) json.RawMessage {
		if own := add[key]; len(own) > 0 && own[0] == '{' && value[0] == '{' {
			value = merged(value, own)
		}
		delete(add, key)
		return value
	})
	if err != nil {
		return ours
	}
	out = out[:len(out)-1]
	for _, key := range order {
		if value := add[key]; value != nil {
			out = jsonscan.AppendMember(out, key, value)
		}
	}
	return append(out, '}')
}

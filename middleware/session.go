//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
)

// receive helps the SDK with what it answers itself.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer s.survive(&err)
		switch r := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			c := s.clientOf(r.Session)
			var who json.RawMessage
			if c.link != nil && len(c.link.Handshake()) > 0 {
				who = jsonscan.Member(c.link.Handshake(), "clientInfo")
			}
			s.firstCame(c.says(), who, false)
			s.awaitAny(ctx)
		case *mcp.ServerRequest[*mcp.DiscoverParams]:
			s.cameNewest(r.Session, r.Params.Meta)
			s.awaitAny(ctx)
		case *mcp.ServerRequest[*mcp.SetLoggingLevelParams]:
			if err := s.setLevel(ctx, r); err != nil {
				return nil, err
			}
		case *mcp.ServerRequest[*mcp.SubscriptionsListenParams]:
			s.cameNewest(r.Session, r.Params.Meta)
		}
		if result, err = next(ctx, method, req); err != nil { // result may be a nil of its type
			return nil, err
		}
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Capabilities = s.capabilities()
			r.Instructions = s.instructions()
			return s.declaring(result)
		case *mcp.DiscoverResult:
			r.Capabilities = s.capabilities()
			r.Instructions = s.instructions()
			return s.declaring(result)
		}
		return result, nil
	}
}

// cameNewest takes note of what a client of the newest revision says in a request
// that the SDK answers.
func (s *Server) cameNewest(session *mcp.ServerSession, meta mcp.Meta) {
	can, err := json.Marshal(meta[mcp.MetaKeyClientCapabilities])
	if err != nil {
		can = nil
	}
	c := s.clientOf(session)
	c.opening.end()
	c.states(can)
	who, err := json.Marshal(meta[mcp.MetaKeyClientInfo])
	if err != nil {
		who = nil
	}
	s.firstCame(c.says(), who, true)
}

// firstCame takes note of what the first client can do, an object or nil, and who it
// says it is, which counts if servers can read it.
func (s *Server) firstCame(can, who json.RawMessage, newest bool) {
	s.cameOnce.Do(func() {
		if can == nil {
			can = json.RawMessage("{}")
		}
		s.mu.Lock()
		s.can, s.newest = can, newest
		if introduces(who) {
			s.who = bytes.Clone(who)
		}
		s.mu.Unlock()
		close(s.came)
	})
}

// maxInfoBytes caps what a client says it is: servers of revision 2026-07-28 are told
// with each request.
const maxInfoBytes = 16 << 10

// introduces reports whether who is what the protocol has a client say it is. Strict
// servers refuse the handshake for anything else, from all clients.
func introduces(who json.RawMessage) bool {
	if len(who) == 0 || len(who) > maxInfoBytes || who[0] != '{' || json.Unmarshal(who, new(mcp.Implementation)) != nil {
		return false
	}
	version := jsonscan.Member(who, "version")
	return stringOf(who, "name") != "" && len(version) > 0 && version[0] == '"'
}

// clientWait is how long a server's handshake waits for the first client: hosts
// write to a proxy as soon as they have started it.
const clientWait = 3 * time.Second

// ClientCapabilities is what the first client can do, once it has come; nil
// if that takes more than a moment. It is for proxies that have one client.
func (s *Server) ClientCapabilities(ctx context.Context) json.RawMessage {
	late := time.NewTimer(clientWait)
	defer late.Stop()
	select {
	case <-s.came:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.can
	case <-late.C:
	case <-ctx.Done():
	}
	return nil
}

// ClientInfo is who the first client has said it is, or nil. Some servers act by
// the name.
func (s *Server) ClientInfo() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

// ClientIsNewest reports whether the first client has come and speaks the newest
// revision.
func (s *Server) ClientIsNewest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// awaitAny gives servers a moment to say what they offer.
func (s *Server) awaitAny(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, s.begun.Add(s.opts.ListWait))
	defer cancel()
	for i := range s.opts.Upstreams {
		s.opts.Upstreams[i].Conn.Settled(ctx)
	}
	s.noteMissing()
}

// capabilities are what the servers offer together. While one has not connected
// yet, it may offer anything.
func (s *Server) capabilities() *mcp.ServerCapabilities {
	all := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{},
	}
	for i := range s.opts.Upstreams {
		info := s.opts.Upstreams[i].Conn.Info()
		c := &mcp.ServerCapabilities{
			Prompts:     &mcp.PromptCapabilities{},
			Resources:   &mcp.ResourceCapabilities{Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Logging:     &mcp.LoggingCapabilities{},
		}
		if info != nil {
			if c = info.Capabilities; c == nil {
				continue
			}
		}
		if c.Prompts != nil {
			all.Prompts = &mcp.PromptCapabilities{ListChanged: true}
		}
		if c.Resources != nil {
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

// instructions are ours and those of the servers.
func (s *Server) instructions() string {
	parts := []string{tools.Instructions}
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		info := up.Conn.Info()
		if info == nil || strings.TrimSpace(info.Instructions) == "" {
			continue
		}
		text := show.ClipBytes(strings.TrimSpace(info.Instructions), maxInstructions)
		if len(s.opts.Upstreams) > 1 {
			text = up.Name + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// bounded sends a request of no call's within the usual time.
func (s *Server) bounded(ctx context.Context, conn conn, r upstream.Request) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return conn.Call(ctx, r)
}

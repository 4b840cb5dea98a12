package middleware

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sharedAgent is everybody, where the operator turned isolation off.
const sharedAgent = "shared"

// agentName names the agent behind the nth connection: each connection is one.
func (s *Server) agentName(n int) string {
	if s.opts.SharedCache {
		return sharedAgent
	}
	return fmt.Sprintf("connection-%d", n)
}

// clientOf returns the client whose session a request came from.
func (s *Server) clientOf(session *mcp.ServerSession) *client {
	s.mu.Lock()
	c := s.clients[session]
	s.mu.Unlock()
	if c == nil {
		return s.register(session, nil)
	}
	return c
}

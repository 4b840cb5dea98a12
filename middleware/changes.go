package middleware

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// A change is one of the lists that clients keep.
type change int

const (
	toolsChanged change = iota
	promptsChanged
	resourcesChanged
)

// changed tells every client that a list has changed. The SDK knows the sessions
// of every transport and revision, and sends one notification for many changes
// at once; it has no lists of ours, so one of its own is changed for it.
func (s *Server) changed(what change) {
	const name = "rlmproxy-list-changed"
	switch what {
	case toolsChanged:
		s.mcp.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		s.mcp.RemoveTools(name)
	case promptsChanged:
		s.mcp.AddPrompt(&mcp.Prompt{Name: name}, nil)
		s.mcp.RemovePrompts(name)
	case resourcesChanged:
		s.mcp.AddResource(&mcp.Resource{Name: name, URI: "rlmproxy://list-changed"}, nil)
		s.mcp.RemoveResources("rlmproxy://list-changed")
	}
}

// ListsChanged tells every client that a server's lists may have changed: it has
// connected, or said so. Upstreams call it.
func (s *Server) ListsChanged(server string) {
	s.changed(toolsChanged)
	up := s.upstream(server)
	if up == nil {
		return
	}
	s.changed(promptsChanged)
	s.changed(resourcesChanged)
	go s.watchAgain(up, "")
}

// notification passes on what a client tells its server, and reports whether it
// was not for the SDK. It is called by the reading goroutine. c is nil for what
// comes before its client has been attached.
func (s *Server) notification(c *client, method string, params json.RawMessage) bool {
	switch method {
	case "notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed", "notifications/progress":
		return false
	}
	if len(s.opts.Upstreams) != 1 {
		return true // for whom?
	}
	params = append(json.RawMessage(nil), params...)
	go s.notifyServer(&s.opts.Upstreams[0], c, method, params)
	return true
}

func (s *Server) notifyServer(up *Upstream, c *client, method string, params json.RawMessage) {
	conn := s.connOf(up, ownerOf(up, c))
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.CallTimeout)
	defer cancel()
	if err := conn.Notify(ctx, method, params); err != nil {
		s.logger.Debug("notification not sent", "server", up.Name, "method", method, "error", err)
	}
}

// rootsChanged tells all servers that a client's roots have changed.
func (s *Server) rootsChanged(_ context.Context, r *mcp.RootsListChangedRequest) {
	c := s.clientOf(r.Session)
	for i := range s.opts.Upstreams {
		go s.notifyServer(&s.opts.Upstreams[i], c, "notifications/roots/list_changed", nil)
	}
}

// clientProgress passes on how far a client is with what a server asked.
func (s *Server) clientProgress(_ context.Context, r *mcp.ProgressNotificationServerRequest) {
	token, err := json.Marshal(r.Params.ProgressToken)
	if err != nil {
		return
	}
	key := askedToken{s.clientOf(r.Session), string(token)}
	s.mu.Lock()
	up := s.progress[key]
	s.mu.Unlock()
	if up == nil {
		return
	}
	params, err := json.Marshal(r.Params)
	if err == nil {
		go s.notifyServer(up, key.client, "notifications/progress", params)
	}
}

// progressed passes a notification of a server's progress on under the client's
// own token.
func (s *Server) progressed(ctx context.Context, c *client, token, params json.RawMessage) {
	out, err := wire.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "progressToken" {
			return token
		}
		return value
	})
	if err != nil {
		return
	}
	// The request itself will tell of a lost client.
	if c.link != nil {
		_ = c.link.Notify(ctx, "notifications/progress", out)
	}
}

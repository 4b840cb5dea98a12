package middleware

import (
	"context"
	"encoding/json"
	"sync"

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
	s.toServer[up.Name].add("watch", 0, func(ctx context.Context) { s.watchAgain(ctx, up) })
}

// notification passes on what a client tells its server, and reports whether it
// was not for the SDK. It is called by the reading goroutine.
func (s *Server) notification(c *client, method string, params json.RawMessage) bool {
	switch method {
	case "notifications/initialized", "notifications/cancelled", "notifications/progress":
		return false
	case "notifications/roots/list_changed":
		for i := range s.opts.Upstreams {
			s.tellServer(c, &s.opts.Upstreams[i], "roots", method, nil)
		}
		return true
	}
	if len(s.opts.Upstreams) == 1 { // or for whom?
		s.tellServer(c, &s.opts.Upstreams[0], "", method, params)
	}
	return true
}

// tellServer has a server told something for a client, after what was told
// before. It does not block and does not keep params. What has a key may wait
// for several.
func (s *Server) tellServer(c *client, up *Upstream, key, method string, params json.RawMessage) {
	params = append(json.RawMessage(nil), params...)
	s.mu.Lock()
	q := c.queues[up.Name]
	if q == nil && !c.gone {
		if c.queues == nil {
			c.queues = map[string]*queue{}
		}
		q = newQueue(s.logger.With("server", up.Name, "agent", c.agent))
		c.queues[up.Name] = q
	}
	s.mu.Unlock()
	if q == nil {
		return
	}
	q.add(key, len(params), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
		defer cancel()
		if err := up.Conn.Notify(ctx, method, params); err != nil {
			s.logger.Debug("notification not sent", "server", up.Name, "method", method, "error", err)
		}
	})
}

// closeQueues ends what a client, or a server, has others told. It returns when
// nothing of it runs.
func closeQueues(ctx context.Context, queues map[string]*queue) {
	var wg sync.WaitGroup
	for _, q := range queues {
		wg.Go(func() { q.close(ctx) })
	}
	wg.Wait()
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
		s.tellServer(key.client, up, "", "notifications/progress", params)
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

package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
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
//
// When it connects for the first time, clients are told only if one has been
// answered without it: others would list again what they have just been told, or
// have not asked for yet.
func (s *Server) ListsChanged(server string) {
	up := s.upstream(server)
	if up == nil {
		return
	}
	info := up.Conn.Info()
	s.mu.Lock()
	last, again := s.heard[server]
	s.heard[server] = info
	silent := !again && !s.missing[server]
	s.mu.Unlock()
	if !silent {
		s.changed(toolsChanged)
		prompts, resources := lists(info)
		if again { // what it has no more has changed, too
			p, r := lists(last)
			prompts, resources = prompts || p, resources || r
		}
		if prompts {
			s.changed(promptsChanged)
		}
		if resources {
			s.changed(resourcesChanged)
		}
	}
	if up.PerAgent != nil {
		return // nothing is asked of what has been connected
	}
	s.toServer[up.Name].add("watch", 0, func(ctx context.Context) { s.watchAgain(ctx, up, "") })
	s.tellLevel(up, "")
}

// lists is which lists beside that of its tools a server may have.
func lists(info *upstream.Info) (prompts, resources bool) {
	if info == nil {
		return true, true
	}
	c := info.Capabilities
	return c != nil && c.Prompts != nil, c != nil && c.Resources != nil
}

// noteMissing notes the servers that a client is about to be answered without: they
// have not said yet what they offer.
func (s *Server) noteMissing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		if _, heard := s.heard[up.Name]; !heard && up.Conn.Info() == nil {
			s.missing[up.Name] = true
		}
	}
}

// notification passes on what a client tells its server, and reports whether it
// was not for the SDK. It is called by the reading goroutine.
func (s *Server) notification(c *client, method string, params json.RawMessage) bool {
	defer s.survive(nil)
	switch method {
	case "notifications/initialized":
		c.opening.end()
		return false
	case "notifications/cancelled":
		return false
	case "notifications/progress":
		s.clientProgress(c, params)
		return true
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
	if params != nil {
		s.use(up, c)
	}
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
		conn := s.connOf(up, ownerOf(up, c))
		if conn == nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
		defer cancel()
		if err := conn.Notify(ctx, method, params); err != nil {
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

// atOnce is a context that has ended.
func atOnce() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// asked is what a client works on for a server.
type asked struct {
	client *client
	up     *Upstream
	token  json.RawMessage // the server's, of its progress
}

// track gives a request to a client a progress token of ours, as the tokens of
// two servers may be the same. Until done is called, progress under it goes to
// the server under its own. Params without a token stay as they are.
func (s *Server) track(c *client, up *Upstream, params json.RawMessage) (out json.RawMessage, done func(), err error) {
	token := progressToken(params)
	if token == nil {
		return params, func() {}, nil
	}
	s.mu.Lock()
	s.serial++
	ours := fmt.Sprintf(`"rlm-%d"`, s.serial)
	s.progress[ours] = asked{c, up, token}
	s.mu.Unlock()
	done = func() {
		s.mu.Lock()
		delete(s.progress, ours)
		s.mu.Unlock()
	}
	var failed error
	out, err = jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "_meta" && value[0] == '{' {
			value, failed = withToken(value, json.RawMessage(ours))
		}
		return value
	})
	return out, done, errors.Join(err, failed)
}

func withToken(object, token json.RawMessage) (json.RawMessage, error) {
	return jsonscan.Rewrite(object, func(key string, value json.RawMessage) json.RawMessage {
		if key == "progressToken" {
			return token
		}
		return value
	})
}

// clientProgress passes on how far a client is with what a server asked.
func (s *Server) clientProgress(c *client, params json.RawMessage) {
	token := jsonscan.Member(params, "progressToken")
	s.mu.Lock()
	a, ok := s.progress[string(token)]
	s.mu.Unlock()
	if !ok || a.client != c {
		return
	}
	if params, err := withToken(params, a.token); err == nil {
		s.tellServer(c, a.up, "", "notifications/progress", params)
	}
}

// progressed passes a notification of a server's progress on to the request that
// waits, under its own token, if it has one.
func (s *Server) progressed(ctx context.Context, r *request, params json.RawMessage) {
	if r.token == nil || r.client.link == nil {
		return
	}
	if out, err := withToken(params, r.token); err == nil {
		// The request itself will tell of a lost client.
		_ = r.client.link.Notify(r.about(ctx), "notifications/progress", out)
	}
}

package middleware

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/upstream"
)

// watched is a resource that clients want to hear of.
type watched struct {
	place
	agent string // whose connection to the server it is, "" if all have one
}

// Bounds on the subscriptions of one client, by the URIs that it sends: several may
// be of one resource, and the SDK keeps each.
const (
	maxWatching = 1000
	maxURIBytes = 16 << 10
)

// subscribe answers resources/subscribe, by the first place that takes it.
func (s *Server) subscribe(ctx context.Context, r *mcp.SubscribeRequest) (err error) {
	c := s.clientOf(r.Session)
	c.opening.end()
	isNew, err := s.admitURI(c, r.Params.URI)
	if err != nil {
		return err
	}
	defer func() {
		if isNew && err != nil {
			s.mu.Lock()
			delete(c.uris, r.Params.URI)
			s.mu.Unlock()
		}
	}()
	failed := notFound(r.Params.URI)
	for _, p := range s.placesOf(ctx, r.Params.URI) {
		w := watched{p, ownerOf(p.up, c)}
		s.use(p.up, c)
		if failed = s.watchFor(ctx, w, c); failed != nil {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !c.watching[w] {
			if c.watching == nil {
				c.watching = map[watched]bool{}
			}
			c.watching[w] = true
			s.watched[w]++
		}
		return nil
	}
	return failed
}

// admitURI notes a URI that c subscribes to, and whether it is new, or refuses it.
func (s *Server) admitURI(c *client, uri string) (isNew bool, err error) {
	if len(uri) > maxURIBytes {
		return false, invalidParams("uri has more than %d bytes", maxURIBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.uris[uri]:
		return false, nil
	case len(c.uris) >= maxWatching:
		return false, invalidParams("more than %d subscriptions: resources/unsubscribe ends some", maxWatching)
	case c.uris == nil:
		c.uris = map[string]bool{}
	}
	c.uris[uri] = true
	return true, nil
}

// unsubscribe answers resources/unsubscribe. What nobody has subscribed to is no error.
func (s *Server) unsubscribe(ctx context.Context, r *mcp.UnsubscribeRequest) error {
	c := s.clientOf(r.Session)
	s.mu.Lock()
	delete(c.uris, r.Params.URI)
	s.mu.Unlock()
	for _, p := range s.placesOf(ctx, r.Params.URI) {
		w := watched{p, ownerOf(p.up, c)}
		s.mu.Lock()
		ok := c.watching[w]
		delete(c.watching, w)
		s.mu.Unlock()
		if ok {
			// A stream that listens ends by being cancelled.
			return s.unwatch(context.WithoutCancel(ctx), w)
		}
	}
	return nil
}

// unwatch ends the subscription of one client; the server's ends with the last.
func (s *Server) unwatch(ctx context.Context, w watched) error {
	s.mu.Lock()
	s.watched[w]--
	last := s.watched[w] <= 0
	if last {
		delete(s.watched, w)
	}
	s.mu.Unlock()
	conn := s.connOf(w.up, w.agent)
	if !last || conn == nil {
		return nil
	}
	return s.watch(ctx, conn, w.place, "resources/unsubscribe", false)
}

// watchFor subscribes where requests of c go.
func (s *Server) watchFor(ctx context.Context, w watched, c *client) error {
	conn, release, err := s.connTo(ctx, w.up, c)
	if err != nil {
		return protocolError(err)
	}
	defer release()
	// Where the client's revision needs another process, that one is subscribed at.
	return s.watch(ctx, conn, w.place, "resources/subscribe", c.stated.Load() != nil)
}

func (s *Server) watch(ctx context.Context, conn conn, p place, method string, newest bool) error {
	params, err := json.Marshal(map[string]string{"uri": p.uri})
	if err != nil {
		return err
	}
	_, err = s.bounded(ctx, conn, upstream.Request{Method: method, Params: params, Newest: newest})
	return s.hideInError(ctx, err, p.up.hidesAll())
}

// watchAgain subscribes once more after up has connected again, for one agent or,
// if that is "", for all.
func (s *Server) watchAgain(ctx context.Context, up *Upstream, agent string) {
	s.mu.Lock()
	var again []watched
	for w := range s.watched {
		if w.up == up && w.agent == agent {
			again = append(again, w)
		}
	}
	s.mu.Unlock()
	for _, w := range again {
		conn := s.connOf(up, agent)
		if conn == nil {
			return
		}
		if err := s.watch(ctx, conn, w.place, "resources/subscribe", false); err != nil {
			s.logger.Warn("resources/subscribe", "server", up.Name, "uri", w.uri, "error", err)
		}
	}
}

// updated tells those who subscribed, by either URI, that a resource has changed:
// those of one agent or, if that is "", all.
func (s *Server) updated(up *Upstream, agent, uri string) {
	var mark mcp.Meta
	if agent != "" {
		mark = mcp.Meta{onlyFor: agent}
	}
	for _, known := range []string{uri, s.exposedURI(up, uri)} {
		if err := s.mcp.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: known, Meta: maps.Clone(mark)}); err != nil {
			s.logger.Debug("notification not sent", "uri", known, "error", err)
		}
		if known == s.exposedURI(up, uri) {
			break
		}
	}
}

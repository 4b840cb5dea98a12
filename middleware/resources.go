package middleware

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/fleet"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline/show"
)

// URIs of several servers are listed as "server+uri", so that they differ;
// those of a single server stay as they are. Results of tools have the servers'
// own URIs, so these are understood as well.

// A place is where a resource is: a server and the URI that it knows.
type place struct {
	up  *Upstream
	uri string
}

// placesOf returns where a URI may be that an agent may read, the likeliest first. It waits
// for the server that the URI names, and without a name for all if none is known that has
// any.
func (s *Server) placesOf(ctx context.Context, v view, uri string) (places []place) {
	if p, ok := s.namedPlace(uri); ok {
		s.until(ctx, func(up *Upstream) bool { return up.Name == p.up.Name }, func() bool { return p.up.Conn.Info() != nil })
		if v.server(p.up) && p.up.has("resources") {
			return []place{p}
		}
	}
	s.until(ctx, v.maybe, func() bool {
		places = knownPlaces(v, uri)
		return len(places) > 0
	})
	return places
}

// namedPlace is the place of a URI that says whose it is, where there are several
// servers.
func (s *Server) namedPlace(uri string) (place, bool) {
	if name, rest, ok := strings.Cut(uri, "+"); ok && len(s.upstreams()) > 1 {
		for _, up := range s.upstreams() {
			if strings.EqualFold(s.scheme(up), name) {
				return place{up, rest}, true
			}
		}
	}
	return place{}, false
}

// knownPlaces are the servers that have resources.
func knownPlaces(v view, uri string) (places []place) {
	for _, up := range v.servers() {
		if up.hasResources() {
			places = append(places, place{up, uri})
		}
	}
	return places
}

// hasResources reports whether the server has said that it has any.
func (u *Upstream) hasResources() bool { return u.has("resources") && hasResources(u.Conn.Info()) }

// exposedURI is the URI that clients know.
func (s *Server) exposedURI(up *Upstream, uri string) string {
	if len(s.upstreams()) == 1 {
		return uri
	}
	return s.scheme(up) + "+" + uri
}

// listResources answers resources/list and resources/templates/list, what being
// the member that holds the list and key that of the URI: the pages of one
// server after those of another.
func (s *Server) listResources(ctx context.Context, r *session.Request, what, key string) (json.RawMessage, error) {
	s.awaitUpstreams(ctx, func(up *Upstream) bool { return up.listed() && !up.kept() })
	ups := s.viewOf(r).servers()
	if len(s.upstreams()) == 1 && len(ups) == 1 {
		up := ups[0]
		if s.skipped(up) {
			return json.RawMessage(`{"` + what + `":[]}`), nil
		}
		return s.forward(ctx, up, up.Policy.Hide, r, r.Params)
	}
	at, cursor, err := readCursor(r.Params)
	if err != nil {
		return nil, err
	}
	for ; at < len(ups); at, cursor = at+1, "" {
		up := ups[at]
		if s.skipped(up) {
			continue
		}
		params := json.RawMessage("{}")
		if cursor != "" {
			params = jsonscan.Object("cursor", jsonscan.Quote(cursor))
		}
		raw, err := s.forward(ctx, up, up.Policy.Hide, r, params)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			s.logger.Warn(r.Method, "server", up.Name, "error", err)
			continue // its resources are missing, those of others are not
		}
		return s.pageOf(raw, ups, at, what, key)
	}
	return json.RawMessage(`{"` + what + `":[]}`), nil
}

// skipped reports whether a list of resources goes without a server: it has none, or it has
// not connected yet, which is noted.
func (s *Server) skipped(up *Upstream) bool {
	if !up.hasResources() {
		return true
	}
	if up.kept() {
		s.changes.lack(up.Name)
	}
	return up.kept()
}

// pageOf is a page of one of the servers with the URIs that clients know, and a cursor
// that leads to the next page or server.
func (s *Server) pageOf(raw json.RawMessage, ups []*Upstream, at int, what, key string) (json.RawMessage, error) {
	up := ups[at]
	next := stringOf(raw, "nextCursor")
	if next == "" {
		at++
	}
	var failed error
	out, err := jsonscan.Rewrite(raw, func(k string, value json.RawMessage) json.RawMessage {
		switch {
		case k == "nextCursor":
			return nil
		case k == what && value[0] == '[':
			list := []byte{'['}
			failed = jsonscan.Elements(value, func(item json.RawMessage) error {
				item, err := s.withExposedURI(item, up, key)
				list = jsonscan.AppendElement(list, item)
				return err
			})
			return append(list, ']')
		}
		return value
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if at == len(ups) {
		return out, nil
	}
	return jsonscan.With(out, "nextCursor", jsonscan.Quote(writeCursor(at, next))), nil
}

// withExposedURI is an item of a list with the URI that clients know as its member key.
func (s *Server) withExposedURI(item json.RawMessage, up *Upstream, key string) (json.RawMessage, error) {
	if item[0] != '{' {
		return item, nil
	}
	return jsonscan.Rewrite(item, func(k string, value json.RawMessage) json.RawMessage {
		if k != key || value[0] != '"' {
			return value
		}
		return jsonscan.Quote(s.exposedURI(up, gjson.ParseBytes(value).String()))
	})
}

// A cursor of ours is the number of a server, among those that the agent sees, and its own
// cursor.
func writeCursor(at int, own string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(at) + ":" + own))
}

func readCursor(params json.RawMessage) (at int, own string, err error) {
	cursor := cursorOf(params)
	if !cursor.Exists() {
		return 0, "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor.String())
	number, own, ok := strings.Cut(string(b), ":")
	at, bad := strconv.Atoi(number)
	if err != nil || !ok || bad != nil || at < 0 {
		return 0, "", session.InvalidParams("unknown cursor %q", clipped(cursor.String()))
	}
	return at, own, nil
}

// readResource answers resources/read: a block of a cached result, or a server's
// own resource, cut like the result of a tool if it is over the limit.
func (s *Server) readResource(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	uri := stringOf(r.Params, "uri")
	switch {
	case uri == statsURI:
		return s.readStats(r)
	case strings.HasPrefix(uri, shape.HandleScheme):
		return s.readBlock(ctx, r, uri)
	}
	failed := notFound(uri)
	all := s.placesOf(ctx, s.viewOf(r), uri)
	places, params, err := s.placesWithState(r, all)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		params, err := respelled(params, "uri", p.uri)
		if err != nil {
			return nil, err
		}
		raw, err := s.forward(ctx, p.up, p.up.Policy.Hide, r, params)
		if err == nil && len(all) > 1 {
			raw, err = s.markState(raw, p.up)
		}
		var rpc *jsonrpc.Error
		switch {
		case err == nil:
			return s.shaper.Resource(r.Session.Agent, uri, raw, p.up.Policy.shaping(p.up))
		case !errors.As(err, &rpc):
			return nil, err
		}
		failed = err // another server may know it
	}
	return nil, failed
}

// readBlock answers resources/read of a block of a cached result.
func (s *Server) readBlock(ctx context.Context, r *session.Request, uri string) (json.RawMessage, error) {
	h, ok := shape.ParseHandle(uri)
	if !ok || h.Block < 0 || h.JQ != "" {
		return nil, notFound(uri)
	}
	raw, err := s.shaper.Block(ctx, r.Session.Agent, h)
	var away *fleet.AwayError
	if errors.As(err, &away) {
		return nil, protocolError(err)
	}
	if gone := shape.Gone(err); gone != nil {
		healed, err := s.healerOf(r, nil).Heal(ctx, gone)
		switch {
		case errors.As(err, &gone):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: gone.Code + ": " + gone.Text}
		case err != nil:
			return nil, protocolError(err)
		case healed.Question != nil:
			return healed.Question, nil
		}
		h.ID = healed.ID
		if raw, _ = s.shaper.Block(ctx, r.Session.Agent, h); raw != nil {
			raw = jsonscan.With(raw, "_meta", jsonscan.Object("rlmproxy/healed", jsonscan.Quote(healed.Line)))
		}
	}
	if raw == nil {
		return nil, notFound(uri)
	}
	return raw, nil
}

// notFound is the error for a resource that is not there. The SDK's own writes
// the URI as a Go string, which JSON cannot hold if it has control characters.
func notFound(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": show.ClipBytes(uri, 200)})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// subscribe subscribes a client to a resource, at the first place that takes it.
func (s *Server) subscribe(ctx context.Context, r *session.Request, w relay.Watcher, uri string) error {
	return protocolError(s.relay.Subscribe(ctx, r.Session, w, uri, s.watchable(ctx, r, uri), notFound(uri), r.Stateless))
}

// watchable is where the resource of a URI may be, the likeliest place first.
func (s *Server) watchable(ctx context.Context, r *session.Request, uri string) (places []relay.Place) {
	for _, p := range s.placesOf(ctx, s.viewOf(r), uri) {
		places = append(places, relay.Place{Server: p.up.server, URI: p.uri})
	}
	return places
}

// follow does what a client has asked another replica for.
func (s *Server) follow(ctx context.Context, r *session.Request) error {
	uri := stringOf(r.Params, "uri")
	switch r.Method {
	case "logging/setLevel":
		return s.relay.SetLevel(ctx, r.Session, stringOf(r.Params, "level"))
	case "resources/subscribe":
		return s.relay.Follow(ctx, r.Session, uri, s.watchable(ctx, r, uri), notFound(uri))
	case "resources/unsubscribe":
		return s.relay.Unsubscribe(ctx, r.Session, r.Session, uri)
	}
	return session.InvalidParams("%q is not followed", clipped(r.Method))
}

package relay

import (
	"bytes"
	"context"
	"encoding/json"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/session"
)

// Tell passes on what the server tells its client. It does not block and does not keep
// params. That tools and prompts have changed is not passed on from here: the upstream
// reads its lists again and says so then, and an agent's own connection lists nothing.
func (c *Connection) Tell(ctx context.Context, method string, params json.RawMessage) {
	defer c.survive(nil)
	switch {
	case c.agent == "" && c.server.PerAgent(): // no request was made here
	case method == "notifications/progress": // of a call that has ended
	case method == "notifications/tools/list_changed", method == "notifications/prompts/list_changed":
	case method == "notifications/resources/list_changed":
		c.toClients.Add("resources", 0, func(context.Context) { c.server.relay.opts.ResourcesChanged(c.server.name, c.agent) })
	case method == "notifications/resources/updated":
		c.tellUpdated(jsonscan.StringMember(params, "uri"))
	default:
		c.tell(ctx, method, params)
	}
}

// tellUpdated passes on that a resource has changed.
func (c *Connection) tellUpdated(uri string) {
	w := watched{c.server.name, uri, c.agent}
	if c.server.relay.watches.has(w) {
		c.toClients.Add("updated "+uri, len(uri), func(context.Context) { c.server.relay.watches.updated(w) })
	}
}

// tell passes on what is about requests that run.
func (c *Connection) tell(ctx context.Context, method string, params json.RawMessage) {
	to := recipient{}
	if h, about := c.handleIn(method, params); about {
		owners := c.handles().Owners(h)
		if to = c.ownerOf(ctx, h, owners, c.toldBy); to.client == nil && len(owners) == 0 {
			c.early.add(notification{h, method, params})
			if len(c.handles().Owners(h)) > 0 { // given meanwhile
				c.tellEarly(h)
			}
		}
	} else {
		to = c.toldBy(ctx)
	}
	params = frame.Strip(params)
	switch {
	case to.client == nil:
		c.log.Debug("a notification could be for several clients, and is dropped", "method", method)
	case method == "notifications/message" && !to.client.Wants(jsonscan.StringMember(params, "level"), to.request):
	case c.server.hide() == nil:
		to.client.Tell(to.about(context.Background()), method, bytes.Clone(params))
	default:
		params = bytes.Clone(params)
		c.toClients.Add("", len(params), func(ctx context.Context) {
			kept, err := params, error(nil)
			if hide := c.server.hide(); hide != nil {
				kept, err = hide.Notification(ctx, params)
			}
			if err != nil {
				c.log.Debug("notification not sent", "method", method, "error", err)
				return
			}
			to.client.Tell(to.about(context.Background()), method, kept)
		})
	}
}

// TellServer has the server told something for a client, after what that client told it
// before. It does not block and does not keep params. What has a key may wait for
// several.
func (v *Server) TellServer(s *session.Session, key, method string, params json.RawMessage) {
	c := v.existing(v.owner(s))
	if c == nil {
		return
	}
	params = bytes.Clone(params)
	if params != nil {
		c.use(s)
		if !c.mayTell(s, method, params) {
			c.log.Debug("a client's notification could be about another client, and is dropped", "method", method)
			return
		}
	}
	q := s.Outbox(v.name, v.relay.log)
	if q == nil {
		return
	}
	q.Add(key, len(params), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, v.relay.opts.CallTimeout)
		defer cancel()
		if err := c.Notify(ctx, method, params); err != nil {
			c.log.Debug("notification not sent", "method", method, "error", err)
		}
	})
}

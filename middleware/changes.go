package middleware

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changeDelay is how long a change of a list waits for others, so that one notification
// tells of all.
const changeDelay = 10 * time.Millisecond

// changes are what clients are to hear of the lists of servers.
type changes struct {
	mu      sync.Mutex                                 // guards the fields below
	heard   map[string]*upstream.Info                  // servers that have connected, and what they offered last
	missing map[string]bool                            // those that were not ready when a client was last answered
	tools   map[string][]upstream.Tool                 // that servers listed then
	lists   map[session.List]map[*session.Session]bool // to whom each is to be announced
	timer   *time.Timer                                // to the announcement, or nil
	closed  bool
}

func newChanges() changes {
	return changes{heard: map[string]*upstream.Info{}, missing: map[string]bool{}, tools: map[string][]upstream.Tool{}, lists: map[session.List]map[*session.Session]bool{}}
}

// announce tells clients that a list has changed, in a moment: those that see the server
// whose list it is, or saw it when it had these tools.
func (s *Server) announce(list session.List, up *Upstream, before []upstream.Tool) {
	s.announceTo(list, slices.DeleteFunc(s.clients.Of(""), func(client *session.Session) bool {
		v := s.viewFor(client.Who())
		return !v.server(up) && !v.serverWith(up, before)
	}))
}

// announceTo tells these clients that a list has changed, in a moment.
func (s *Server) announceTo(list session.List, clients []*session.Session) {
	c := &s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range clients {
		if c.lists[list] == nil {
			c.lists[list] = map[*session.Session]bool{}
		}
		c.lists[list][client] = true
	}
	if c.timer == nil && !c.closed {
		c.timer = time.AfterFunc(changeDelay, s.announceAll)
	}
}

// announceAll tells clients of the lists that have changed.
func (s *Server) announceAll() {
	c := &s.changes
	c.mu.Lock()
	lists := maps.Clone(c.lists)
	clear(c.lists)
	c.timer = nil
	c.mu.Unlock()
	for _, client := range s.clients.Of("") {
		for _, list := range slices.Sorted(maps.Keys(lists)) {
			if lists[list][client] {
				client.ListChanged(list)
			}
		}
	}
}

// close announces nothing more.
func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// resourcesChanged tells the clients of one agent, or all, that a server's resources have
// changed.
func (s *Server) resourcesChanged(server, agent string) {
	if agent == "" {
		if up := s.upstream(server); up != nil {
			s.announce(session.Resources, up, nil)
		}
		return
	}
	for _, client := range s.clients.Of(agent) {
		client.ListChanged(session.Resources)
	}
}

// ListsChanged tells the clients that see it that a server's lists may have changed: it has
// connected, or said so. Upstreams call it, by their [Upstream.ID].
//
// When it connects for the first time, clients are told only if one has been
// answered without it: others would list again what they have just been told, or
// have not asked for yet.
func (s *Server) ListsChanged(id string) {
	up := s.withID(id)
	if up == nil || up.server != s.upstream(up.Name).relayServer() { // it is being retired
		return
	}
	server := up.Name
	s.logOdd(up)
	info := up.Conn.Info()
	s.names.all() // tells the operator of names that two servers have
	s.unmatched.tell(up, s.logger)
	s.tellRights()
	tools := up.Conn.Tools()
	s.changes.mu.Lock()
	before := s.changes.tools[server]
	s.changes.tools[server] = tools
	last, again := s.changes.heard[server]
	s.changes.heard[server] = info
	silent := !again && !s.changes.missing[server]
	s.changes.mu.Unlock()
	if !silent {
		s.announce(session.Tools, up, before)
		prompts, resources := listsOf(info)
		if again { // what it has no more has changed, too
			p, r := listsOf(last)
			prompts, resources = prompts || p, resources || r
		}
		if prompts {
			s.announce(session.Prompts, up, before)
		}
		if resources {
			s.announce(session.Resources, up, before)
		}
	}
	if up.PerAgent == nil { // or nothing is asked of what has been connected
		up.server.Shared().Connected()
	}
}

// listsOf is which lists beside that of its tools a server may have.
func listsOf(info *upstream.Info) (prompts, resources bool) {
	if info == nil {
		return true, true
	}
	c := info.Capabilities
	return c != nil && c.Prompts != nil, c != nil && c.Resources != nil
}

// noteMissing notes the servers that a client is about to be answered without: they
// have not said yet what they offer.
func (s *Server) noteMissing() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	for _, up := range s.upstreams() {
		if _, heard := s.changes.heard[up.Name]; !heard && up.Conn.Info() == nil {
			s.changes.missing[up.Name] = true
		}
	}
}

// notification passes on what a client tells its servers.
func (s *Server) notification(c *session.Session, method string, params json.RawMessage) {
	v := s.viewFor(c.Who())
	if method == "notifications/roots/list_changed" {
		for _, up := range v.servers() {
			up.server.TellServer(c, "roots", method, nil)
		}
	} else if up := v.only(); up != nil { // or for whom?
		up.server.TellServer(c, "", method, params)
	}
}

// listen answers subscriptions/listen of revision 2026-07-28, when it ends.
func (s *Server) listen(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	var params struct {
		Notifications *mcp.NotificationSubscriptions
	}
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, session.InvalidParams("'notifications' has a member of the wrong type")
	}
	if params.Notifications == nil {
		return nil, session.InvalidParams("missing required 'notifications' field")
	}
	agreed := s.agreed(s.viewOf(r), params.Notifications)
	l := r.Session.NewListener(r)
	defer l.Close()
	defer s.unlisten(ctx, r, l, agreed.ResourceSubscriptions)
	for _, uri := range agreed.ResourceSubscriptions {
		if err := s.subscribe(ctx, r, l, uri); err != nil {
			return nil, err
		}
	}
	told, err := json.Marshal(agreed)
	if err != nil {
		return nil, err
	}
	l.Listen(told, changedLists(agreed))
	if len(changedLists(agreed))+len(agreed.ResourceSubscriptions) == 0 {
		return l.Result(), nil
	}
	l.Wait(ctx)
	return l.Result(), nil
}

// unlistenTime is how long servers may take to hear that a stream of changes has ended.
const unlistenTime = 2 * time.Second

// unlisten ends the subscriptions of a stream, which may have ended by being cancelled.
// A server that does not answer in time goes on to tell us.
func (s *Server) unlisten(ctx context.Context, r *session.Request, l *session.Listener, uris []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlistenTime)
	defer cancel()
	for _, uri := range uris {
		_ = s.relay.Unsubscribe(ctx, r.Session, l, uri)
	}
}

// agreed is what of wanted the servers may tell of.
func (s *Server) agreed(v view, wanted *mcp.NotificationSubscriptions) mcp.NotificationSubscriptions {
	can := s.capabilities(v)
	agreed := mcp.NotificationSubscriptions{
		ToolsListChanged:     wanted.ToolsListChanged,
		PromptsListChanged:   wanted.PromptsListChanged && can.Prompts != nil,
		ResourcesListChanged: wanted.ResourcesListChanged && can.Resources.ListChanged,
	}
	if can.Resources.Subscribe {
		agreed.ResourceSubscriptions = wanted.ResourceSubscriptions
	}
	return agreed
}

// changedLists are the lists that a stream of changes tells of.
func changedLists(f mcp.NotificationSubscriptions) (lists []session.List) {
	if f.ToolsListChanged {
		lists = append(lists, session.Tools)
	}
	if f.PromptsListChanged {
		lists = append(lists, session.Prompts)
	}
	if f.ResourcesListChanged {
		lists = append(lists, session.Resources)
	}
	return lists
}

package middleware

import (
	"bytes"
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
// tells of all. While other servers connect for the first time, what one offers then
// waits for them, for [Options.ListWait] at most.
const changeDelay = 10 * time.Millisecond

// changes are what clients are to hear of the lists of servers.
type changes struct {
	mu     sync.Mutex                                 // guards the fields below
	told   map[string]offered                         // what clients were answered or told of last, by server
	lacked map[string]bool                            // servers without whose resources a client was answered
	lists  map[session.List]map[*session.Session]bool // to whom each is to be announced
	timer  *time.Timer                                // to the announcement, or nil
	closed bool
}

func newChanges() changes {
	return changes{told: map[string]offered{}, lacked: map[string]bool{}, lists: map[session.List]map[*session.Session]bool{}}
}

// offered is what a server offers at one time, as far as lists show it.
type offered struct {
	tools, prompts []upstream.Tool
	held           []string
	left           upstream.LeftOut
	info           *upstream.Info
	kept           bool // it is from the last time
}

func (u *Upstream) offered() offered {
	kept, tools := u.kept(), u.Conn.Tools()
	return offered{tools, u.Conn.Prompts(), u.verdict(tools).Names(), u.leftOut(), u.Conn.Info(), kept}
}

// changed is which lists are not the same as before. A server that has connected again
// may have other resources; so may one without whose resources a client was answered.
func (o offered) changed(before offered, lacked bool) (lists []session.List) {
	same := func(a, b upstream.Tool) bool { return a.Name == b.Name && bytes.Equal(a.Raw, b.Raw) }
	if !slices.EqualFunc(o.tools, before.tools, same) || !slices.Equal(o.held, before.held) ||
		o.left.N != before.left.N || o.left.Why != before.left.Why || !slices.Equal(o.left.Names, before.left.Names) {
		lists = append(lists, session.Tools)
	}
	if !slices.EqualFunc(o.prompts, before.prompts, same) {
		lists = append(lists, session.Prompts)
	}
	has, had := hasResources(o.info), hasResources(before.info)
	again := !before.kept && o.info != before.info
	if has != had || has && (again || lacked) {
		lists = append(lists, session.Resources)
	}
	return lists
}

// announce tells clients that a list has changed, in a moment: those that see the server
// whose list it is, or saw it when it had these tools.
func (s *Server) announce(list session.List, up *Upstream, before []upstream.Tool) {
	s.announceTo(changeDelay, list, s.seeing(up, before))
}

// seeing are the clients that see a server, or saw it when it had these tools.
func (s *Server) seeing(up *Upstream, before []upstream.Tool) []*session.Session {
	return slices.DeleteFunc(s.clients.Of(""), func(client *session.Session) bool {
		v := s.viewFor(client.Who())
		return !v.server(up) && !v.serverWith(up, before)
	})
}

// announceTo tells these clients that a list has changed, after delay at most.
func (s *Server) announceTo(delay time.Duration, list session.List, clients []*session.Session) {
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
		c.timer = time.AfterFunc(delay, s.announceAll)
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

// hurry announces in a moment what waits for servers that connect.
func (c *changes) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && !c.closed {
		c.timer.Reset(changeDelay)
	}
}

// answering notes that a client is about to be answered with a list as it is now: it need
// not be told of what has changed until now.
func (c *changes) answering(r *session.Request, list session.List) {
	if cursorOf(r.Params).Exists() { // the first page may be an old one
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lists[list], r.Session)
}

// lack notes that a client is answered without the resources of a server.
func (c *changes) lack(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lacked[server] = true
}

// replace notes that other servers are there. What a new one has said, or said the last
// time, its clients are told by who replaces them; all that it says later is a change.
func (c *changes) replace(old, set *serverSet) {
	now := map[string]offered{}
	for _, up := range set.list {
		if old.named(up.Name).relayServer() != up.server {
			now[up.Name] = up.offered()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answered := len(c.told) > 0
	for _, was := range old.list {
		if set.named(was.Name) == nil {
			delete(c.told, was.Name)
			delete(c.lacked, was.Name)
		}
	}
	if answered {
		maps.Copy(c.told, now)
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
// connected, or said so. Upstreams call it, by their [Upstream.ID]. Nobody is told of what
// is as it was.
func (s *Server) ListsChanged(id string) {
	up := s.withID(id)
	if up == nil || up.server != s.upstream(up.Name).relayServer() { // it is being retired
		return
	}
	s.logOdd(up)
	s.names.all() // tells the operator of names that two servers have
	s.unmatched.tell(up, s.logger)
	s.tellRights()
	s.tellChanges(up)
	if up.PerAgent == nil { // or nothing is asked of what has been connected
		up.server.Shared().Connected()
	}
}

// tellChanges tells clients of what a server offers otherwise than they were answered or
// told last. Before anybody has been answered, there is nothing to tell.
func (s *Server) tellChanges(up *Upstream) {
	now := up.offered()
	c := &s.changes
	c.mu.Lock()
	before, told := c.told[up.Name]
	var lists []session.List
	if told {
		c.told[up.Name] = now
		lists = now.changed(before, c.lacked[up.Name])
		delete(c.lacked, up.Name)
	}
	c.mu.Unlock()
	delay := changeDelay
	if first := before.info == nil || before.kept; first && slices.ContainsFunc(s.upstreams(), (*Upstream).starting) && time.Since(s.begun) < patience*s.opts.ListWait {
		delay = s.opts.ListWait
	} else {
		s.changes.hurry()
	}
	for _, list := range lists {
		s.announceTo(delay, list, s.seeing(up, before.tools))
	}
}

// hasResources reports whether a server has said that it has any.
func hasResources(info *upstream.Info) bool {
	return info != nil && info.Capabilities != nil && info.Capabilities.Resources != nil
}

// noteAnswered notes what the servers offer of which a client is about to be answered. What
// is noted already stays: other clients are yet to be told of what has changed since.
func (s *Server) noteAnswered() {
	c := &s.changes
	for _, up := range s.servers.Load().tooled {
		c.mu.Lock()
		_, told := c.told[up.Name]
		c.mu.Unlock()
		if told {
			continue
		}
		now := up.offered()
		c.mu.Lock()
		if _, told := c.told[up.Name]; !told {
			c.told[up.Name] = now
		}
		c.mu.Unlock()
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
	s.noteAnswered() // changes are those from now on
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

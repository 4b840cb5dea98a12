package relay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// A watched resource is one that clients want to hear of.
type watched struct {
	server string
	uri    string // as the server knows it
	agent  string // whose connection to the server it is, "" if all have one
}

// A Watcher hears that a resource has changed, by the URI that its client named.
type Watcher interface{ Updated(uri string) }

// A subscription is one client's to a resource.
type subscription struct {
	named
	server *Server
	at     watched
	client *session.Session
	done   func() // gives back its place among those of its party
}

// size is what a subscription takes in memory: the URI in two places, and maps.
func (s *subscription) size() int64 { return int64(len(s.uri)+len(s.at.uri)) + 1<<10 }

// watches are the subscriptions to resources, of all servers.
type watches struct {
	accounts *guard.Accounts // of the URIs
	count    *guard.Calls    // of subscriptions that a party has at one time

	mu      sync.Mutex // guards the fields below
	open    map[watched]map[*subscription]bool
	clients map[*session.Session]map[named]*subscription
}

// named is a resource as one watcher of a client knows it.
type named struct {
	watcher Watcher
	uri     string
}

// maxURIBytes bounds a URI that a client subscribes to.
const maxURIBytes = 16 << 10

// A Place is where a resource may be: a server and the URI that it knows.
type Place struct {
	Server *Server
	URI    string
}

// Subscribe subscribes a client to a resource, which it names uri, at the first of some
// places that takes it. Without any the error is absent.
func (r *Relay) Subscribe(ctx context.Context, s *session.Session, w Watcher, uri string, places []Place, absent error, stateless bool) error {
	return r.watch(ctx, s, w, uri, places, absent, stateless, false)
}

// Follow subscribes a client of an older revision to what it has subscribed to at another
// replica. It starts no connection of the client's agent for that: one that starts later is
// subscribed at then.
func (r *Relay) Follow(ctx context.Context, s *session.Session, uri string, places []Place, absent error) error {
	return r.watch(ctx, s, s, uri, places, absent, false, true)
}

func (r *Relay) watch(ctx context.Context, s *session.Session, w Watcher, uri string, places []Place, absent error, stateless, lazy bool) error {
	if len(uri) > maxURIBytes {
		return session.InvalidParams("uri has more than %d bytes", maxURIBytes)
	}
	name := named{w, uri}
	if r.watches.knows(s, name) {
		return nil
	}
	err := absent
	for _, p := range places {
		if lazy && len(places) == 1 && p.Server.existing(s.Agent) == nil {
			sub := &subscription{name, p.Server, watched{p.Server.name, p.URI, p.Server.owner(s)}, s, nil}
			if err = r.watches.begin(sub); err == nil {
				r.watches.keep(s, sub)
			}
			return err
		}
		var c *Connection
		var release func()
		if c, release, err = p.Server.take(ctx, s); err != nil {
			continue
		}
		c.use(s)
		sub := &subscription{name, p.Server, watched{p.Server.name, p.URI, p.Server.owner(s)}, s, nil}
		if err = r.watches.begin(sub); err != nil {
			release()
			return err
		}
		err = c.subscribe(ctx, p.URI, stateless)
		release()
		if err == nil {
			r.watches.keep(s, sub)
			return nil
		}
		r.watches.drop(sub)
	}
	return err
}

// Subscriptions are the URIs that a client of an older revision has subscribed to, in no
// order.
func (r *Relay) Subscriptions(s *session.Session) []string {
	var uris []string
	for _, name := range r.watches.names(s) {
		if name.watcher == s {
			uris = append(uris, name.uri)
		}
	}
	return uris
}

// Unsubscribe ends a client's subscription to a resource that it names uri, of one of
// its watchers. One that is not there is no error.
func (r *Relay) Unsubscribe(ctx context.Context, s *session.Session, w Watcher, uri string) error {
	if sub := r.watches.remove(s, named{w, uri}); sub != nil {
		return r.unsubscribe(ctx, sub)
	}
	return nil
}

// unsubscribeAll ends all subscriptions of a client.
func (r *Relay) unsubscribeAll(ctx context.Context, s *session.Session) {
	for _, name := range r.watches.names(s) {
		if sub := r.watches.remove(s, name); sub != nil {
			_ = r.unsubscribe(ctx, sub) // a server that does not answer goes on to tell us
		}
	}
}

// unsubscribe ends the server's subscription if a client's was the last. Another client
// may subscribe meanwhile, and the server hear of that first: it is told once more then.
func (r *Relay) unsubscribe(ctx context.Context, sub *subscription) error {
	var c *Connection
	for _, v := range r.all() { // another may have taken the server's place
		if v.name == sub.at.server {
			c = v.existing(sub.at.agent)
		}
	}
	if r.watches.has(sub.at) || c == nil {
		return nil
	}
	err := c.watch(ctx, sub.at.uri, "resources/unsubscribe", false)
	if r.watches.has(sub.at) {
		if err := c.subscribe(context.WithoutCancel(ctx), sub.at.uri, false); err != nil {
			c.log.Warn("resources/subscribe", "uri", sub.at.uri, "error", err)
		}
	}
	return err
}

// subscribe subscribes at the server. Where the client's revision needs another process,
// that one is subscribed at.
func (c *Connection) subscribe(ctx context.Context, uri string, stateless bool) error {
	return c.watch(ctx, uri, "resources/subscribe", stateless)
}

func (c *Connection) watch(ctx context.Context, uri, method string, stateless bool) error {
	quoted, err := json.Marshal(uri)
	if err != nil {
		return err
	}
	_, err = c.bounded(ctx, upstream.Request{Method: method, Params: jsonscan.Object("uri", quoted), Stateless: stateless})
	if hide := c.server.hide(); err != nil && hide != nil {
		err = hide.Error(ctx, err)
	}
	return err
}

// subscribeAgain subscribes once more after the server has connected again.
func (c *Connection) subscribeAgain(ctx context.Context) {
	for _, uri := range c.server.relay.watches.at(c.server.name, c.agent) {
		if err := c.subscribe(ctx, uri, false); err != nil {
			c.log.Warn("resources/subscribe", "uri", uri, "error", err)
		}
	}
}

// Watched is how many resources are subscribed to at servers.
func (r *Relay) Watched() int {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	return len(r.watches.open)
}

// knows reports whether a client has this subscription.
func (w *watches) knows(s *session.Session, name named) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clients[s][name] != nil
}

// names are the subscriptions of a client.
func (w *watches) names(s *session.Session) []named {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.clients[s]))
}

// begin notes a subscription that the server is about to be asked for: nobody else's end
// ends it there. Then comes keep or drop. The error is that there is no room for it.
func (w *watches) begin(sub *subscription) error {
	done, err := w.count.Begin(sub.client.Party)
	if err != nil {
		return err
	}
	if err := w.accounts.Of(sub.client.Party).Take(sub.size()); err != nil {
		done()
		return err
	}
	sub.done = done
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[sub.at] == nil {
		w.open[sub.at] = map[*subscription]bool{}
	}
	w.open[sub.at][sub] = true
	return nil
}

// keep makes it one of a client's, unless another request of that client was first.
func (w *watches) keep(s *session.Session, sub *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clients[s][sub.named] != nil {
		w.close(sub)
		return
	}
	if w.clients[s] == nil {
		w.clients[s] = map[named]*subscription{}
	}
	w.clients[s][sub.named] = sub
}

// drop forgets one that the server has not taken.
func (w *watches) drop(sub *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(sub)
}

// close takes a subscription out of open. w.mu must be held.
func (w *watches) close(sub *subscription) {
	w.accounts.Of(sub.client.Party).Give(sub.size())
	sub.done()
	if delete(w.open[sub.at], sub); len(w.open[sub.at]) == 0 {
		delete(w.open, sub.at)
	}
}

// remove takes out a subscription of a client, nil if it is not there.
func (w *watches) remove(s *session.Session, name named) *subscription {
	w.mu.Lock()
	defer w.mu.Unlock()
	sub := w.clients[s][name]
	if sub == nil {
		return nil
	}
	if delete(w.clients[s], name); len(w.clients[s]) == 0 {
		delete(w.clients, s)
	}
	w.close(sub)
	return sub
}

func (w *watches) has(at watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open[at]) > 0
}

// at returns the resources of a server that are subscribed to by one connection.
func (w *watches) at(server, agent string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var uris []string
	for at := range w.open {
		if at.server == server && at.agent == agent {
			uris = append(uris, at.uri)
		}
	}
	return uris
}

// updated tells those who subscribed that a resource has changed.
func (w *watches) updated(at watched) {
	w.mu.Lock()
	var subs []*subscription
	for sub := range w.open[at] {
		subs = append(subs, sub)
	}
	w.mu.Unlock()
	for _, sub := range subs {
		if sub.server.relay.maySee(sub.client, at.server) { // it did when it subscribed
			sub.watcher.Updated(sub.uri)
		}
	}
}
